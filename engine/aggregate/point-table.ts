/** The points of an aggregation by group and bucket, in growing vectors. */
import { Failure } from "../failure.ts";
import { keptPointsMax, pointsMax } from "../limits.ts";
import { cutArray, growArray } from "../vector/arrays.ts";

/** Buckets that points may have: `count` whole numbers from `first` on. */
export interface BucketSpan {
  first: number;
  count: number;
}

/** The vectors of a table. */
interface Vectors {
  groups: Uint32Array<ArrayBuffer>;
  buckets: Float64Array<ArrayBuffer>;
  /**
   * The hash table: the point's number plus 1, or 0 where the slot is free. Where it is used, its length is a power of two
   * and at least twice that of `groups` and `buckets`.
   */
  slots: Int32Array<ArrayBuffer>;
  /** The grid: for each bucket of the span and each group the point's number plus 1, or 0. */
  cells: Int32Array<ArrayBuffer>;
}

/** Cells of a grid: 8 MiB. With more cells, points are found by a hash table. */
const cellsMax = 2 ** 21;
/** Groups that a grid has room for at first. Where it would have more cells than that then, a hash table is used instead. */
const groupsAtFirst = 16;
const cellsAtFirstMax = 2 ** 18;

/** The vectors of a finished table of this thread, for the next one; all slots and cells are empty. See `keptPointsMax`. */
let kept: Vectors | undefined;

/**
 * Numbers the pairs of group and bucket in the order in which they are added. Where the buckets are known beforehand and
 * few enough, a grid of buckets and groups holds the number of each pair: threads add pairs in order of time, so that the
 * cells that they read lie side by side. Other pairs are found by a hash table.
 */
export class PointTable {
  readonly #expected: number;
  #count = 0;
  #groups: Uint32Array<ArrayBuffer>;
  #buckets: Float64Array<ArrayBuffer>;
  #slots: Int32Array<ArrayBuffer>;
  #cells: Int32Array<ArrayBuffer>;
  readonly #first: number;
  /** Buckets of the grid; 0 where there is none. */
  #width = 0;
  /** Groups that the grid has room for. */
  #stride = groupsAtFirst;

  /** `expected`: so many points find room at once. `span`: the buckets, where they are known. */
  constructor({ expected = 0, span }: { expected?: number; span?: BucketSpan | undefined } = {}) {
    this.#expected = Math.min(expected, pointsMax);
    const { groups, buckets, slots, cells } = kept ?? newVectors();
    kept = undefined;
    this.#groups = groups;
    this.#buckets = buckets;
    this.#slots = slots;
    this.#cells = cells;
    if (this.#expected > groups.length) this.#growPoints(this.#expected);
    const { first, count } = span ?? { first: 0, count: 0 };
    this.#first = first;
    if (count * groupsAtFirst <= cellsAtFirstMax) this.#width = count;
    if (this.#width > 0) this.#reserveCells();
    else this.#fillSlots();
  }

  get count(): number {
    return this.#count;
  }

  /** Of vectors that have grown by doubling: kept ones may be longer. */
  get byteLength(): number {
    const points = Math.max(2 ** Math.ceil(Math.log2(Math.max(this.#count, 64))), this.#expected);
    return points * (4 + 8) + (this.#width > 0 ? this.#width * this.#stride * 4 : points * 8);
  }

  /** Finds or adds a point and returns its number. Throws Failure "limit" where there are too many. */
  findOrAdd(group: number, bucket: number): number {
    const fromFirst = bucket - this.#first;
    if (fromFirst < 0 || fromFirst >= this.#width || group >= this.#stride)
      return this.#findOrAddOutside(group, bucket);
    const cell = fromFirst * this.#stride + group;
    const taken = this.#cells[cell]!;
    if (taken !== 0) return taken - 1;
    const point = this.#append(group, bucket);
    this.#cells[cell] = point + 1;
    return point;
  }

  bucketOf(place: number): number {
    return this.#buckets[place]!;
  }

  /** Group and bucket of each point. The table must not be used afterwards. */
  finish(): { groups: Uint32Array; buckets: Float64Array } {
    if (this.#groups.length > keptPointsMax || this.#cells.length > keptPointsMax * 4)
      return { groups: cutArray(this.#groups, this.#count), buckets: cutArray(this.#buckets, this.#count) };
    const [groups, buckets] = [this.#groups.slice(0, this.#count), this.#buckets.slice(0, this.#count)];
    if (this.#width > 0) this.#emptyCells();
    else this.#emptySlots();
    kept = { groups: this.#groups, buckets: this.#buckets, slots: this.#slots, cells: this.#cells };
    return { groups, buckets };
  }

  /** Finds or adds a point that has no cell: the grid gets room for it, or gives way to the hash table. */
  #findOrAddOutside(group: number, bucket: number): number {
    if (this.#width === 0) return this.#findOrAddByHash(group, bucket);
    const stride = 2 ** Math.ceil(Math.log2(group + 1));
    const isInSpan = bucket >= this.#first && bucket - this.#first < this.#width;
    this.#emptyCells();
    if (isInSpan && stride * this.#width <= cellsMax) {
      this.#stride = Math.max(stride, this.#stride);
      this.#reserveCells();
      for (let point = 0; point < this.#count; point++) this.#cells[this.#cellOf(point)] = point + 1;
    } else {
      this.#width = 0;
      this.#fillSlots();
    }
    return this.findOrAdd(group, bucket);
  }

  #findOrAddByHash(group: number, bucket: number): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(group, bucket) & mask;
    for (let taken = this.#slots[slot]!; taken !== 0; taken = this.#slots[slot]!) {
      if (this.#groups[taken - 1] === group && this.#buckets[taken - 1] === bucket) return taken - 1;
      slot = (slot + 1) & mask;
    }
    const point = this.#append(group, bucket);
    if (this.#slots.length >= this.#groups.length * 2) this.#slots[slot] = point + 1;
    else this.#fillSlots();
    return point;
  }

  #append(group: number, bucket: number): number {
    if (this.#count === this.#groups.length) {
      checkPoints(this.#count + 1);
      this.#growPoints(Math.min(this.#groups.length * 2, pointsMax));
    }
    this.#groups[this.#count] = group;
    this.#buckets[this.#count] = bucket;
    return this.#count++;
  }

  #growPoints(length: number): void {
    this.#groups = growArray(this.#groups, length);
    this.#buckets = growArray(this.#buckets, length);
  }

  #cellOf(point: number): number {
    return (this.#buckets[point]! - this.#first) * this.#stride + this.#groups[point]!;
  }

  /** Makes the cells long enough. They are all empty. */
  #reserveCells(): void {
    const length = this.#width * this.#stride;
    if (this.#cells.length < length) this.#cells = new Int32Array(length);
  }

  /**
   * Puts all points into slots: new ones where there are too few for the points' vectors, else the present ones, which
   * must be empty.
   */
  #fillSlots(): void {
    const length = 2 ** Math.ceil(Math.log2(this.#groups.length * 2));
    if (this.#slots.length < length) this.#slots = new Int32Array(length);
    const mask = this.#slots.length - 1;
    for (let point = 0; point < this.#count; point++) {
      let slot = hashOf(this.#groups[point]!, this.#buckets[point]!) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = point + 1;
    }
  }

  /** Empties all cells; of a large grid with few points only those that are taken. */
  #emptyCells(): void {
    if (this.#count * 16 > this.#width * this.#stride) this.#cells.fill(0, 0, this.#width * this.#stride);
    else for (let point = 0; point < this.#count; point++) this.#cells[this.#cellOf(point)] = 0;
  }

  /** Empties all slots; of a long table with few points only those that are taken. */
  #emptySlots(): void {
    if (this.#count * 16 > this.#slots.length) {
      this.#slots.fill(0);
      return;
    }
    const mask = this.#slots.length - 1;
    for (let point = 0; point < this.#count; point++) {
      let slot = hashOf(this.#groups[point]!, this.#buckets[point]!) & mask;
      while (this.#slots[slot] !== point + 1) slot = (slot + 1) & mask;
      this.#slots[slot] = 0;
    }
  }
}

function newVectors(): Vectors {
  return {
    groups: new Uint32Array(64),
    buckets: new Float64Array(64),
    slots: new Int32Array(0),
    cells: new Int32Array(0),
  };
}

/** Throws Failure "limit" where there are more points than a query may return. */
export function checkPoints(count: number): void {
  if (count <= pointsMax) return;
  const problem = `the query gives more than ${pointsMax} points (groups times buckets)`;
  throw new Failure("limit", `${problem}; take wider buckets or group by fewer labels`);
}

function hashOf(group: number, bucket: number): number {
  const mixed = Math.imul(group + 1, 0x9e3779b1) ^ Math.imul(bucket | 0, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}
