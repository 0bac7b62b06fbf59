/** Remote write as it is read from bytes, against the samples that the bytes were made of: the batches are equal byte for byte. */
import fc from "fast-check";
import protobuf from "protobufjs";
import { expect, test } from "vitest";
import type { MetricType, Sample } from "../../../../engine/index.ts";
import { Families } from "../../../../server/ingest/prometheus/families.ts";
import { checkSamples } from "./kept-series.ts";
import { field } from "./wire-field.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const nowMs = 1_763_000_000_000;

const names = ["up", "http_total", "http_count", "größe", ""];
const label = fc.record({
  name: fc.constantFrom("job", "pod", "zone"),
  value: fc.constantFrom("a", "b", "ü", "x".repeat(200), ""),
});
const sample = fc.record({
  value: fc.constantFrom(0, 1.5, -3, Number.NaN, Number.POSITIVE_INFINITY),
  timestamp: fc.constantFrom(nowMs, nowMs + 1, nowMs - 86_400_000, -5, 0, 1, 2 ** 60),
  startTimestamp: fc.constantFrom(0, 0, nowMs - 1_000, nowMs),
});
const series = fc.record({
  name: fc.constantFrom(...names),
  labels: fc.array(label, { maxLength: 4 }),
  samples: fc.array(sample, { maxLength: 3 }),
  /** Which fields the bytes have in another order than usual, or besides. */
  order: fc.constantFrom(
    "usual",
    "usual",
    "usual",
    "samples first",
    "labels apart",
    "with exemplar",
    "unknown field",
  ),
  created: fc.constantFrom(0, 0, nowMs - 2_000),
  type: fc.constantFrom(undefined, 0, 1, 2, 5),
  unit: fc.constantFrom("", "seconds"),
});
/** Few distinct series, so that many are met again. */
const request = fc
  .array(series, { minLength: 1, maxLength: 4 })
  .chain((some) =>
    fc.array(fc.tuple(fc.constantFrom(...some), fc.array(sample, { maxLength: 3 })), { maxLength: 12 }),
  )
  .map((list) => list.map(([each, samples]) => ({ ...each, samples })));
type Sent = (typeof series extends fc.Arbitrary<infer T> ? T : never)[];

const familyTypes = [1, 2, 3];
const metadata = fc.array(
  fc.record({
    type: fc.constantFrom(...familyTypes),
    metricFamilyName: fc.constantFrom("up", "http"),
    unit: fc.constantFrom("", "bytes"),
  }),
  { maxLength: 2 },
);

function sampleBytes({ value, timestamp, startTimestamp }: Sent[number]["samples"][number]): Buffer {
  const writer = protobuf.Writer.create().uint32(0x09).double(value);
  if (timestamp !== 0) writer.uint32(0x10).int64(timestamp);
  if (startTimestamp !== 0) writer.uint32(0x18).int64(startTimestamp);
  return Buffer.from(writer.finish());
}

const exemplar = (number: number) => field(number, field(1, "x"));

/** The fields of a series in the order that is asked for. */
function inOrder(
  { order, samples }: Sent[number],
  labels: readonly Buffer[],
  exemplarField: number,
): Buffer[] {
  const all = samples.map((each) => field(2, sampleBytes(each)));
  switch (order) {
    case "samples first":
      return [...all, ...labels];
    case "labels apart":
      return [...labels.slice(0, 1), ...all, ...labels.slice(1)];
    case "with exemplar":
      return [...labels, exemplar(exemplarField), ...all];
    case "unknown field":
      return [...labels, ...all, Buffer.from([0x78, 0x05])];
    default:
      return [...labels, ...all];
  }
}

const types: readonly MetricType[] = ["unknown", "counter", "gauge", "counter", "gauge", "counter"];

/** The type of a series; those of a summary that are no sums and counts are quantiles. */
function typeOf(name: string, type: number): MetricType {
  return type === 5 && !/_(?:bucket|count|sum|total|created)$/.test(name) ? "gauge" : types[type]!;
}

function toSamples(sent: Sent[number], own: Pick<Sample, "type" | "unit">, created: number): Sample[][] {
  const labels = Object.fromEntries(sent.labels.map(({ name, value }) => [name, value]));
  return sent.samples.map(({ value, timestamp, startTimestamp }) => {
    const begun = startTimestamp > 0 ? startTimestamp : created;
    const start = begun > 0 ? { startNs: BigInt(begun) * 1_000_000n } : {};
    return [{ name: sent.name, ...own, labels, timeNs: BigInt(timestamp) * 1_000_000n, value, ...start }];
  });
}

test(`version 1.0 (SVC_SEED=${seed})`, () => {
  let rows = 0;
  fc.assert(
    fc.property(request, metadata, metadata, (sent, inBody, earlier) => {
      const bodyFields = sent.map((each) => {
        const pairs = [{ name: "__name__", value: each.name }, ...each.labels];
        return field(
          1,
          Buffer.concat(
            inOrder(
              each,
              pairs.map(({ name, value }) => field(1, Buffer.concat([field(1, name), field(2, value)]))),
              3,
            ),
          ),
        );
      });
      const metadataFields = inBody.map(({ type, metricFamilyName, unit }) =>
        field(3, Buffer.concat([Buffer.from([0x08, type]), field(2, metricFamilyName), field(5, unit)])),
      );
      const families = new Families(() => 0);
      families.add(
        "",
        earlier.map(({ type, metricFamilyName: name, unit }) => ({ type, name, unit })),
      );
      const familyOf = (name: string) =>
        inBody.findLast((each) => each.metricFamilyName === name) ??
        earlier.findLast((each) => each.metricFamilyName === name);
      const points = sent.flatMap((each) => {
        const family =
          familyOf(each.name) ?? familyOf(each.name.replace(/_(?:bucket|count|sum|total|created)$/, ""));
        return toSamples(each, { type: typeOf(each.name, family?.type ?? 0), unit: family?.unit ?? "" }, 0);
      });
      const body = Buffer.concat([...bodyFields, ...metadataFields]);
      rows += checkSamples(
        { format: "remote write 1", body, seriesMax: 500, more: { families: families.shared } },
        points,
      );
    }),
    { seed, numRuns: 1_500 },
  );
  expect(rows).toBeGreaterThan(1_000);
});

test("version 2.0", () => {
  let rows = 0;
  fc.assert(
    fc.property(request, (sent) => {
      const symbols = [""];
      const refOf = (text: string) => {
        if (!symbols.includes(text)) symbols.push(text);
        return symbols.indexOf(text);
      };
      const bodyFields = sent.map((each) => {
        const refs = [{ name: "__name__", value: each.name }, ...each.labels].flatMap(({ name, value }) => [
          refOf(name),
          refOf(value),
        ]);
        const labels = field(1, Buffer.from(refs));
        const created =
          each.created > 0
            ? [Buffer.from(protobuf.Writer.create().uint32(0x30).int64(each.created).finish())]
            : [];
        const own =
          each.type === undefined ? [] : [field(5, Buffer.from([0x08, each.type, 0x20, refOf(each.unit)]))];
        return field(5, Buffer.concat([...inOrder(each, [labels], 4), ...own, ...created]));
      });
      const points = sent.flatMap((each) =>
        toSamples(
          each,
          { type: typeOf(each.name, each.type ?? 0), unit: each.type === undefined ? "" : each.unit },
          each.created,
        ),
      );
      const body = Buffer.concat([...bodyFields, ...symbols.map((symbol) => field(4, symbol))]);
      rows += checkSamples({ format: "remote write 2", body, seriesMax: 500 }, points);
    }),
    { seed, numRuns: 1_500 },
  );
  expect(rows).toBeGreaterThan(1_000);
});
