/** The points of an aggregation by group and bucket: a hash table with open addressing over growing vectors. */
import { Failure } from "../failure.ts";
import { pointsMax } from "../limits.ts";
import { growArray } from "../vector/text.ts";

/** Numbers the pairs of group and bucket in the order in which they are added. */
export class PointTable {
  #count = 0;
  #groups = new Uint32Array(64);
  #buckets = new Float64Array(64);
  /** Point plus 1, or 0 for an empty slot; a power of two, at least twice as long as the vectors. */
  #slots = new Int32Array(128);

  /** `expected`: so many points find room at once. */
  constructor(expected = 0) {
    if (expected > this.#groups.length)
      this.#resize(Math.min(2 ** Math.ceil(Math.log2(expected)), pointsMax));
  }

  get count(): number {
    return this.#count;
  }

  get byteLength(): number {
    return this.#groups.length * (4 + 8 + 8);
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

  /** Group and bucket of each point. */
  finish(): { groups: Uint32Array; buckets: Float64Array } {
    return { groups: this.#groups.slice(0, this.#count), buckets: this.#buckets.slice(0, this.#count) };
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
