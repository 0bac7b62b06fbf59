/** Random rows of every signal and random samples, of few names and values, so that queries often match. */
import fc from "fast-check";
import { baseMs } from "./cases.ts";
import type { NaiveRow, NaiveSample, TelemetryData } from "./naive/data.ts";

/**
 * The data span an hour before and after midnight. Samples begin an hour earlier, as increases need earlier samples.
 */
export const spanMs = 2 * 3_600_000;
const leadMs = 3_600_000;

const service = fc.constantFrom("web", "pay", "db", "Web");
const level = fc.constantFrom("", "error", "ERROR", "Info", "warn");
const number = fc.constantFrom("12", "7.25", "-3", "1e2", "0.5", "05", "12.0", "abc", "", "0x10", "NaN");
const line = fc.constantFrom(
  "GET /cart 200",
  "GET /pay 502",
  "connection refused",
  "took=250 path=/a status=500",
  "took=8 wait=25ms size=1.5KiB",
  "wait=1.5s500us size=2KB",
  '{"took": 7, "user": {"id": "u1"}, "status": "404"}',
  '{"took": "8.5", "user": {"id": "u2"}}',
  "",
);

const time = fc
  .bigInt({ min: 0n, max: BigInt(spanMs) * 1_000_000n - 1n })
  .map((ns) => BigInt(baseMs) * 1_000_000n + ns);

const attributes = (model: Record<string, fc.Arbitrary<string>>) =>
  fc
    .record(model, { requiredKeys: [] })
    .map((found) => Object.fromEntries(Object.entries(found).map(([name, text]) => [name, text ?? ""])));

const logRow: fc.Arbitrary<NaiveRow> = fc.record({
  timeNs: time,
  level,
  message: line,
  attributes: attributes({
    service,
    status: fc.constantFrom("200", "404", "500", "502", "", "5e2"),
    ms: number,
    pod: fc.constantFrom("a", "b"),
  }),
});

const span: fc.Arbitrary<NaiveRow> = fc
  .tuple(
    time,
    attributes({
      service,
      kind: fc.constantFrom("server", "client", "internal"),
      status_code: fc.constantFrom("ok", "error", "unset"),
      parent_span_id: fc.constantFrom("00f067aa0ba902b7", "53995c3f42cd8ad8"),
      "http.status": fc.constantFrom("200", "500"),
      level: fc.constantFrom("x"),
    }),
    fc.constantFrom("GET /", "POST /pay", "SELECT", "select"),
    fc.constantFrom(
      "4bf92f3577b34da6a3ce929d0e0e4736",
      "6f3cbf058c2765548a39ad724905d6a1",
      "0af7651916cd43dd8448eb211c80319c",
    ),
    fc.oneof(
      fc.integer({ min: 0, max: 4_000 }),
      fc.integer({ min: 1, max: 9_999_999 }).map((ns) => ns / 1e6),
    ),
  )
  .map(([timeNs, own, name, trace_id, duration]) => ({
    timeNs,
    level: "",
    message: "",
    attributes: { ...own, name, trace_id, duration_ms: String(duration) },
  }));

const body = fc
  .record(
    {
      spec: fc.record(
        {
          replicas: fc.integer({ min: 0, max: 9 }),
          "a.b": fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 2 }),
        },
        { requiredKeys: [] },
      ),
      status: fc.record({
        conditions: fc.array(fc.record({ n: fc.constantFrom(1, 2.5, -4) }), { maxLength: 2 }),
      }),
      kind: fc.constant("Deployment"),
    },
    { requiredKeys: [] },
  )
  .map((object) => JSON.stringify(object));

const resource: fc.Arbitrary<NaiveRow> = fc.record({
  timeNs: time,
  level: fc.constant(""),
  message: fc.oneof({ weight: 9, arbitrary: body }, fc.constantFrom("no json", "[3]", "null")),
  attributes: attributes({
    "k8s.cluster.name": fc.constantFrom("c1", "c2"),
    "k8s.namespace.name": fc.constantFrom("shop", "infra"),
    "k8s.resource.kind": fc.constant("Deployment"),
    "k8s.resource.name": fc.constantFrom("cart", "web"),
  }),
});

const profile: fc.Arbitrary<NaiveRow> = fc.record({
  timeNs: time,
  level: fc.constant(""),
  message: fc.constantFrom("cpu 1", "heap 2", ""),
  attributes: attributes({ type: fc.constantFrom("cpu", "heap"), service }),
});

/** A metric: how its values develop, and the labels of its series. */
interface Metric {
  name: string;
  type: NaiveSample["type"];
  labels: Record<string, string>[];
  values: "level" | "wild" | "count" | "portion";
}

const pods = (["a", "b", "c"] as const).flatMap((pod) => [
  { pod, service: "web" },
  { pod, service: "pay" },
]);
const bounds = (les: string[], more: Record<string, string>) => les.map((le) => ({ le, ...more }));

export const metrics: Metric[] = [
  { name: "cpu", type: "gauge", labels: pods, values: "level" },
  { name: "odd metric", type: "unknown", labels: [{ pod: "a" }, { service: "web" }, {}], values: "level" },
  { name: "heat", type: "gauge", labels: pods.slice(0, 3), values: "wild" },
  { name: "disk_total", type: "gauge", labels: pods.slice(0, 2), values: "level" },
  {
    name: "requests_total",
    type: "unknown",
    labels: pods.map((each, i) => ({ ...each, code: i % 2 === 0 ? "200" : "500" })),
    values: "count",
  },
  { name: "jobs", type: "counter", labels: [{ service: "web" }, { service: "pay" }], values: "count" },
  { name: "bytes", type: "delta", labels: pods.slice(0, 3), values: "portion" },
  {
    name: "lat_bucket",
    type: "counter",
    labels: [
      ...bounds(["0.1", "0.5", "1", "+Inf"], { service: "web" }),
      ...bounds(["0.1", "0.5", "1", "+Inf"], { service: "pay" }),
    ],
    values: "count",
  },
  {
    name: "odd_bucket",
    type: "unknown",
    labels: [
      ...bounds(["-1", "0", "2e-1", "0.2", ".5", "Inf"], { service: "web" }),
      ...bounds(["1", "5"], { service: "pay" }),
      ...bounds(["1", "many", "+Inf"], { service: "db" }),
    ],
    values: "count",
  },
];

/**
 * Milliseconds to the next sample: mostly some minutes or less, rarely about an hour, which is the limit of increases.
 */
const gap = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(15_000, 30_000, 60_000) },
  { weight: 60, arbitrary: fc.integer({ min: 1_000, max: 400_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(3_600_000, 3_600_001, 3_599_999, 5_000_000) },
);

const steps: Record<Metric["values"], fc.Arbitrary<number>> = {
  level: fc.integer({ min: -40, max: 400 }).map((quarters) => quarters / 4),
  wild: fc.oneof(
    fc.integer({ min: -9, max: 9 }),
    fc.constantFrom(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  ),
  count: fc.integer({ min: 0, max: 20 }),
  portion: fc.integer({ min: 0, max: 20 }),
};

/** One in eleven samples is special: NaN, followed by one of the same time, or a reset. */
const arbitraryAccident = fc.constantFrom(
  "nan",
  "again",
  "reset",
  ...Array.from({ length: 30 }, () => "none"),
);

function series(
  metric: Metric,
  labels: Record<string, string>,
): fc.Arbitrary<Omit<NaiveSample, "arrival">[]> {
  return fc
    .array(fc.tuple(gap, steps[metric.values], arbitraryAccident), { minLength: 40, maxLength: 80 })
    .map((moves) => {
      let atMs = baseMs - leadMs;
      let total = 0;
      return moves.flatMap(([gapMs, step, what]) => {
        atMs += gapMs;
        if (what === "reset") total = 0;
        total = metric.values === "count" ? total + step : step;
        const sample = {
          timeNs: BigInt(atMs) * 1_000_000n,
          name: metric.name,
          type: metric.type,
          labels,
          value: total,
        };
        if (what === "nan") return [{ ...sample, value: Number.NaN }];
        return what === "again" ? [sample, { ...sample, value: total + 5 }] : [sample];
      });
    });
}

/** The samples of all series in the order of arrival. About one in nine is late. */
const samples: fc.Arbitrary<NaiveSample[]> = fc
  .tuple(...metrics.flatMap((metric) => metric.labels.map((labels) => series(metric, labels))))
  .chain((all) => {
    const flat = all.flat();
    return fc
      .array(fc.nat({ max: 1_000_000 }), { minLength: flat.length, maxLength: flat.length })
      .map((lots) =>
        flat
          .map((sample, index) => ({
            sample,
            due: Number(sample.timeNs / 1_000_000n) + (lots[index]! % 9 === 0 ? lots[index]! : 0),
          }))
          .sort((a, b) => a.due - b.due)
          .map(({ sample }, arrival) => ({ ...sample, arrival })),
      );
  });

const rows = (row: fc.Arbitrary<NaiveRow>, count: number) =>
  fc.array(row, { minLength: count, maxLength: count });

export const arbitraryData: fc.Arbitrary<TelemetryData> = fc.record({
  rows: fc.record({
    logs: rows(logRow, 300),
    traces: rows(span, 200),
    kubernetes_resources: rows(resource, 100),
    profiles: rows(profile, 60),
  }),
  samples,
});
