/**
 * Random timeseries queries, each in svcQL and in PromQL. The texts differ where the reference says that the languages
 * do: a bare gauge is the average of its bucket, and an increase is not extrapolated.
 */
import fc from "fast-check";

interface QueryPair {
  svcql: string;
  promql: string;
  /** Its values need no rounding, as the samples are quarters: both sides have the same bits. */
  isExact: boolean;
}

type Pairs = fc.Arbitrary<QueryPair>;

const same = (text: string, isExact = false): QueryPair => ({ svcql: text, promql: text, isExact });
/** Moved off the values at which the last bit decides (halves for `round`, equal ones for `==`), where it is not exact. */
const movedOff = (pair: QueryPair): QueryPair => (pair.isExact ? pair : shifted(pair));
const shifted = ({ svcql, promql }: QueryPair): QueryPair => ({
  svcql: `((${svcql}) + 0.0137)`,
  promql: `((${promql}) + 0.0137)`,
  isExact: false,
});
const oneOf = (...texts: string[]) => fc.constantFrom(...texts);
const times = fc
  .tuple(oneOf("90s", "2m", "5m", "10m", "17m", "30m"), oneOf("", "", "", " offset 1m", " offset 10m"))
  .map(([window, offset]) => `[${window}]${offset}`);
const shortTimes = oneOf("[500ms]", "[700ms]", "[1s]", "[2s500ms]", "[10s]", "[10s] offset 300ms");

const matchers = oneOf("", "", '{pod="a"}', '{pod!="b"}', '{zone=~"n|s"}', '{pod=~"a|b", zone!="s"}');
const gauge = fc.tuple(oneOf("mem", "mem", "temp"), matchers).map((parts) => parts.join(""));
const counter = matchers.map((each) => `steady_total${each}`);
/** What a window is read of, with its window: samples of gauges, of counters with resets, and several in a second. */
const windowed = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(gauge, times).map((parts) => parts.join("")) },
  { weight: 2, arbitrary: fc.tuple(matchers, times).map(([each, time]) => `reset_total${each}${time}`) },
  { weight: 3, arbitrary: shortTimes.map((time) => `fast${time}`) },
);

const functions = [
  ...["avg", "min", "max", "sum", "count", "stddev", "last"].map((name) => `${name}_over_time(<>)`),
  ...["changes(<>)", "delta(<>)", "delta(<>)", "deriv(<>)", "deriv(<>)"],
  ...["predict_linear(<>, 4 * 60)", "predict_linear(<>, 3600)", "predict_linear(<>, -30)"],
  ...["quantile_over_time(0.9, <>)", "quantile_over_time(0, <>)", "quantile_over_time(0.5, <>)"],
];
const exactFunctions = /^(min|max|sum|count|last)_over_time|^changes/;
const overWindow: Pairs = fc.tuple(oneOf(...functions), windowed).map(([text, inner]) =>
  same(
    text.replace("<>", () => inner),
    exactFunctions.test(text),
  ),
);

/** What a counter gained: in PromQL the difference of values, where the window has a sample. */
const increased: Pairs = fc
  .tuple(oneOf("increase", "rate"), counter, oneOf("2m", "5m", "17m"), oneOf("", " offset 1m"))
  .map(([op, inner, window, offset]) => {
    const minutes = Number.parseInt(window, 10);
    const before = `${offset === "" ? minutes : minutes + 1}m`;
    const gained = `(last_over_time(${inner}[1h]${offset}) - last_over_time(${inner}[1h] offset ${before}))`;
    const present = `(${gained} and count_over_time(${inner}[${window}]${offset}))`;
    return {
      svcql: `${op}(${inner}[${window}]${offset})`,
      promql: op === "rate" ? `(${present} / ${minutes * 60})` : present,
      isExact: op === "increase",
    };
  });

const eachSeries: Pairs = fc.oneof({ weight: 5, arbitrary: overWindow }, { weight: 1, arbitrary: increased });

const groupings = oneOf(
  "",
  "by (pod)",
  "by (zone)",
  "by (pod, zone)",
  "without (zone)",
  "without (none)",
  "by ()",
);
const aggregations = oneOf(
  "sum",
  "avg",
  "min",
  "max",
  "stddev",
  "count",
  "quantile(0.9, ",
  "quantile(0.25, ",
);
const exactAggregations = new Set(["sum", "min", "max", "count"]);
const call = (op: string, grouping: string, inner: string) =>
  op.includes("(") ? `${op}${inner}) ${grouping}` : `${op} ${grouping} (${inner})`;

/** `<step>` stands for the width of buckets. */
const bareGauge: Pairs = fc
  .tuple(oneOf("sum", "avg", "min", "max", "stddev", "count"), groupings, gauge)
  .map(([op, grouping, inner]) => {
    const read = op === "min" || op === "max" ? op : "avg";
    return {
      svcql: call(op, grouping, inner),
      promql: call(op, grouping, `${read}_over_time(${inner}[<step>])`),
      isExact: exactAggregations.has(op) && read !== "avg",
    };
  });

const mapped = (inner: Pairs): Pairs => {
  const shapes = oneOf(
    ...["abs(<>)", "ceil(<>)", "floor(<>)", "round(<>)", "round(<>, 0.5)", "round(<>, 20)", "sort(<>)"],
    ...["clamp(<>, 10, 50)", "clamp_min(<>, 20)", "clamp_max(<>, 2 * 15)", "sort_desc(<>)"],
    'label_replace(<>, "place", "$1-$2", "pod", "(a|b)(.*)")',
    'label_replace(<>, "zone", "", "zone", "nowhere")',
    'label_replace(<>, "pod", "x$1", "pod", "(.*)")',
  );
  return fc.tuple(shapes, inner).map(([shape, drawn]) => {
    const { svcql, promql, isExact } = /^(ceil|floor|round)/.test(shape) ? movedOff(drawn) : drawn;
    return {
      svcql: shape.replace("<>", () => svcql),
      promql: shape.replace("<>", () => promql),
      isExact,
    };
  });
};

const join = (left: QueryPair, op: string, right: QueryPair): QueryPair => ({
  svcql: `(${left.svcql}) ${op} (${right.svcql})`,
  promql: `(${left.promql}) ${op} (${right.promql})`,
  isExact: left.isExact && right.isExact && op !== "/",
});
/** What steps (comparisons and remainders) is asked of values that are equal to the last bit, or far from equal. */
const combine = (left: QueryPair, op: string, right: QueryPair): QueryPair =>
  /[%=<>]/.test(op) && !right.isExact
    ? join(left, op, movedOff(right))
    : join(/[%=<>]/.test(op) ? movedOff(left) : left, op, right);
const numbers = oneOf("2", "0.5", "30", "-1").map((text) => same(text, true));
const operators = oneOf("+", "-", "*", "/", "%", ">", "<=", "> bool", "== bool", "!=");
const scaled = (inner: Pairs): Pairs =>
  fc.oneof(
    fc.tuple(inner, operators, numbers).map(([left, op, right]) => combine(left, op, right)),
    fc
      .tuple(numbers, oneOf("+", "-", "*", "/", "> bool"), inner)
      // What is divided by zero has no point here, and is infinite in Prometheus.
      .map(([left, op, right]) => combine(left, op, op === "/" ? shifted(right) : right)),
    inner.map(({ svcql, promql, isExact }) => ({ svcql: `-(${svcql})`, promql: `-(${promql})`, isExact })),
  );

const aggregated: Pairs = fc
  .tuple(
    aggregations,
    groupings,
    fc.oneof(
      { weight: 4, arbitrary: eachSeries },
      { weight: 2, arbitrary: mapped(eachSeries) },
      { weight: 1, arbitrary: scaled(eachSeries) },
    ),
  )
  .map(([op, grouping, { svcql, promql, isExact }]) => ({
    svcql: call(op, grouping, svcql),
    promql: call(op, grouping, promql),
    isExact: isExact && exactAggregations.has(op),
  }));

/** Two sides with the same labels. */
const matched: Pairs = fc
  .tuple(
    oneOf("by (pod)", "by (pod, zone)", ""),
    fc.tuple(eachSeries, eachSeries),
    oneOf("+", "-", "*", ">", "<", ">= bool", "and", "or", "unless"),
  )
  .map(([grouping, [left, right], op]) => {
    const sum = ({ svcql, promql, isExact }: QueryPair) => ({
      svcql: call("sum", grouping, svcql),
      promql: call("sum", grouping, promql),
      isExact,
    });
    return combine(sum(left), op, sum(right));
  });

const absent: Pairs = fc
  .tuple(
    oneOf("mem", "steady_total"),
    oneOf("", '{pod="a"}', '{pod="z", zone=~"n"}', '{zone="n", zone!="s"}'),
    times,
  )
  .map(([name, braces, time]) => ({
    svcql: `absent(${name}${braces}${time})`,
    promql: `absent_over_time(${name}${braces}${time})`,
    isExact: true,
  }));

const histograms: Pairs = fc
  .tuple(oneOf("0.1", "0.5", "0.9", "1"), oneOf("by (le)", "by (le, pod)"), oneOf("5m", "17m"))
  .map(([q, grouping, window]) => {
    const inner = `last_over_time(lat_bucket[${window}])`;
    return same(`histogram_quantile(${q}, sum ${grouping} (${inner}))`);
  });

export const arbitraryPair: Pairs = fc.oneof(
  { weight: 8, arbitrary: aggregated },
  { weight: 2, arbitrary: bareGauge },
  { weight: 2, arbitrary: mapped(aggregated) },
  { weight: 2, arbitrary: scaled(aggregated) },
  { weight: 2, arbitrary: matched },
  { weight: 1, arbitrary: absent },
  { weight: 1, arbitrary: histograms },
);
