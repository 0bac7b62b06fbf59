/**
 * The census of active series, which were seen today or yesterday (UTC days of the server's clock). It enforces a cap
 * on their number over all threads that encode samples, with one table of fingerprints for each day, in shared memory.
 * Above the cap new series are refused, while known series are still taken.
 */

import { KnownStarts } from "./known-starts.ts";
import { addMember, hasMember, hasWords, makeSharedSet, toMember, wordsOf } from "./shared-set.ts";

/** The shared tables, as they are passed to threads. */
export interface ActiveSeriesTables {
  /** Cap on active series. */
  seriesMax: number;
  today: ActiveSeriesDay;
  yesterday: ActiveSeriesDay;
  /** The starts of counters that are stored: a set in shared memory. */
  starts: BigInt64Array;
}

interface ActiveSeriesDay {
  /** Days since the epoch. */
  day: number;
  /** The fingerprints: a set in shared memory. */
  slots: BigInt64Array;
  /** [0]: fingerprints in the table; [1]: those of them that yesterday's table lacks. Shared memory. */
  counts: Int32Array;
}

const dayMs = 86_400_000;

/** Access to the tables on any thread. */
export class ActiveSeries {
  readonly #tables: ActiveSeriesTables;
  readonly #todayWords: Uint32Array;
  /** The starts of counters that are stored. */
  readonly starts: KnownStarts;

  constructor(tables: ActiveSeriesTables) {
    this.#tables = tables;
    this.#todayWords = wordsOf(tables.today.slots);
    this.starts = new KnownStarts(tables.starts);
  }

  /**
   * Notes a series as active, by the halves of its fingerprint. Returns why it is refused, where the cap is reached.
   */
  admit(high: number, low: number): string | undefined {
    if (hasWords(this.#todayWords, high, low)) return undefined;
    const { today, yesterday, seriesMax } = this.#tables;
    const fingerprint = toMember(high, low);
    if (hasMember(today.slots, fingerprint)) return undefined;
    // A batch that began before midnight keeps using the tables that it has. Either day's table serves, as a series in
    // any of them counts as known.
    const isKnown = hasMember(yesterday.slots, fingerprint);
    if (!isKnown && Atomics.add(today.counts, 1, 1) + Atomics.load(yesterday.counts, 0) >= seriesMax) {
      Atomics.sub(today.counts, 1, 1);
      const max = seriesMax.toLocaleString("en");
      return `the series is new, and ${max} series, the most the store takes, were seen today or yesterday`;
    }
    const added = addMember(today.slots, fingerprint);
    if (added) Atomics.add(today.counts, 0, 1);
    // Another thread has just added the same series.
    else if (!isKnown) Atomics.sub(today.counts, 1, 1);
    return undefined;
  }

  /** Number of series that were seen today or yesterday. */
  get active(): number {
    const { today, yesterday } = this.#tables;
    return Atomics.load(today.counts, 1) + Atomics.load(yesterday.counts, 0);
  }
}

/** Owns the tables of an open store, and changes them at midnight (UTC). */
export class ActiveSeriesCounter {
  #tables: ActiveSeriesTables;
  readonly #starts: KnownStarts;

  constructor(seriesMax: number, nowMs: number) {
    const day = Math.floor(nowMs / dayMs);
    this.#tables = {
      seriesMax,
      today: emptyDay(day, seriesMax),
      yesterday: emptyDay(day - 1, seriesMax),
      starts: KnownStarts.makeTable(),
    };
    this.#starts = new KnownStarts(this.#tables.starts);
  }

  /** Notes starts that are on disk. */
  noteStarts(starts: BigInt64Array): void {
    this.#starts.note(starts);
  }

  /** Returns the tables of the day. Callers ask again for each batch. */
  tables(nowMs: number): ActiveSeriesTables {
    const day = Math.floor(nowMs / dayMs);
    const { seriesMax, today, starts } = this.#tables;
    if (day > today.day) {
      const yesterday = today.day === day - 1 ? today : emptyDay(day - 1, seriesMax);
      this.#tables = { seriesMax, today: emptyDay(day, seriesMax), yesterday, starts };
    }
    return this.#tables;
  }
}

function emptyDay(day: number, seriesMax: number): ActiveSeriesDay {
  // Each table may come to hold all active series, and a few more: threads check the cap at the same time.
  return {
    day,
    slots: makeSharedSet(seriesMax + 32),
    counts: new Int32Array(new SharedArrayBuffer(8)),
  };
}
