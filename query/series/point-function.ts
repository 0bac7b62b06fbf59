import type { PointFunction } from "../plan/series-plan.ts";
import { mapValues, type SeriesSet } from "./series-set.ts";

/** Applies a function to each point. */
export function mapPoints(fn: PointFunction, set: SeriesSet): SeriesSet {
  return mapValues(set, toFunction(fn));
}

function toFunction(fn: PointFunction): (value: number) => number {
  switch (fn.op) {
    case "abs":
      return Math.abs;
    case "ceil":
      return Math.ceil;
    case "floor":
      return Math.floor;
    case "round": {
      // As Prometheus does: a product with the inverse keeps multiples such as 0.1 exact.
      const inverse = 1 / fn.to;
      return (value) => Math.floor(value * inverse + 0.5) / inverse;
    }
    case "clamp": {
      const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = fn;
      return (value) => Math.max(min, Math.min(max, value));
    }
  }
}
