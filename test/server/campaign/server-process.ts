/** A server in a process of its own, and requests to it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Options, type Started, startSvc } from "../command/program.ts";

export interface ServerProcess {
  svc: Started;
  url: string;
  /** Where it takes OTLP over gRPC. */
  grpcPort: number;
  token: string;
  /** The data folder, as the server sees it. */
  dir: string;
}

export interface ServeOptions extends Options {
  flags?: readonly string[];
  /** The admin token, where the folder's file cannot be read. */
  token?: string;
}

export const jsonType = { "Content-Type": "application/json" };

/** Resolves once the server listens; rejects with what it printed where it ends before. */
export async function serve(dir: string, options: ServeOptions = {}): Promise<ServerProcess> {
  const words = ["serve", "--data", dir, "--listen", "127.0.0.1:0", ...(options.flags ?? [])];
  const svc = startSvc(words, options);
  const printed = await svc.printed("admin token");
  const [url] = /http:\/\/\S+/.exec(printed) ?? [];
  const grpcPort = Number(/OTLP over gRPC: port (\d+)/.exec(printed)?.[1]);
  return { svc, url: url!, grpcPort, token: options.token ?? readToken(dir), dir };
}

/** Reads the admin token of a data folder. */
export function readToken(dir: string): string {
  return readFileSync(join(dir, "admin-token"), "utf8").trim();
}

/** Ends the server as an operator does, and waits for its exit code. */
export async function stop({ svc }: ServerProcess): Promise<number | null> {
  svc.child.kill("SIGTERM");
  return (await svc.ended).code;
}

export async function kill({ svc }: ServerProcess): Promise<void> {
  svc.child.kill("SIGKILL");
  await svc.ended;
}

export interface Answer {
  status: number;
  text: string;
}

/** No answer may take longer than this: a request that does counts as one that hangs. */
const answerMsMax = 60_000;

export async function send(
  { url, token }: Pick<ServerProcess, "url" | "token">,
  method: string,
  path: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: Uint8Array<ArrayBuffer> } = {},
): Promise<Answer> {
  const answer = await fetch(url + path, {
    method,
    headers: { ...headers, Authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(answerMsMax),
    ...(body === undefined ? {} : { body }),
  });
  return { status: answer.status, text: await answer.text() };
}

/** Sends `value`, if given, as JSON. */
export function ask(
  server: Pick<ServerProcess, "url" | "token">,
  method: string,
  path: string,
  value?: unknown,
): Promise<Answer> {
  if (value === undefined) return send(server, method, path);
  const body = new Uint8Array(Buffer.from(JSON.stringify(value)));
  return send(server, method, path, { headers: jsonType, body });
}

/** The one value of each series of a query over a range, by its only label. Throws where it is not answered. */
export async function countsOf(
  server: Pick<ServerProcess, "url" | "token">,
  query: string,
  { startTime = 0, endTime = Date.now() + 86_400_000 }: { startTime?: number; endTime?: number } = {},
): Promise<Map<string, number>> {
  const { status, text } = await ask(server, "POST", "/api/v1/query/timeseries", {
    query,
    startTime,
    endTime,
    bucketSize: 3_155_760_000,
  });
  if (status !== 200) throw new Error(`${query}: ${status} ${text}`);
  const { series } = JSON.parse(text) as {
    series: { labels: Record<string, string>; points: [number, number][] }[];
  };
  return new Map(series.map(({ labels, points }) => [Object.values(labels)[0] ?? "", points[0]![1]]));
}
