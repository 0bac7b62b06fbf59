/** Samples of one series out of several chunks, in order of time. */
import { lowerBound } from "../vector/binary-search.ts";
import type { SampleRun } from "./folds.ts";

/** Samples of a series within a range of a day's time. */
export function sliceByTime(
  timeNs: Float64Array,
  values: Float64Array,
  range: { from: number; to: number },
): SampleRun {
  const count = timeNs.length;
  const from = count === 0 || timeNs[0]! >= range.from ? 0 : lowerBound(timeNs, range.from);
  const to = count === 0 || timeNs[count - 1]! < range.to ? count : lowerBound(timeNs, range.to);
  return { timeNs, values, from, to };
}

/** Runs in order of arrival as runs in order of time, none of which overlaps; of samples at one time the last to arrive stays. */
export function mergeByTime(runs: readonly SampleRun[]): SampleRun[] {
  const arrived = runs.filter(({ from, to }) => from < to);
  if (arrived.length < 2) return arrived;
  const placeOf = new Map(arrived.map((run, place) => [run, place]));
  const byStart = arrived.toSorted((a, b) => startOf(a) - startOf(b));
  const clusters: SampleRun[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const run of byStart) {
    if (startOf(run) > end) clusters.push([]);
    clusters.at(-1)!.push(run);
    end = Math.max(end, run.timeNs[run.to - 1]!);
  }
  return clusters.map((cluster) => merged(cluster.sort((a, b) => placeOf.get(a)! - placeOf.get(b)!)));
}

function startOf({ timeNs, from }: SampleRun): number {
  return timeNs[from]!;
}

/** Two halves at a time, so that each sample is moved as often as the halves can be halved. */
function merged(cluster: readonly SampleRun[]): SampleRun {
  if (cluster.length === 1) return cluster[0]!;
  const middle = cluster.length >> 1;
  return mergedPair(merged(cluster.slice(0, middle)), merged(cluster.slice(middle)));
}

function mergedPair(earlier: SampleRun, later: SampleRun): SampleRun {
  const most = earlier.to - earlier.from + later.to - later.from;
  const timeNs = new Float64Array(most);
  const values = new Float64Array(most);
  let to = 0;
  let a = earlier.from;
  let b = later.from;
  while (a < earlier.to || b < later.to) {
    const timeA = a < earlier.to ? earlier.timeNs[a]! : Number.POSITIVE_INFINITY;
    const timeB = b < later.to ? later.timeNs[b]! : Number.POSITIVE_INFINITY;
    if (timeA < timeB) {
      timeNs[to] = timeA;
      values[to++] = earlier.values[a++]!;
    } else {
      if (timeA === timeB) a++;
      timeNs[to] = timeB;
      values[to++] = later.values[b++]!;
    }
  }
  return { timeNs, values, from: 0, to };
}
