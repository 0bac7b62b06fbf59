/** The points of an aggregation by group and bucket: a hash table with open addressing over growing vectors. */
import { Failure } from "../failure.ts";
import { keptPointsMax, pointsMax } from "../limits.ts";
import { growArray } from "../vector/text.ts";

/** The vectors of a table. */
interface Vectors {
  groups: Uint32Array<ArrayBuffer>;
  buckets: Float64Array<ArrayBuffer>;
  /**
   * The hash table: the point's number plus 1, or 0 where the slot is empty. Its length is a power of two, at least twice
   * that of the other vectors.
   */
  slots: Int32Array<ArrayBuffer>;
}

/** The vectors of a finished table of this thread, for the next one; all slots are empty. See `keptPointsMax`. */
let kept: Vectors | undefined;

/** Numbers the pairs of group and bucket in the order in which they are added. */
export class PointTable {
  readonly #expected: number;
  #count = 0;
  #groups: Uint32Array<ArrayBuffer>;
  #buckets: Float64Array<ArrayBuffer>;
  #slots: Int32Array<ArrayBuffer>;

  /** `expected`: so many points find room at once. */
  constructor(expected = 0) {
    this.#expected = Math.min(expected, pointsMax);
    const vectors = kept ?? {
      groups: new Uint32Array(64),
      buckets: new Float64Array(64),
      slots: new Int32Array(128),
    };
    kept = undefined;
    this.#groups = vectors.groups;
    this.#buckets = vectors.buckets;
    this.#slots = vectors.slots;
    if (expected > this.#groups.length)
      this.#resize(Math.min(2 ** Math.ceil(Math.log2(expected)), pointsMax));
  }

  get count(): number {
    return this.#count;
  }

  /** Of vectors that have grown by doubling: kept ones may be longer. */
  get byteLength(): number {
    return 2 ** Math.ceil(Math.log2(Math.max(this.#count, this.#expected, 64))) * (4 + 8 + 8);
  }

  /** Finds or adds a point and returns its number. Throws Failure "limit" where there are too many. */
  findOrAdd(group: number, bucket: number): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(group, bucket) & mask;
    for (let taken = this.#slots[slot]!; taken !== 0; taken = this.#slots[slot]!) {
      if (this.#groups[taken - 1] === group && this.#buckets[taken - 1] === bucket) return taken - 1;
      slot = (slot + 1) & mask;
    }
    if (this.#count === this.#groups.length) {
      this.#grow();
      return this.findOrAdd(group, bucket);
    }
    this.#slots[slot] = this.#count + 1;
    this.#groups[this.#count] = group;
    this.#buckets[this.#count] = bucket;
    return this.#count++;
  }

  bucketOf(place: number): number {
    return this.#buckets[place]!;
  }

  /** Group and bucket of each point. The table must not be used afterwards. */
  finish(): { groups: Uint32Array; buckets: Float64Array } {
    const [groups, buckets] = [this.#groups.slice(0, this.#count), this.#buckets.slice(0, this.#count)];
    if (this.#groups.length <= keptPointsMax) {
      this.#emptySlots();
      kept = { groups: this.#groups, buckets: this.#buckets, slots: this.#slots };
    }
    return { groups, buckets };
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

  #grow(): void {
    checkPoints(this.#count + 1);
    this.#resize(Math.min(this.#groups.length * 2, pointsMax));
  }

  #resize(length: number): void {
    this.#groups = growArray(this.#groups, length);
    this.#buckets = growArray(this.#buckets, length);
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(length * 2)));
    const mask = this.#slots.length - 1;
    for (let point = 0; point < this.#count; point++) {
      let slot = hashOf(this.#groups[point]!, this.#buckets[point]!) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = point + 1;
    }
  }
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
