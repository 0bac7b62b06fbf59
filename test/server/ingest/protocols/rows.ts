/** Sends bodies of other protocols, and finds what became of them. */
import { call, type Entry, type Got, post, type Running, search } from "../../running.ts";

export interface SentBody {
  path: string;
  body: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
  method?: string;
}

/** Sends a body with the admin token, unless the headers hold another credential. */
export function send<T = Record<string, unknown>>(
  server: Running,
  { path, body, headers = {}, method = "POST" }: SentBody,
): Promise<Got<T>> {
  const hasOwn = Object.keys(headers).some((name) =>
    ["authorization", "dd-api-key"].includes(name.toLowerCase()),
  );
  const request = { method, headers: { "Content-Type": "application/json", ...headers }, body };
  return call<T>(server, path, hasOwn ? request : { ...request, token: server.adminToken });
}

/** The rows that a query finds, the oldest first. */
export async function findRows(server: Running, query: string): Promise<Entry[]> {
  const found = await search(server, { query, limit: 1_000, order: "oldest" });
  if (found.status !== 200) throw new Error(found.text);
  return found.json.logs;
}

export interface FoundSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  kind?: string;
  startTimeUnixNano: string;
  durationMs?: number;
  statusCode?: string;
  statusMessage?: string;
  attributes: Record<string, string>;
}

/** The spans that a query finds, the oldest first. */
export async function findSpans(server: Running, query: string): Promise<FoundSpan[]> {
  const found = await post<{ spans: FoundSpan[] }>(server, "traces", {
    query,
    limit: 1_000,
    order: "oldest",
  });
  if (found.status !== 200) throw new Error(found.text);
  return found.json.spans;
}

/** The points of each series that a query gives, in buckets of a second. */
export async function findSeries(
  server: Running,
  query: string,
  [startTime, endTime]: [number, number],
): Promise<{ labels: Record<string, string>; points: [number, number][] }[]> {
  const asked = { query, startTime, endTime, bucketSize: 1 };
  const found = await post<{ series: { labels: Record<string, string>; points: [number, number][] }[] }>(
    server,
    "timeseries",
    asked,
  );
  if (found.status !== 200) throw new Error(found.text);
  return found.json.series;
}
