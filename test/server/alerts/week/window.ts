/** What all alerts that ask the same look at, in the model: buckets as they were when they were observed. */
import type { Cell } from "../naive.ts";
import type { ModelAlert, Surroundings } from "./model.ts";
import { minute, second } from "./plan.ts";

export class ModelWindow {
  throughMs: number | null = null;
  buckets: number[] = [];
  readonly #cells = new Map<string, Map<number, Cell>>();
  /** Buckets in which the server was away. */
  readonly #lost = new Set<number>();
  readonly #lastDataMs = new Map<string, number>();
  #read = 0;

  cell(labels: string, bucketMs: number): Cell {
    return this.#cells.get(labels)?.get(bucketMs) ?? null;
  }

  isLost(bucketMs: number): boolean {
    return this.#lost.has(bucketMs);
  }

  lastDataMs(labels: string): number {
    return this.#lastDataMs.get(labels) ?? Number.NEGATIVE_INFINITY;
  }

  labels(): string[] {
    return [...this.#cells.keys()];
  }

  /** One time at which the query is looked at; all alerts have it. Idle: there was nothing to look at. */
  evaluate(alerts: readonly ModelAlert[], around: Surroundings): "idle" | "failed" | "judged" {
    const widthMs = alerts[0]!.bucketSize * second;
    const gridMs = Math.floor((around.nowMs - around.behindMs) / minute) * minute;
    const headMs = Math.floor(gridMs / widthMs) * widthMs;
    if (this.throughMs !== null && this.throughMs - headMs > 5 * minute + widthMs) this.#forget(alerts);
    const size = Math.max(...alerts.map((alert) => alert.windowSize()));
    const refills = this.throughMs === null || size > this.#read;
    const isNew = refills || headMs > this.throughMs!;
    if (!isNew && !alerts.some((alert) => alert.isUnsettled(this))) return "idle";
    // Also where no bucket is new: each reading looks back at those that were judged.
    const asks = isNew || this.buckets.length > 0;
    if ((around.queryFails && asks) || around.diskIsFull) return "failed";
    const wasMs = this.throughMs ?? headMs - widthMs;
    const fromMs = alerts.map((alert) => (alert.isFresh ? headMs - widthMs : wasMs));
    if (this.throughMs === null) {
      for (const alert of alerts) this.#keep(alert, headMs - (size - 1) * widthMs);
    }
    if (refills) this.#fill((this.throughMs ?? headMs) - size * widthMs, wasMs, widthMs, around);
    this.#read = refills ? size : Math.min(size, this.#read);
    this.buckets = this.buckets.slice(-size);
    for (const [i, alert] of alerts.entries()) {
      for (const bucketMs of [...this.buckets])
        if (bucketMs >= fromMs[i]!) alert.judge(this, bucketMs, around);
    }
    const toMs = Math.max(this.throughMs ?? headMs, headMs);
    for (let bucketMs = wasMs; bucketMs < toMs; bucketMs += widthMs) {
      this.#observe(bucketMs, widthMs, around);
      this.buckets = this.buckets.slice(-size);
      for (const [i, alert] of alerts.entries())
        if (bucketMs >= fromMs[i]!) alert.judge(this, bucketMs, around);
    }
    this.throughMs = toMs;
    for (const alert of alerts) alert.evaluated(this, around);
    return "judged";
  }

  /** All begins anew; what alerts remember of instances stays. */
  #forget(alerts: readonly ModelAlert[]): void {
    this.throughMs = null;
    this.buckets = [];
    this.#cells.clear();
    this.#lost.clear();
    this.#lastDataMs.clear();
    for (const alert of alerts) alert.isFresh = true;
  }

  /** What is remembered of instances counts as seen when the window begins. */
  #keep(alert: ModelAlert, ms: number): void {
    for (const labels of alert.labels()) {
      if (!this.#lastDataMs.has(labels)) this.#lastDataMs.set(labels, ms);
    }
  }

  /** Buckets that were observed stay as they were; older ones come in as they are now. */
  #fill(fromMs: number, toMs: number, widthMs: number, around: Surroundings): void {
    const known = new Set(this.buckets);
    for (let bucketMs = fromMs; bucketMs < toMs; bucketMs += widthMs) {
      if (!known.has(bucketMs)) this.#observe(bucketMs, widthMs, around);
    }
    this.buckets.sort((a, b) => a - b);
  }

  #observe(bucketMs: number, widthMs: number, { series, isLost }: Surroundings): void {
    this.buckets.push(bucketMs);
    if (isLost(bucketMs, widthMs)) this.#lost.add(bucketMs);
    for (const { labels, valueAt } of series) {
      const value = valueAt(bucketMs);
      if (value === null) continue;
      const cells = this.#cells.get(labels) ?? new Map<number, Cell>();
      this.#cells.set(labels, cells.set(bucketMs, value));
      this.#lastDataMs.set(labels, Math.max(this.lastDataMs(labels), bucketMs + widthMs));
    }
  }
}
