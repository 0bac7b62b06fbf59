/** The counters of ingestion in `/metrics`. */

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
  readonly #endedThreads: Counter;

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
    this.#endedThreads = counter("ended_threads", "Decoding threads that were ended, by what a body took.");
    this.#initialize();
  }

  countLimited(reason: "rows" | "bytes"): void {
    this.#limited.add(1, { reason });
  }

  countEndedThread(reason: "time" | "memory" | "fault"): void {
    this.#endedThreads.add(1, { reason });
  }

  countDecoded(decoded: DecodedBody): void {
    this.#batches.add();
    if (!decoded.ok) return;
    const { admissionCounts } = decoded;
    this.#bytes.add(decoded.unpackedBytes);
    for (const [reason, rows] of decoded.refusedByKind) this.#refused.add(rows, { reason });
    this.#clockRefused.add(admissionCounts.refusedBehind, { direction: "past" });
    this.#clockRefused.add(admissionCounts.refusedAhead, { direction: "future" });
    this.#large.add(admissionCounts.refusedLarge, { outcome: "refused" });
  }

  countAppended(
    signal: Signal,
    decoded: DecodedBody & { ok: true },
    { rows, duplicate }: AppendResult,
  ): void {
    if (duplicate) {
      this.#duplicates.add();
      return;
    }
    const { admissionCounts, dropped } = decoded;
    this.#rows.add(rows, { signal });
    for (const [rule, rows] of dropped) this.#dropped.add(rows, { rule, signal });
    this.#skewed.add(admissionCounts.skewedBehind, { direction: "past" });
    this.#skewed.add(admissionCounts.skewedAhead, { direction: "future" });
    this.#large.add(admissionCounts.truncated, { outcome: "cut" });
  }

  /** Exports 0 for everything that has not happened yet. */
  #initialize(): void {
    for (const counter of [this.#bytes, this.#batches, this.#duplicates]) counter.add(0);
    for (const signal of signals) this.#rows.add(0, { signal });
    for (const reason of ["encoding", "json", "field", "row"]) this.#refused.add(0, { reason });
    for (const reason of ["rows", "bytes"]) this.#limited.add(0, { reason });
    for (const direction of ["past", "future"]) {
      this.#clockRefused.add(0, { direction });
      this.#skewed.add(0, { direction });
    }
    for (const reason of ["time", "memory", "fault"]) this.#endedThreads.add(0, { reason });
    for (const outcome of ["cut", "refused"]) this.#large.add(0, { outcome });
  }
}
