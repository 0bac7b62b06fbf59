/** Random timeseries queries as text, of every aggregation, operator and grouping. Some are nested, some are wrong. */
import fc from "fast-check";
import { metrics, spanMs } from "./arbitrary-data.ts";
import { arbitraryFunction, arbitraryWindowFunction } from "./arbitrary-functions.ts";
import {
  arbitraryBraces,
  logs,
  oneOf,
  profiles,
  resources,
  type Texts,
  traces,
  withTimes,
} from "./arbitrary-selectors.ts";
import { baseMs } from "./cases.ts";
import type { BucketedRange } from "./naive/data.ts";

const quantiles = oneOf("0", "0.25", "0.5", "0.9", "0.99", "1");

const labels = {
  logs: ["service", "status", "log_level", "pod", "none"],
  traces: ["service", "status_code", "name", "http.status"],
  kubernetes_resources: ["k8s.resource.name", "k8s.namespace.name", "k8s.cluster.name"],
  profiles: ["type", "service", "body"],
  metrics: ["service", "pod", "code", "le", "none"],
};

/** `by` or `without` with some labels or none, or no grouping. */
function arbitraryGrouping(names: readonly string[], kinds: readonly ("by" | "without")[]): Texts {
  const some = fc
    .tuple(
      fc.constantFrom(...kinds),
      fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 2 }),
    )
    .map(([kind, own]) => `${kind} (${own.join(", ")})`);
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant("") },
    { weight: 5, arbitrary: some },
    oneOf(`${kinds[0]!} ()`),
  );
}

/** A call with its grouping before or after the brackets. */
function arbitraryCall(op: Texts, content: Texts, grouped: Texts): Texts {
  return fc.tuple(op, content, grouped, fc.boolean()).map(([name, inner, group, isBefore]) => {
    if (group === "") return `${name}(${inner})`;
    return isBefore ? `${name} ${group} (${inner})` : `${name}(${inner}) ${group}`;
  });
}

/** Values of `fields` are often numbers, those of `texts` mostly not. */
const rowSignals = [
  {
    rows: logs,
    fields: ["ms", "ms", "status", "took", "timestamp"],
    texts: ["service", "status", "log_level", "none"],
    names: labels.logs,
  },
  {
    rows: traces,
    fields: ["duration_ms", "duration_ms", "http.status"],
    texts: ["trace_id", "name", "service"],
    names: labels.traces,
  },
  {
    rows: resources,
    fields: ["timestamp"],
    texts: ["k8s.resource.name", "none"],
    names: labels.kubernetes_resources,
  },
  { rows: profiles, fields: ["timestamp"], texts: ["service", "type", "body"], names: labels.profiles },
];

const overRows: Texts = fc.oneof(
  ...rowSignals.map(({ rows: plainRows, fields, texts, names }) => {
    const rows = withTimes(plainRows);
    const grouped = arbitraryGrouping(names, ["by"]);
    const content = (...parts: Texts[]) => fc.tuple(...parts).map((all) => all.join(", "));
    const mostlyNumbers = fc.oneof({ weight: 9, arbitrary: oneOf(...fields) }, oneOf(...texts));
    return fc.oneof(
      arbitraryCall(oneOf("count"), rows, grouped),
      arbitraryCall(oneOf("sum", "avg", "min", "max", "stddev"), content(mostlyNumbers, rows), grouped),
      arbitraryCall(oneOf("count_distinct"), content(oneOf(...texts, ...fields), rows), grouped),
      arbitraryCall(oneOf("quantile"), content(quantiles, mostlyNumbers, rows), grouped),
      arbitraryCall(
        oneOf("sum", "avg", "min", "max"),
        fc.tuple(oneOf("rate", "rate", "count_over_time"), rows).map(([name, inner]) => `${name}(${inner})`),
        grouped,
      ),
    );
  }),
  arbitraryCall(
    oneOf("trace_duration_quantile"),
    fc.tuple(quantiles, traces).map((all) => all.join(", ")),
    arbitraryGrouping(labels.traces, ["by"]),
  ),
);

const paths = ["spec.replicas", "spec.replicas", 'spec[\\"a.b\\"][0]', "status.conditions[1].n"];
/**
 * Without `min`, `max` and `quantile`: the reference does not say if they take each number or each resource's average.
 */
const overPaths: Texts = arbitraryCall(
  oneOf("sum", "avg", "count", "stddev"),
  fc
    .tuple(fc.constantFrom(...paths), withTimes(resources))
    .map(([path, rows]) => `json_path("${path}", ${rows})`),
  arbitraryGrouping(labels.kubernetes_resources, ["by"]),
);

const plainMetrics = metrics
  .filter(({ values, name }) => values !== "wild" && !name.includes(" "))
  .map(({ name }) => name);
const plainMetric = fc.oneof(
  {
    weight: 12,
    arbitrary: arbitraryBraces(oneOf(...plainMetrics), [
      'service="web"',
      'pod=~"a|b"',
      'pod!="a"',
      'service="*"',
      'pod!="*"',
      "code>=500",
      'le!~"1"',
    ]),
  },
  oneOf('{"odd metric"}', '{"odd metric", pod="a"}', "nothing"),
);
const metric = withTimes(plainMetric);
const ratedMetric = fc.oneof(
  { weight: 2, arbitrary: metric },
  {
    weight: 4,
    arbitrary: arbitraryWindowFunction(metric),
  },
  { weight: 1, arbitrary: metric.map((inner) => `rate(${inner})`) },
  { weight: 1, arbitrary: metric.map((inner) => `increase(${inner})`) },
);
const metricGrouping = arbitraryGrouping(labels.metrics, ["by", "without"]);
const overMetrics: Texts = fc.oneof(
  {
    weight: 6,
    arbitrary: arbitraryCall(
      oneOf("sum", "avg", "min", "max", "stddev", "count"),
      ratedMetric,
      metricGrouping,
    ),
  },
  {
    weight: 1,
    arbitrary: arbitraryCall(
      oneOf("quantile"),
      fc.tuple(quantiles, ratedMetric).map((all) => all.join(", ")),
      metricGrouping,
    ),
  },
  {
    weight: 1,
    arbitrary: arbitraryCall(
      oneOf("count_distinct"),
      fc.tuple(oneOf("pod", "service", "none"), metric).map((all) => all.join(", ")),
      metricGrouping,
    ),
  },
  // `heat` has infinite values: only aggregations whose result does not depend on the order of adding.
  {
    weight: 1,
    arbitrary: arbitraryCall(
      oneOf("sum", "min", "max", "count"),
      oneOf("heat"),
      arbitraryGrouping(["pod"], ["by"]),
    ),
  },
);

const bucketQuantiles = oneOf("0.1", "0.5", "0.9", "0.99", "1");
const bounded = withTimes(
  arbitraryBraces(oneOf("lat_bucket", "odd_bucket"), ['service="web"', 'service!="db"', 'le!="0.5"']),
);
const histogramInner = fc.oneof(
  bounded,
  bounded.map((inner) => `rate(${inner})`),
  bounded.map((inner) => `increase(${inner})`),
  arbitraryCall(
    oneOf("sum", "avg"),
    fc.oneof(
      bounded,
      bounded.map((inner) => `rate(${inner})`),
    ),
    oneOf("by (le)", "by (le, service)", "without (none)"),
  ),
);
const histograms: Texts = arbitraryCall(
  oneOf("histogram_quantile"),
  fc.tuple(bucketQuantiles, histogramInner).map((all) => all.join(", ")),
  oneOf("", "", "by (service)", "without ()", "by (le)"),
);

const numbers = oneOf("0", "1", "2", "0.5", "1e2", "3");
const arithmetic = ["+", "-", "*", "/", "%"];
const comparisons = ["==", "!=", ">", ">=", "<", "<="];
const comparing = fc
  .tuple(fc.constantFrom(...comparisons), oneOf("", "", " bool"))
  .map((parts) => parts.join(""));
const connecting = fc.oneof(oneOf(...arithmetic), comparing);

const simple = fc.oneof(
  { weight: 5, arbitrary: overRows },
  { weight: 1, arbitrary: overPaths },
  { weight: 5, arbitrary: overMetrics },
  { weight: 1, arbitrary: histograms },
);
const anyGrouping = arbitraryGrouping(["service", "pod", "log_level", "code"], ["by", "without"]);
/** Operations within an aggregation. */
const inAggregation: Texts = fc.oneof(
  fc
    .tuple(metric, fc.oneof(connecting, oneOf("and", "or", "unless", "default")), metric)
    .map((parts) => parts.join(" ")),
  fc.tuple(ratedMetric, connecting, numbers).map((parts) => parts.join(" ")),
  fc.tuple(simple, fc.oneof(connecting, oneOf("default")), numbers).map((parts) => parts.join(" ")),
  ratedMetric.map((inner) => `-${inner}`),
  arbitraryFunction(ratedMetric),
);
const nested: Texts = fc.oneof(
  arbitraryCall(oneOf("sum", "avg", "min", "max", "count"), inAggregation, anyGrouping),
  arbitraryCall(
    oneOf("topk", "bottomk"),
    fc.tuple(oneOf("1", "2"), inAggregation).map((all) => all.join(", ")),
    anyGrouping,
  ),
  arbitraryCall(oneOf("sum", "avg", "min", "max", "stddev", "count"), simple, anyGrouping),
  arbitraryCall(
    oneOf("quantile"),
    fc.tuple(quantiles, simple).map((all) => all.join(", ")),
    anyGrouping,
  ),
  arbitraryCall(
    oneOf("count_distinct"),
    fc.tuple(oneOf("service", "pod", "log_level"), simple).map((all) => all.join(", ")),
    anyGrouping,
  ),
  arbitraryCall(
    oneOf("topk", "bottomk"),
    fc.tuple(oneOf("1", "2", "3"), simple).map((all) => all.join(", ")),
    anyGrouping,
  ),
);
const absent: Texts = fc.oneof(withTimes(logs), metric).map((inner) => `absent(${inner})`);
const aggregates = fc.oneof(
  { weight: 8, arbitrary: simple },
  { weight: 4, arbitrary: nested },
  { weight: 3, arbitrary: arbitraryFunction(simple) },
  { weight: 1, arbitrary: absent },
);

const matching = oneOf(
  "",
  "",
  "",
  " on (service)",
  " ignoring (service)",
  " on ()",
  " ignoring (pod, log_level)",
);

/** A binary operation whose operands have the same grouping, so that their series often match. */
const alike: Texts = fc
  .tuple(
    oneOf("service", "pod", "service, pod"),
    fc.tuple(oneOf(...countables()), oneOf(...countables())),
    fc.oneof(connecting, oneOf("and", "or", "unless", "default")),
    oneOf("", "", " on (service)", " ignoring (pod)"),
  )
  .map(
    ([by, [left, right], op, match]) =>
      `${left} by (${by}) ${op}${op === "default" ? "" : match} ${right} by (${by})`,
  );

function countables(): string[] {
  return [
    "count(logs)",
    'count(logs{log_level="error"})',
    'count(logs |= "GET")',
    "sum(cpu)",
    "sum(requests_total)",
    "sum(jobs)",
    "max(ms, logs)",
  ];
}

const combined: Texts = fc.oneof(
  alike,
  fc.tuple(aggregates, connecting, numbers).map((parts) => parts.join(" ")),
  fc.tuple(numbers, connecting, aggregates).map((parts) => parts.join(" ")),
  fc.tuple(aggregates, oneOf("default"), oneOf("0", "1.5", "-2")).map((parts) => parts.join(" ")),
  fc
    .tuple(aggregates, connecting, matching, oneOf(...countables()))
    .map(([left, op, match, right]) => `${left} ${op}${match} ${right}`),
  fc
    .tuple(oneOf(...countables()), connecting, matching, aggregates)
    .map(([left, op, match, right]) => `${left} ${op}${match} ${right}`),
  fc
    .tuple(aggregates, oneOf("and", "or", "unless"), matching, aggregates)
    .map(([left, op, match, right]) => `${left} ${op}${match} ${right}`),
  aggregates.map((one) => `-${one}`),
);
/** Chains of operators without brackets, which test precedence. Their series always exist. */
const chain: Texts = fc
  .array(
    fc.tuple(
      oneOf(...arithmetic, "^", "> bool", "==", "and", "or", "unless", "default"),
      oneOf("2", "3", "count(logs)", "-count(logs)", "sum(cpu)", "-1"),
    ),
    {
      minLength: 2,
      maxLength: 4,
    },
  )
  .map((links) => `count(logs) ${links.flat().join(" ")}`);
const deep: Texts = fc
  .tuple(fc.oneof(combined, aggregates), connecting, fc.oneof(combined, aggregates, numbers))
  .map(([left, op, right]) => `(${left}) ${op} (${right})`);

/** Queries that are refused, whatever the data. */
const refused: Texts = fc.oneof(
  oneOf(
    "logs",
    "cpu",
    "rate(requests_total)",
    "1 + 2",
    "1 < 2",
    "sum(logs)",
    "count(ms, logs)",
    "quantile(1.5, ms, logs)",
    "quantile(0.5, logs)",
    "sum(increase(logs))",
    "count(logs) without (service)",
    "trace_duration_quantile(0.5, logs)",
    "histogram_quantile(0.5, sum(lat_bucket) by (service))",
    "topk(0, count(logs) by (service))",
    "topk(1.5, count(logs) by (service))",
    'sum(json_path("spec", logs))',
    "count(logs) and 1",
    "sum(cpu) + $x",
    "count(logs) +",
    "count(logs",
    'count(logs{service=~"("})',
    "sum(ms, cpu)",
    "count_distinct(cpu)",
    "sum(3)",
    "sum(logs + 1)",
    "sum(rate(logs[5m]) * 2)",
    "sum(max_over_time(logs[5m]))",
    "sum(delta(logs[5m]))",
    "sum(quantile_over_time(cpu[5m]))",
    "sum(quantile_over_time(2, cpu[5m]))",
    "sum(predict_linear(cpu[5m]))",
    "sum(predict_linear(cpu[5m], sum(cpu)))",
    "sum(deriv(cpu[5m], 1))",
    "abs(cpu)",
    "sort(requests_total)",
    "abs(3)",
    "clamp(count(logs), 2, 1)",
    "clamp(count(logs), 2)",
    "clamp_min(count(logs), count(logs))",
    'label_replace(count(logs) by (service), "a", "$2", "service", "(.*)")',
    "absent(1)",
  ),
  aggregates.map((one) => `${one} / logs`),
);

export const arbitraryQuery: Texts = fc.oneof(
  { weight: 8, arbitrary: aggregates },
  { weight: 8, arbitrary: combined },
  { weight: 2, arbitrary: chain },
  { weight: 2, arbitrary: deep },
  { weight: 1, arbitrary: refused },
);

/** Ranges begin and end within buckets, and some exceed the data. Most are long, so that they hold data. */
export const arbitraryRange: fc.Arbitrary<BucketedRange> = fc
  .tuple(
    fc.noBias(fc.integer({ min: -600_000, max: spanMs * 0.6 })),
    fc.oneof(
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 600_000 }) },
      { weight: 6, arbitrary: fc.noBias(fc.integer({ min: 1_200_000, max: spanMs })) },
    ),
    fc.constantFrom(7, 60, 97, 300, 600, 3_600, 86_400),
    fc.boolean(),
  )
  .map(([from, length, bucketSeconds, isRound]) => {
    if (!isRound) return { startMs: baseMs + from, endMs: baseMs + from + length, bucketSeconds };
    const [first, minutes] = [Math.floor(from / 60_000), Math.floor(length / 60_000) + 1];
    return {
      startMs: baseMs + first * 60_000,
      endMs: baseMs + (first + minutes) * 60_000 - 1,
      bucketSeconds,
    };
  });
