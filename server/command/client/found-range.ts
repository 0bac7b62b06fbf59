/** Finds the range of time in which a query has results, for a search whose own range has none. */

import { timeMsMax } from "../../model/limits.ts";
import { type Client, postJson } from "./client.ts";

/** Unix milliseconds, both inclusive. */
export interface FoundRange {
  startMs: number;
  endMs: number;
}

/** Rows of all times. `path` and `name` are where they are asked for, and the name of their list in the answer. */
export async function findRowRange<Entry>(
  client: Client,
  { path, name, timeMsOf }: { path: string; name: string; timeMsOf(entry: Entry): number },
  query: string,
): Promise<FoundRange | undefined> {
  const ends: number[] = [];
  for (const order of ["oldest", "newest"]) {
    const body = { query, startTime: 0, endTime: timeMsMax, limit: 1, order };
    const [entry] = (await postJson<Record<string, Entry[]>>(client, path, body))[name]!;
    if (entry === undefined) return undefined;
    ends.push(timeMsOf(entry));
  }
  const [startMs, endMs] = ends as [number, number];
  return { startMs, endMs };
}

interface Points {
  series: { points: [ms: number, value: number][] }[];
  /** Seconds. */
  bucketSize: number;
}

/** Requests by which the range of series is narrowed down: the width of the buckets follows from the range. */
const narrowings = 4;

/** Points of a timeseries of all times up to now, to the width of a bucket. */
export async function findPointRange(client: Client, query: string): Promise<FoundRange | undefined> {
  let found: FoundRange = { startMs: 0, endMs: Date.now() };
  for (let i = 0; i < narrowings; i++) {
    const body = { query, startTime: found.startMs, endTime: found.endMs };
    const { series, bucketSize } = await postJson<Points>(client, "/api/v1/query/timeseries", body);
    const times = series.flatMap(({ points }) => points.map(([ms]) => ms));
    if (times.length === 0) return i === 0 ? undefined : found;
    const first = times.reduce((a, b) => Math.min(a, b));
    const last = times.reduce((a, b) => Math.max(a, b));
    found = { startMs: first, endMs: Math.min(found.endMs, last + bucketSize * 1_000 - 1) };
  }
  return found;
}
