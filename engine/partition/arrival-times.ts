/** How old the rows are that arrive: what a reader of new rows has to read again is told by the oldest that came since. */
import { dayStartNs } from "../model/day.ts";
import type { Signal } from "../model/signal.ts";

/** Entries of a signal; beyond it the oldest two become one that is sooner than it need be. */
const entriesMax = 4_096;

/** Arrival number of a batch, and the least time in it and in all that came after it. */
interface Entry {
  arrival: number;
  timeMs: number;
}

export class OldestArrivals {
  /** Of each signal, in the order of arrival; times ascend too, since an entry goes where a later one is as old. */
  readonly #entries = new Map<Signal, Entry[]>();

  /** Rows that have arrived: the number of the last, and the least time in nanoseconds since the start of their day. */
  note(signal: Signal, arrival: number, day: number, timeNsMin: number): void {
    const timeMs = Number(dayStartNs(day) / 1_000_000n) + Math.floor(timeNsMin / 1e6);
    const entries = this.#entries.get(signal) ?? [];
    this.#entries.set(signal, entries);
    while (entries.length > 0 && entries.at(-1)!.timeMs >= timeMs) entries.pop();
    entries.push({ arrival, timeMs });
    if (entries.length > entriesMax) entries.splice(0, 2, { ...entries[0]!, arrival: entries[1]!.arrival });
  }

  /** Least time, Unix milliseconds, of the rows that arrived behind a number; undefined where none did. Rarely it is too small. */
  oldestMs(signal: Signal, arrival: number): number | undefined {
    return this.#entries.get(signal)?.find((entry) => entry.arrival > arrival)?.timeMs;
  }
}
