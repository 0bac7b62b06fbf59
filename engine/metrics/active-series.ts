/**
 * The census of active series, which were seen today or yesterday (UTC days of the server's clock). It enforces a cap
 * on their number over all threads that encode samples, with one table of fingerprints for each day, in shared memory.
 * Above the cap new series are refused, while known series are still taken.
 */

/** The shared tables, as they are passed to threads. */
export interface ActiveSeriesTables {
  /** Cap on active series. */
  seriesMax: number;
  today: ActiveSeriesDay;
  yesterday: ActiveSeriesDay;
}

interface ActiveSeriesDay {
  /** Days since the epoch. */
  day: number;
  /** Hash table of fingerprints with open addressing, at most half full; 0: free slot. Shared memory. */
  slots: BigInt64Array;
  /** [0]: fingerprints in the table; [1]: those of them that yesterday's table lacks. Shared memory. */
  counts: Int32Array;
}

const dayMs = 86_400_000;

/** Access to the tables on any thread. */
export class ActiveSeries {
  readonly #tables: ActiveSeriesTables;

  constructor(tables: ActiveSeriesTables) {
    this.#tables = tables;
  }

  /**
   * Notes a series as active, by the halves of its fingerprint. Returns why it is refused, where the cap is reached.
   */
  admit(high: number, low: number): string | undefined {
    const { today, yesterday, seriesMax } = this.#tables;
    const fingerprint = toFingerprint(high, low);
    if (hasFingerprint(today, fingerprint)) return undefined;
    // A batch that began before midnight keeps using the tables that it has. Either day's table serves, as a series in
    // any of them counts as known.
    const isKnown = hasFingerprint(yesterday, fingerprint);
    if (!isKnown && Atomics.add(today.counts, 1, 1) + Atomics.load(yesterday.counts, 0) >= seriesMax) {
      Atomics.sub(today.counts, 1, 1);
      const max = seriesMax.toLocaleString("en");
      return `the series is new, and ${max} series, the most the store takes, were seen today or yesterday`;
    }
    const added = insertFingerprint(today, fingerprint);
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

  constructor(seriesMax: number, nowMs: number) {
    const day = Math.floor(nowMs / dayMs);
    this.#tables = { seriesMax, today: emptyDay(day, seriesMax), yesterday: emptyDay(day - 1, seriesMax) };
  }

  /** Returns the tables of the day. Callers ask again for each batch. */
  tables(nowMs: number): ActiveSeriesTables {
    const day = Math.floor(nowMs / dayMs);
    const { seriesMax, today } = this.#tables;
    if (day > today.day) {
      const yesterday = today.day === day - 1 ? today : emptyDay(day - 1, seriesMax);
      this.#tables = { seriesMax, today: emptyDay(day, seriesMax), yesterday };
    }
    return this.#tables;
  }
}

function emptyDay(day: number, seriesMax: number): ActiveSeriesDay {
  // Each table may come to hold all active series, and a few more: threads check the cap at the same time.
  const length = 2 ** Math.ceil(Math.log2(Math.max(64, seriesMax * 2 + 64)));
  return {
    day,
    slots: new BigInt64Array(new SharedArrayBuffer(length * 8)),
    counts: new Int32Array(new SharedArrayBuffer(8)),
  };
}

/** Joins the halves of a fingerprint. 0 becomes 1, because 0 marks free slots. */
function toFingerprint(high: number, low: number): bigint {
  const fingerprint = (BigInt(high | 0) << 32n) | BigInt(low);
  return fingerprint === 0n ? 1n : fingerprint;
}

function hasFingerprint({ slots }: ActiveSeriesDay, fingerprint: bigint): boolean {
  const mask = slots.length - 1;
  for (let slot = firstSlot(fingerprint, mask); ; slot = (slot + 1) & mask) {
    const found = Atomics.load(slots, slot);
    if (found === fingerprint) return true;
    if (found === 0n) return false;
  }
}

/** Adds a fingerprint; returns false where it was there already. */
function insertFingerprint({ slots }: ActiveSeriesDay, fingerprint: bigint): boolean {
  const mask = slots.length - 1;
  for (let slot = firstSlot(fingerprint, mask); ; slot = (slot + 1) & mask) {
    const found = Atomics.compareExchange(slots, slot, 0n, fingerprint);
    if (found === 0n) return true;
    if (found === fingerprint) return false;
  }
}

function firstSlot(fingerprint: bigint, mask: number): number {
  return Number(BigInt.asUintN(32, fingerprint)) & mask;
}
