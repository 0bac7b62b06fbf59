/** Points of an aggregation over series: what was gathered for each group and bucket, which parts of it on other threads can join. */
import type { Points } from "../aggregation.ts";
import { Failure } from "../failure.ts";
import { pointsMax } from "../limits.ts";
import { PairTable } from "./pairs.ts";
import type { SampleAggregate } from "./samplequery.ts";

/** As it crosses threads. */
export interface GatheredPoints {
  groups: Uint32Array;
  buckets: Float64Array;
  /** Values that each point was made of. */
  counts: Float64Array;
  /** Sum, least, greatest, or mean. */
  firsts: Float64Array;
  /** Sum of the squared distances from the mean. */
  seconds: Float64Array;
  /** Quantiles: every value, and the point that it belongs to. Distinct texts: the number of a text. */
  members: Float64Array;
  owners: Uint32Array;
}

export class SeriesPoints {
  readonly #aggregate: SampleAggregate;
  readonly #places = new PairTable();
  #counts = new Float64Array(64);
  #firsts = new Float64Array(64);
  #seconds = new Float64Array(64);
  #members = new Float64Array(64);
  #owners = new Uint32Array(64);
  #memberCount = 0;
  /** Points and texts that belong together. */
  readonly #texts = new PairTable();

  constructor(aggregate: SampleAggregate) {
    this.#aggregate = aggregate;
  }

  get byteLength(): number {
    return (
      this.#places.byteLength + this.#counts.length * 24 + this.#members.length * 12 + this.#texts.byteLength
    );
  }

  /** Place of the point, which is made if it is new. Throws Failure "limit". */
  place(group: number, bucket: number): number {
    const place = this.#places.place(group, bucket);
    if (place < this.#counts.length) return place;
    if (place >= pointsMax) {
      const problem = `the query gives more than ${pointsMax} points (groups times buckets)`;
      throw new Failure("limit", `${problem}; take wider buckets or group by fewer labels`);
    }
    this.#counts = longer(this.#counts);
    this.#firsts = longer(this.#firsts);
    this.#seconds = longer(this.#seconds);
    return place;
  }

  /** Adds the value of a series; for distinct texts, the number of one. */
  add(place: number, value: number): void {
    const { op } = this.#aggregate;
    if (op === "quantile" || op === "distinct") this.#addMember(place, value);
    else this.#join(place, 1, value, 0);
  }

  /** Adds what another thread gathered. `groupOf` and `textOf` turn its numbers into those of this table. */
  addAll(other: GatheredPoints, groupOf: Uint32Array, textOf: Uint32Array): void {
    const places = new Uint32Array(other.groups.length);
    const isText = this.#aggregate.op === "distinct";
    const hasMembers = isText || this.#aggregate.op === "quantile";
    for (let i = 0; i < places.length; i++) {
      places[i] = this.place(groupOf[other.groups[i]!]!, other.buckets[i]!);
      if (!hasMembers) this.#join(places[i]!, other.counts[i]!, other.firsts[i]!, other.seconds[i]!);
    }
    for (let i = 0; i < other.members.length; i++) {
      const member = other.members[i]!;
      this.#addMember(places[other.owners[i]!]!, isText ? textOf[member]! : member);
    }
  }

  gathered(): GatheredPoints {
    const { count } = this.#places;
    return {
      groups: this.#places.first.slice(0, count),
      buckets: this.#places.second.slice(0, count),
      counts: this.#counts.slice(0, count),
      firsts: this.#firsts.slice(0, count),
      seconds: this.#seconds.slice(0, count),
      members: this.#members.slice(0, this.#memberCount),
      owners: this.#owners.slice(0, this.#memberCount),
    };
  }

  finish(): Points {
    const { count } = this.#places;
    return {
      groups: this.#places.first.slice(0, count),
      buckets: this.#places.second.slice(0, count),
      values: [this.#values(count)],
    };
  }

  #join(place: number, count: number, first: number, second: number): void {
    if (count === 0) return;
    const before = this.#counts[place]!;
    this.#counts[place] = before + count;
    if (before === 0) {
      this.#firsts[place] = first;
      // Infinities have no distance from their mean.
      this.#seconds[place] = second + (first - first);
      return;
    }
    const own = this.#firsts[place]!;
    switch (this.#aggregate.op) {
      case "sum":
      case "avg":
        this.#firsts[place] = own + first;
        break;
      case "min":
        this.#firsts[place] = Math.min(own, first);
        break;
      case "max":
        this.#firsts[place] = Math.max(own, first);
        break;
      case "stddev": {
        // Chan's formula for the squares of two parts.
        const distance = first - own;
        const share = count / (before + count);
        this.#firsts[place] = own + distance * share;
        this.#seconds[place] = this.#seconds[place]! + second + distance * distance * before * share;
        break;
      }
    }
  }

  #addMember(place: number, member: number): void {
    if (this.#aggregate.op === "distinct") {
      const known = this.#texts.count;
      if (this.#texts.place(place, member) < known) return;
    }
    if (this.#memberCount === this.#members.length) {
      this.#members = longer(this.#members);
      const owners = new Uint32Array(this.#members.length);
      owners.set(this.#owners);
      this.#owners = owners;
    }
    this.#counts[place]!++;
    this.#members[this.#memberCount] = member;
    this.#owners[this.#memberCount++] = place;
  }

  #values(count: number): Float64Array {
    const { op } = this.#aggregate;
    const counts = this.#counts.slice(0, count);
    if (op === "count" || op === "distinct") return counts;
    if (op === "quantile") return this.#quantiles(count, this.#aggregate.q);
    const firsts = this.#firsts.slice(0, count);
    if (op === "avg") return firsts.map((sum, i) => sum / counts[i]!);
    if (op === "stddev") return counts.map((number, i) => Math.sqrt(this.#seconds[i]! / number));
    return firsts;
  }

  /** The value at rank q × (n − 1) of the sorted ones, between two ranks the line from one to the other. */
  #quantiles(count: number, q: number): Float64Array {
    const ends = new Uint32Array(count + 1);
    for (let i = 0; i < this.#memberCount; i++) ends[this.#owners[i]! + 1]!++;
    for (let point = 0; point < count; point++) ends[point + 1]! += ends[point]!;
    const next = ends.slice();
    const members = new Float64Array(this.#memberCount);
    for (let i = 0; i < this.#memberCount; i++) members[next[this.#owners[i]!]!++] = this.#members[i]!;
    const values = new Float64Array(count);
    for (let point = 0; point < count; point++) {
      values[point] = quantile(members.subarray(ends[point]!, ends[point + 1]!), q);
    }
    return values;
  }
}

function quantile(values: Float64Array, q: number): number {
  values.sort();
  const rank = q * (values.length - 1);
  const below = values[Math.floor(rank)]!;
  const above = values[Math.ceil(rank)]!;
  // NaN sorts last; a value that is none makes the whole none.
  if (Number.isNaN(values.at(-1)!)) return Number.NaN;
  return below === above ? below : below + (above - below) * (rank - Math.floor(rank));
}

function longer(array: Float64Array): Float64Array<ArrayBuffer> {
  const twice = new Float64Array(array.length * 2);
  twice.set(array);
  return twice;
}
