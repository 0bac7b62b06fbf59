/**
 * The oldest time among the rows that arrived after a given arrival number. A reader of new rows (an alert evaluation,
 * for example) has to read its buckets again from that time on.
 */
import { dayStartNs } from "../model/day.ts";
import type { Signal } from "../model/signal.ts";

/**
 * Minima kept for a signal. Beyond this the two oldest become one, which may answer with an earlier time than the exact
 * one.
 */
const minimaMax = 4_096;

/**
 * The least time of the rows of a batch and of all batches after it; `arrival` is the last arrival number of the batch.
 */
interface SuffixMinimum {
  arrival: number;
  timeMs: number;
}

/** Knows only rows that arrived since the store was opened, replayed ones included. */
export class OldestArrivals {
  /**
   * By signal, in order of arrival. Times ascend strictly as well: a minimum is dropped when later rows are as old or
   * older.
   */
  readonly #minima = new Map<Signal, SuffixMinimum[]>();

  /**
   * Records rows that have arrived: the arrival number of the last, and their least time in nanoseconds since the start
   * of `day`.
   */
  record(signal: Signal, arrival: number, day: number, timeNsMin: number): void {
    const timeMs = Number(dayStartNs(day) / 1_000_000n) + Math.floor(timeNsMin / 1e6);
    const minima = this.#minima.get(signal) ?? [];
    this.#minima.set(signal, minima);
    while (minima.length > 0 && minima.at(-1)!.timeMs >= timeMs) minima.pop();
    minima.push({ arrival, timeMs });
    if (minima.length > minimaMax) minima.splice(0, 2, { ...minima[0]!, arrival: minima[1]!.arrival });
  }

  /**
   * Least time, in Unix milliseconds, of the rows whose arrival number is greater than `arrival`; undefined where there
   * are none. It is exact for the newest batches and may be too early further back, never too late.
   */
  oldestMs(signal: Signal, arrival: number): number | undefined {
    return this.#minima.get(signal)?.find((minimum) => minimum.arrival > arrival)?.timeMs;
  }
}
