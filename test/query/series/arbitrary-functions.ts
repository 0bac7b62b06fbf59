/** Random functions of series as text. */
import fc from "fast-check";
import { oneOf, type Texts } from "./arbitrary-selectors.ts";

/** A function around series, whose arguments fit. */
export function arbitraryFunction(of: Texts): Texts {
  const unary = oneOf("abs", "ceil", "floor", "round", "sort", "sort_desc");
  const bound = oneOf("1", "-2", "7 / 2");
  return fc.oneof(
    { weight: 6, arbitrary: fc.tuple(unary, of).map(([op, x]) => `${op}(${x})`) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(oneOf("clamp_min", "clamp_max"), of, bound)
        .map(([op, x, to]) => `${op}(${x}, ${to})`),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(of, oneOf("-3, 3", "0, 40", "2, 2", "0, 5", "1, 0"))
        .map(([x, bounds]) => `clamp(${x}, ${bounds})`),
    },
    fc.tuple(of, oneOf("0.5", "5", "10 * 2")).map(([x, to]) => `round(${x}, ${to})`),
    fc
      .tuple(
        of,
        oneOf("pod", "service", "new"),
        oneOf("$1", "x-$1-y", "", "one"),
        oneOf("service", "pod", "none"),
        oneOf("(w|p).*", "(.*)", "(b)", "()"),
      )
      .map(([x, ...texts]) => `label_replace(${x}, ${texts.map((text) => `"${text}"`).join(", ")})`),
    of.map((x) => `absent(${x})`),
  );
}

/** Functions over time of all samples; `<>` is the place of the metric among other arguments. */
const windowFunctions = [
  ...["avg", "min", "max", "sum", "count", "stddev", "last"].map((name) => `${name}_over_time`),
  ...["changes", "delta", "deriv", "predict_linear(<>, 4 * 60)"],
  ...["quantile_over_time(0.9, <>)", "quantile_over_time(0, <>)"],
];

export function arbitraryWindowFunction(metric: Texts): Texts {
  return fc
    .tuple(oneOf(...windowFunctions), metric)
    .map(([name, inner]) => (name.includes("(") ? name.replace("<>", () => inner) : `${name}(${inner})`));
}
