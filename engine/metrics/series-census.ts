/**
 * The series that were seen today or yesterday, counted over all threads that encode: tables of fingerprints in shared memory, one a
 * day of the clock. So the number of active series has a cap, and those that are there go on.
 */

/** What crosses threads. */
export interface CensusTables {
  seriesMax: number;
  today: ActiveSeriesDay;
  yesterday: ActiveSeriesDay;
}

interface ActiveSeriesDay {
  /** Days since the epoch. */
  day: number;
  /** Fingerprints, 0 where a slot is free: open addressing, at most half full. Shared memory. */
  slots: BigInt64Array;
  /** Fingerprints in it; of them those that yesterday did not have. Shared memory. */
  counts: Int32Array;
}

const dayMs = 86_400_000;

export class SeriesCensus {
  readonly #tables: CensusTables;

  constructor(tables: CensusTables) {
    this.#tables = tables;
  }

  /** Notes a series as active; returns why it cannot be, where it is one too many. */
  admit(high: number, low: number): string | undefined {
    const { today, yesterday, seriesMax } = this.#tables;
    const fingerprint = toFingerprint(high, low);
    if (hasFingerprint(today, fingerprint)) return undefined;
    // A batch that was begun before midnight is as good in either table.
    const isKnown = hasFingerprint(yesterday, fingerprint);
    if (!isKnown && Atomics.add(today.counts, 1, 1) + Atomics.load(yesterday.counts, 0) >= seriesMax) {
      Atomics.sub(today.counts, 1, 1);
      const most = seriesMax.toLocaleString("en");
      return `the series is new, and ${most} series, the most the store takes, were seen today or yesterday`;
    }
    const added = insertFingerprint(today, fingerprint);
    if (added) Atomics.add(today.counts, 0, 1);
    // Another thread was faster with the same series.
    else if (!isKnown) Atomics.sub(today.counts, 1, 1);
    return undefined;
  }

  /** Series that were seen today or yesterday. */
  get active(): number {
    const { today, yesterday } = this.#tables;
    return Atomics.load(today.counts, 1) + Atomics.load(yesterday.counts, 0);
  }
}

/** The tables of the store, which change at midnight (UTC). */
export class ActiveSeriesCounter {
  #tables: CensusTables;

  constructor(seriesMax: number, nowMs: number) {
    const day = Math.floor(nowMs / dayMs);
    this.#tables = { seriesMax, today: emptyDay(day, seriesMax), yesterday: emptyDay(day - 1, seriesMax) };
  }

  tables(nowMs: number): CensusTables {
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
  // Each table may come to hold all of them, and more while a batch is under way on each thread.
  const length = 2 ** Math.ceil(Math.log2(Math.max(64, seriesMax * 2 + 64)));
  return {
    day,
    slots: new BigInt64Array(new SharedArrayBuffer(length * 8)),
    counts: new Int32Array(new SharedArrayBuffer(8)),
  };
}

/** 0 is kept for free slots. */
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

/** Whether it was not there. */
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
