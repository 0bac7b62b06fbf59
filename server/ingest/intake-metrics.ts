/** What became of the rows that were sent, in `/metrics`. */

import { type AppendResult, type Signal, signals } from "../../engine/index.ts";
import type { Counter, Metrics } from "../metrics/metrics.ts";
import type { DecodedBody } from "./decode-task.ts";

export class IntakeMetrics {
  readonly #rows: Counter;
  readonly #refused: Counter;
  readonly #bytes: Counter;
  readonly #batches: Counter;
  readonly #duplicates: Counter;
  readonly #limited: Counter;
  readonly #dropped: Counter;
  readonly #clockRefused: Counter;
  readonly #skewed: Counter;
  readonly #large: Counter;

  constructor(metrics: Metrics) {
    const counter = (name: string, help: string) => metrics.counter(`svc_ingest_${name}_total`, help);
    this.#rows = counter("rows", "Rows acknowledged, by signal.");
    this.#refused = counter("refused_rows", "Rows refused, by reason.");
    this.#bytes = counter("bytes", "Bytes of bodies, unpacked.");
    this.#batches = counter("batches", "Bodies decoded.");
    this.#duplicates = counter("duplicate_batches", "Bodies that had been taken before.");
    this.#limited = counter(
      "limited_batches",
      "Bodies refused since their sender sent too much, by what there was too much of.",
    );
    this.#dropped = counter("dropped_rows", "Rows left out by ingestion rules, by the rule's id and signal.");
    this.#clockRefused = counter("clock_refused_rows", "Rows refused for their time, by direction.");
    this.#skewed = counter(
      "clock_skewed_rows",
      "Rows taken whose time is further off the clock than --clock-skew, by direction.",
    );
    this.#large = counter("large_rows", "Rows too large, by what became of them.");
    this.#begin();
  }

  limited(reason: "rows" | "bytes"): void {
    this.#limited.add(1, { reason });
  }

  decoded(decoded: DecodedBody): void {
    this.#batches.add();
    if (!decoded.ok) return;
    const { tally } = decoded;
    this.#bytes.add(decoded.unpackedBytes);
    for (const [reason, rows] of decoded.refusedByKind) this.#refused.add(rows, { reason });
    if (tally.refusedBehind > 0) this.#clockRefused.add(tally.refusedBehind, { direction: "past" });
    if (tally.refusedAhead > 0) this.#clockRefused.add(tally.refusedAhead, { direction: "future" });
    if (tally.refusedLarge > 0) this.#large.add(tally.refusedLarge, { outcome: "refused" });
  }

  appended(signal: Signal, decoded: DecodedBody & { ok: true }, { rows, duplicate }: AppendResult): void {
    if (duplicate) {
      this.#duplicates.add();
      return;
    }
    const { tally, dropped } = decoded;
    this.#rows.add(rows, { signal });
    for (const [rule, left] of dropped) this.#dropped.add(left, { rule, signal });
    if (tally.skewedBehind > 0) this.#skewed.add(tally.skewedBehind, { direction: "past" });
    if (tally.skewedAhead > 0) this.#skewed.add(tally.skewedAhead, { direction: "future" });
    if (tally.truncated > 0) this.#large.add(tally.truncated, { outcome: "cut" });
  }

  /** What has not happened yet is told as 0. */
  #begin(): void {
    for (const counter of [this.#bytes, this.#batches, this.#duplicates]) counter.add(0);
    for (const signal of signals) this.#rows.add(0, { signal });
    for (const reason of ["rows", "bytes"]) this.#limited.add(0, { reason });
    for (const direction of ["past", "future"]) {
      this.#clockRefused.add(0, { direction });
      this.#skewed.add(0, { direction });
    }
    for (const outcome of ["cut", "refused"]) this.#large.add(0, { outcome });
  }
}
