import type { WorkDeadline } from "../time/deadline.ts";

/** What was measured of some calls. */
export interface CallStatistics {
  calls: number;
  /** Those of them whose status is an error. */
  errors: number;
  /** Milliseconds that half, 90 % and 99 % of the calls took at most; null where no call has a duration. */
  p50: number | null;
  p90: number | null;
  p99: number | null;
}

/** Durations that are sorted in one piece: a few milliseconds of work. */
const sortedAtOnce = 65_536;

/** Collects calls by group. Groups are numbered from 0. */
export class CallGroups {
  readonly #groups: number[] = [];
  readonly #durations: number[] = [];
  readonly #calls: number[] = [];
  readonly #errors: number[] = [];

  /** `durationMs` is NaN where it is not known. */
  add(group: number, durationMs: number, isError: boolean): void {
    this.#calls[group] = (this.#calls[group] ?? 0) + 1;
    this.#errors[group] = (this.#errors[group] ?? 0) + (isError ? 1 : 0);
    if (Number.isNaN(durationMs)) return;
    this.#groups.push(group);
    this.#durations.push(durationMs);
  }

  /** The statistics of groups 0 to `groups` - 1. Throws Failure "deadline" or "cancelled". */
  async finish(groups: number, work: WorkDeadline): Promise<CallStatistics[]> {
    const { starts, durations } = this.#gather(groups);
    const found: CallStatistics[] = [];
    for (let group = 0; group < groups; group++) {
      if (work.isTurnOver(starts[group + 1]! - starts[group]! + 1)) await work.yield();
      const sorted = await sortDurations(durations.subarray(starts[group], starts[group + 1]), work);
      found.push({
        calls: this.#calls[group] ?? 0,
        errors: this.#errors[group] ?? 0,
        ...{ p50: quantileOf(sorted, 0.5), p90: quantileOf(sorted, 0.9), p99: quantileOf(sorted, 0.99) },
      });
    }
    return found;
  }

  /** The durations, group after group: those of group `g` stand from `starts[g]` to `starts[g + 1]`. */
  #gather(groups: number): { starts: Uint32Array; durations: Float64Array } {
    const starts = new Uint32Array(groups + 1);
    for (const group of this.#groups) starts[group + 1]!++;
    for (let group = 0; group < groups; group++) starts[group + 1]! += starts[group]!;
    const next = starts.slice();
    const durations = new Float64Array(this.#groups.length);
    for (const [i, group] of this.#groups.entries()) durations[next[group]!++] = this.#durations[i]!;
    return { starts, durations };
  }
}

/** Sorts in place, in turns: pieces first, then pieces merged by two. */
async function sortDurations(durations: Float64Array, work: WorkDeadline): Promise<Float64Array> {
  const { length } = durations;
  for (let start = 0; start < length; start += sortedAtOnce) {
    durations.subarray(start, start + sortedAtOnce).sort();
    if (work.isTurnOver(sortedAtOnce)) await work.yield();
  }
  let [from, to] = [durations, length > sortedAtOnce ? new Float64Array(length) : durations];
  for (let width = sortedAtOnce; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width) {
      await mergeTwo(
        from,
        to,
        start,
        Math.min(start + width, length),
        Math.min(start + 2 * width, length),
        work,
      );
    }
    [from, to] = [to, from];
  }
  return from;
}

/** Merges two sorted ranges that follow each other. */
async function mergeTwo(
  from: Float64Array,
  to: Float64Array,
  start: number,
  middle: number,
  end: number,
  work: WorkDeadline,
): Promise<void> {
  let [left, right] = [start, middle];
  for (let at = start; at < end; at++) {
    if (at % sortedAtOnce === 0 && work.isTurnOver(sortedAtOnce)) await work.yield();
    const takesLeft = right === end || (left < middle && from[left]! <= from[right]!);
    to[at] = takesLeft ? from[left++]! : from[right++]!;
  }
}

/** Between two durations the quantile is interpolated. */
function quantileOf(sorted: Float64Array, q: number): number | null {
  if (sorted.length === 0) return null;
  const rank = q * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(rank)]!, sorted[Math.ceil(rank)]!];
  return low + (high - low) * (rank % 1);
}
