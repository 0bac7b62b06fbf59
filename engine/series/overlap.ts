/** Merges the samples of one series from several chunks into the order of time. */
import { lowerBound } from "../vector/binary-search.ts";
import type { SampleRun } from "./folds.ts";

/** Returns the samples of a series in [range.from, range.to), in nanoseconds since the start of the day. */
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

/**
 * Turns runs in order of arrival into runs in order of time that do not overlap. Of samples at the same time the last
 * to arrive stays.
 */
export function mergeByTime(runs: readonly SampleRun[]): SampleRun[] {
  const nonEmpty = runs.filter(({ from, to }) => from < to);
  if (nonEmpty.length < 2) return nonEmpty;
  const arrivalOf = new Map(nonEmpty.map((run, place) => [run, place]));
  const byStart = nonEmpty.toSorted((a, b) => startOf(a) - startOf(b));
  const clusters: SampleRun[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const run of byStart) {
    if (startOf(run) > end) clusters.push([]);
    clusters.at(-1)!.push(run);
    end = Math.max(end, run.timeNs[run.to - 1]!);
  }
  return clusters.map((cluster) => mergeRuns(cluster.sort((a, b) => arrivalOf.get(a)! - arrivalOf.get(b)!)));
}

function startOf({ timeNs, from }: SampleRun): number {
  return timeNs[from]!;
}

/** Merges runs by halves, so that each sample is copied log₂(runs) times. */
function mergeRuns(cluster: readonly SampleRun[]): SampleRun {
  if (cluster.length === 1) return cluster[0]!;
  const middle = cluster.length >> 1;
  return mergePair(mergeRuns(cluster.slice(0, middle)), mergeRuns(cluster.slice(middle)));
}

/** Merges two runs; of samples at the same time the later run's stays. */
function mergePair(earlier: SampleRun, later: SampleRun): SampleRun {
  const lengthMax = earlier.to - earlier.from + later.to - later.from;
  const timeNs = new Float64Array(lengthMax);
  const values = new Float64Array(lengthMax);
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
