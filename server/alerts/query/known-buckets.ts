/** Keeps what scans over several buckets have found, so that the next evaluation of a window reads only what is new. */
import {
  type AggregateResult,
  type SampleAggregateResult,
  type Signal,
  Turns,
  textAt,
  toTextVector,
} from "../../../engine/index.ts";
import { knownPointsMax } from "../limits.ts";

/** What is known of the arrival of rows. */
export interface ArrivalTimes {
  /** The newest arrival number. */
  position(signal: Signal): number;
  /** Time of the oldest row that arrived after a position, Unix milliseconds; undefined where none has. */
  oldestMs(signal: Signal, position: number): number | undefined;
}

/** A scan: its range, the width of its buckets, and whatever else it asks for. */
interface BucketedScan {
  fromNs: bigint;
  toNs: bigint;
  bucketNs?: bigint;
}

type Found = AggregateResult & Partial<Pick<SampleAggregateResult, "kinds">>;

/** What a scan has found in whole buckets. */
interface KnownRange {
  fromNs: bigint;
  toNs: bigint;
  /** Rows that arrived after it may not be in the result. */
  position: number;
  result: Found;
}

export class KnownBuckets {
  readonly #arrivals: ArrivalTimes;
  /** By the text of the scan without its range; the one used last is the last. */
  readonly #known = new Map<string, KnownRange>();
  #points = 0;

  constructor(arrivals: ArrivalTimes) {
    this.#arrivals = arrivals;
  }

  /**
   * Runs a scan. Where it has several buckets, those at its beginning that an equal scan has read before are taken from
   * there, as far as no row has arrived since that is as old.
   */
  async read<Scan extends BucketedScan, Result extends Found>(
    signal: Signal,
    scan: Scan,
    run: (scan: Scan) => Promise<Result>,
  ): Promise<Result> {
    const { fromNs, toNs, bucketNs } = scan;
    if (bucketNs === undefined || toNs - fromNs < 2n * bucketNs || fromNs % bucketNs !== 0n) return run(scan);
    const key = keyOf(scan);
    // Taken before anything is read: what arrives meanwhile counts as not read.
    const position = this.#arrivals.position(signal);
    const known = this.#known.get(key);
    const knownToNs = known === undefined ? fromNs : this.#validUntil(signal, known, scan, bucketNs);
    let result: Result;
    if (known === undefined || knownToNs <= fromNs) result = await run(scan);
    else {
      const count = Number((knownToNs - fromNs) / bucketNs);
      const parts: Part[] = [
        { of: known.result, shift: Number((known.fromNs - fromNs) / bucketNs), to: count },
      ];
      const rest = knownToNs < toNs ? await run({ ...scan, fromNs: knownToNs }) : undefined;
      if (rest !== undefined) parts.push({ of: rest, shift: count, to: Number.POSITIVE_INFINITY });
      result = (await joinParts(parts)) as Result;
    }
    this.#keep(key, { fromNs, toNs: toNs - (toNs % bucketNs), position, result });
    return result;
  }

  /** The end of the buckets, from the scan's start on, that are as they were read. */
  #validUntil(signal: Signal, known: KnownRange, { fromNs, toNs }: BucketedScan, bucketNs: bigint): bigint {
    if (fromNs < known.fromNs) return fromNs;
    const oldestMs = this.#arrivals.oldestMs(signal, known.position);
    let untilNs = known.toNs < toNs ? known.toNs : toNs;
    if (oldestMs !== undefined) {
      const oldestNs = BigInt(Math.floor(oldestMs)) * 1_000_000n;
      if (oldestNs < untilNs) untilNs = oldestNs;
    }
    return untilNs - (untilNs % bucketNs);
  }

  #keep(key: string, range: KnownRange): void {
    const before = this.#known.get(key);
    if (before !== undefined) this.#drop(key, before);
    this.#known.set(key, range);
    this.#points += sizeOf(range);
    for (const [oldest, each] of this.#known) {
      if (this.#points <= knownPointsMax) break;
      this.#drop(oldest, each);
    }
  }

  #drop(key: string, range: KnownRange): void {
    this.#known.delete(key);
    this.#points -= sizeOf(range);
  }
}

/** Points, and for each result as much as a short text takes. */
function sizeOf({ result }: KnownRange): number {
  return 16 + result.points.buckets.length + result.groups;
}

function keyOf({ fromNs: _, toNs: __, ...scan }: BucketedScan): string {
  return JSON.stringify(scan, (___, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));
}

/** Buckets of a result below `to`; `shift` is added to their numbers. Those below 0 are left out. */
interface Part {
  of: Found;
  shift: number;
  to: number;
}

/** One result of buckets that no two parts share. */
async function joinParts(parts: readonly Part[]): Promise<Found> {
  const turns = new Turns();
  const numberOf = new Map<string, number>();
  const texts: string[] = [];
  const groups: number[] = [];
  const buckets: number[] = [];
  const last = parts.at(-1)!.of;
  const values: number[][] = last.points.values.map(() => []);
  for (const { of, shift, to } of parts) {
    const renumbered = new Int32Array(of.groups).fill(-1);
    const labels = of.groups === 0 ? 0 : (of.labels.offsets.length - 1) / of.groups;
    for (const [i, bucket] of of.points.buckets.entries()) {
      if (turns.isOver) await turns.next();
      const shifted = bucket + shift;
      if (shifted < 0 || shifted >= to) continue;
      const group = of.points.groups[i]!;
      if (renumbered[group]! < 0) {
        const own = Array.from({ length: labels }, (_, label) => textAt(of.labels, group * labels + label));
        const key = JSON.stringify(own);
        const number = numberOf.get(key) ?? numberOf.size;
        if (number === numberOf.size) texts.push(...own);
        numberOf.set(key, number);
        renumbered[group] = number;
      }
      groups.push(renumbered[group]!);
      buckets.push(shifted);
      for (const [place, column] of values.entries()) column.push(of.points.values[place]![i]!);
    }
  }
  return {
    ...last,
    ...(last.kinds === undefined ? {} : { kinds: joinKinds(parts) }),
    groups: numberOf.size,
    labels: toTextVector(texts),
    points: {
      groups: Uint32Array.from(groups),
      buckets: Float64Array.from(buckets),
      values: values.map((column) => Float64Array.from(column)),
    },
  };
}

function joinKinds(parts: readonly Part[]): SampleAggregateResult["kinds"] {
  const kinds = parts.flatMap(({ of }) => (of.kinds === undefined ? [] : [of.kinds]));
  return { gauge: kinds.some(({ gauge }) => gauge), counter: kinds.some(({ counter }) => counter) };
}
