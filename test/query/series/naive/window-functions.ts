/** Functions of all samples that a series has in a window, by their definitions in Prometheus. */
import { foldNumbers, sum } from "./numbers.ts";

/** Milliseconds since the epoch, and the value. */
export type TimedValue = readonly [ms: number, value: number];

/** The value of a function for the samples of the window from `fromMs` to before `toMs`; undefined for none. */
export function computeWindow(
  op: string,
  samples: readonly TimedValue[],
  [fromMs, toMs]: readonly [number, number],
  parameter: number,
): number | undefined {
  const values = samples.map(([, value]) => value);
  switch (op) {
    case "last_over_time":
      return values.at(-1);
    case "changes":
      return values.filter((value, i) => i > 0 && value !== values[i - 1]).length;
    case "delta":
      return samples.length < 2 ? undefined : extrapolatedDelta(samples, fromMs, toMs);
    case "deriv":
      return samples.length < 2 ? undefined : regression(samples, toMs).slope;
    case "predict_linear": {
      if (samples.length < 2) return undefined;
      const { slope, intercept } = regression(samples, toMs);
      return intercept + slope * parameter;
    }
    default:
      return foldNumbers(op.replace("_over_time", "") as "sum", values, parameter);
  }
}

/** As `extrapolatedRate` of Prometheus does for gauges. */
function extrapolatedDelta(samples: readonly TimedValue[], fromMs: number, toMs: number): number {
  const [firstMs, first] = samples[0]!;
  const [lastMs, last] = samples.at(-1)!;
  const sampled = (lastMs - firstMs) / 1000;
  const average = sampled / (samples.length - 1);
  const toStart = (firstMs - fromMs) / 1000;
  const toEnd = (toMs - lastMs) / 1000;
  let whole = sampled;
  whole += toStart < average * 1.1 ? toStart : average / 2;
  whole += toEnd < average * 1.1 ? toEnd : average / 2;
  return ((last - first) * whole) / sampled;
}

/** Least squares: the slope a second, and the line's value at `atMs`. */
function regression(samples: readonly TimedValue[], atMs: number): { slope: number; intercept: number } {
  const x = samples.map(([ms]) => (ms - atMs) / 1000);
  const y = samples.map(([, value]) => value);
  const [meanX, meanY] = [sum(x) / x.length, sum(y) / y.length];
  const slope =
    sum(x.map((each, i) => (each - meanX) * (y[i]! - meanY))) / sum(x.map((each) => (each - meanX) ** 2));
  return { slope, intercept: meanY - slope * meanX };
}
