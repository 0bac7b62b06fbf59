/** A world of rows in virtual time: senders that repeat what the server did not take, or do not, and a server that dies. */
import type { Random } from "../../../../fixtures/random.ts";
import { Evaluator } from "../../../../server/alerts/evaluator.ts";
import type { SeriesRequest } from "../../../../server/alerts/evaluator-options.ts";
import type { AlertDefinition } from "../../../../server/alerts/state/alert-definition.ts";
import type { Fire } from "../../../../server/alerts/state/fire.ts";
import type { ReadSeries } from "../../../../server/alerts/state/read-series.ts";
import { Metrics } from "../../../../server/metrics/metrics.ts";
import type { AlertEvent } from "../../../../server/model/event.ts";
import { Disk, type Fate, type Process } from "../disk.ts";

export const second = 1_000;
export const minute = 60 * second;
export const beginMs = Date.UTC(2026, 0, 10, 12);
/** No row is of a later time. */
export const lastMs = beginMs + 100 * minute;
/** All rows have come, and were judged. */
export const dustMs = lastMs + 60 * minute;
export const delayMs = 30 * second;
export const retryWaitMs = 5 * minute;

/** What is counted: the rows of a bucket, or a figure of their values. */
export type Figure = "count" | "min" | "max" | "avg";

export interface Row {
  name: string;
  atMs: number;
  value: number;
  /** Infinite where it never arrives. */
  arrivedMs: number;
}

export interface Sender {
  name: string;
  repeats: boolean;
}

export interface Options {
  alert: AlertDefinition;
  figure: Figure;
  isPlain: boolean;
  /** The query looks so far back from the end of a bucket: a bucket, or more. */
  windowMs: number;
  senders: readonly Sender[];
  rows: Row[];
  random: Random;
  lateRowsMs: number;
}

export class RowsWorld {
  nowMs = beginMs;
  readonly disk = new Disk();
  readonly metrics = new Metrics();
  /** From the last sign of life to the start. */
  readonly gaps: [fromMs: number, toMs: number][] = [];
  evaluator: Evaluator | undefined;
  #process: Process | undefined;
  #markMs = Number.NEGATIVE_INFINITY;
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const alive = this.aliveMs();
    if (alive !== undefined && alive < this.nowMs) this.gaps.push([alive, this.nowMs]);
    const { alert, figure, isPlain, windowMs, lateRowsMs } = this.#options;
    const state = this.disk.open();
    this.#process = state;
    const effects = { count: "raise", max: "raise", min: "lower", avg: "change" } as const;
    this.evaluator = new Evaluator({
      ...{
        state,
        delayMs,
        retryWaitMs,
        lateRowsMs,
        signalDelaysMs: {},
        historyAgeMs: 30 * 24 * 3_600_000,
        metrics: this.metrics,
      },
      now: () => this.nowMs,
      log: () => undefined,
      silencedBy: () => undefined,
      actionsFor: (_fire, own) => [...own],
      subscribers: [this.#subscriber()],
      shapeOf: (query) => ({
        ...{ unlabelled: isPlain, selector: query, signals: ["logs"] },
        missing: { effect: effects[figure], spillsOver: false, windowMs, offsetMs: 0 },
      }),
      arrivals: {
        position: () => this.nowMs,
        oldestMs: (_, position) => this.#oldestSince(position),
      },
      aliveMark: {
        read: () => this.#markMs,
        write: (aliveMs) => {
          this.#markMs = aliveMs;
        },
      },
      query: async (asked) => this.#answer(asked),
      bucketsWithRows: async ({ startMs, endMs, bucketSeconds }) =>
        this.#stored()
          .filter(({ atMs }) => atMs >= startMs && atMs <= endMs)
          .map(({ atMs }) => Math.floor(atMs / (bucketSeconds * second)) * bucketSeconds * second),
    });
    await this.evaluator.upsert(alert);
    await this.evaluator.begin();
  }

  kill(): void {
    this.#process!.kill();
    this.evaluator = undefined;
  }

  async stop(): Promise<void> {
    await this.evaluator!.close();
    this.kill();
  }

  /** Dies in the write that comes after so many others. */
  dieInWrite(fate: Fate, others: number): void {
    this.#process!.next = { fate, others };
  }

  get isDead(): boolean {
    return this.evaluator === undefined || !this.#process!.isAlive;
  }

  /** The server takes rows of these times, as it is up; ends early where it dies in a write. */
  async runUntil(untilMs: number): Promise<void> {
    while (this.nowMs < untilMs) {
      await this.#settle();
      if (this.isDead) {
        this.evaluator = undefined;
        return;
      }
      const dueMs = Math.max(this.nowMs + 1, this.evaluator!.nextDueMs());
      this.nowMs = Math.min(untilMs, dueMs, this.nowMs + 5 * second);
    }
    await this.#settle();
    if (this.isDead) this.evaluator = undefined;
  }

  fires(): Fire[] {
    return [...(this.disk.tables.get("alert-fires")?.values() ?? [])] as unknown as Fire[];
  }

  events(): AlertEvent[] {
    return [...(this.disk.tables.get("sent")?.values() ?? [])] as unknown as AlertEvent[];
  }

  aliveMs(): number | undefined {
    const stored = this.disk.tables.get("alert-clock")?.get("alive") as { aliveMs: number } | undefined;
    return stored === undefined ? undefined : Math.max(stored.aliveMs, this.#markMs);
  }

  /** Rows that are sent while the server is down come when it is up again, if their sender repeats them. */
  fallSilent(untilMs: number): void {
    const { rows, senders, random } = this.#options;
    const repeating = new Set(senders.flatMap(({ name, repeats }) => (repeats ? [name] : [])));
    for (const row of rows) {
      if (row.arrivedMs < this.nowMs || row.arrivedMs > untilMs) continue;
      row.arrivedMs = repeating.has(row.name)
        ? untilMs + 1 + random.below(retryWaitMs - second)
        : Number.POSITIVE_INFINITY;
    }
    this.nowMs = untilMs;
  }

  async #settle(): Promise<void> {
    for (;;) {
      const evaluated = this.evaluator!.evaluateDue();
      await Promise.race([evaluated, this.#process!.died]);
      if (this.isDead || this.evaluator!.nextDueMs() > this.nowMs) return;
    }
  }

  #stored(): Row[] {
    return this.#options.rows.filter(({ arrivedMs }) => arrivedMs <= this.nowMs);
  }

  #oldestSince(position: number): number | undefined {
    const times = this.#stored().flatMap(({ arrivedMs, atMs }) => (arrivedMs > position ? [atMs] : []));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #answer({ startMs, endMs, bucketSeconds }: SeriesRequest): ReadSeries[] {
    const { figure, isPlain, windowMs, rows } = this.#options;
    const widthMs = bucketSeconds * second;
    const names = new Map<string, Map<number, number[]>>();
    for (const { name, atMs, value, arrivedMs } of rows) {
      if (arrivedMs > this.nowMs || atMs < startMs + widthMs - windowMs || atMs > endMs) continue;
      const key = isPlain ? "" : name;
      const buckets = names.get(key) ?? new Map<number, number[]>();
      names.set(key, buckets);
      const ownMs = Math.floor(atMs / widthMs) * widthMs;
      // All buckets whose window holds the row.
      for (let bucketMs = ownMs; bucketMs + widthMs - windowMs <= atMs; bucketMs += widthMs)
        if (bucketMs >= startMs && bucketMs <= endMs)
          buckets.set(bucketMs, [...(buckets.get(bucketMs) ?? []), value]);
    }
    return [...names].map(([name, buckets]) => ({
      labels: isPlain ? {} : { name },
      points: [...buckets].sort(([a], [b]) => a - b).map(([ms, values]) => [ms, figureOf(figure, values)!]),
    }));
  }

  #subscriber() {
    return {
      prepare: ({ messages }: { messages: readonly { event: AlertEvent }[] }) => ({
        changes: messages.map(({ event }, i) => ({
          table: "sent",
          id: `${this.nowMs} ${i} ${event.id}`,
          value: JSON.parse(JSON.stringify(event)) as Record<string, never>,
        })),
        stored: () => undefined,
      }),
    };
  }
}

/** Null without values, as a query has no point then. */
export function figureOf(figure: Figure, values: readonly number[]): number | null {
  if (values.length === 0) return null;
  switch (figure) {
    case "count":
      return values.length;
    case "min":
      return Math.min(...values);
    case "max":
      return Math.max(...values);
    case "avg":
      return values.reduce((sum, value) => sum + value, 0) / values.length;
  }
}
