/** The series that a server has stored, over ten minutes that have just passed, in buckets of a minute. */
import { expect } from "vitest";
import { call, type Running } from "../../running.ts";

const minuteMs = 60_000;
/** The first of the ten minutes. */
export const startMs = Math.floor(Date.now() / minuteMs) * minuteMs - 10 * minuteMs;

interface Series {
  labels: Record<string, string>;
  points: [number, number][];
}

export class StoredSeries {
  readonly #server: Running;

  constructor(server: Running) {
    this.#server = server;
  }

  async of(query: string): Promise<Series[]> {
    const range = { startTime: startMs, endTime: startMs + 10 * minuteMs - 1, bucketSize: 60 };
    const got = await call<{ series: Series[]; error?: string }>(this.#server, "/api/v1/query/timeseries", {
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ query, ...range }),
    });
    expect(got.json.error).toBe(undefined);
    return got.json.series;
  }

  /** The value of the first bucket, by label. */
  async valuesBy(label: string, query: string): Promise<Record<string, number>> {
    const series = await this.of(query);
    return Object.fromEntries(series.map(({ labels, points }) => [labels[label] ?? "", points[0]![1]]));
  }

  /** What a counter gained, where it gained anything: the minute from the start, and by how much. */
  async increasesOf(name: string): Promise<[minute: number, gained: number][]> {
    const [series] = await this.of(`sum(increase(${name}))`);
    return (series?.points ?? [])
      .filter(([, value]) => value > 0)
      .map(([ms, value]) => [(ms - startMs) / minuteMs, value]);
  }
}
