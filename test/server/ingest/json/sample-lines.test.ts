/**
 * The reader of metric rows in WebAssembly, whose series are kept from body to body, against JSON.parse row by row into a
 * batch that keeps its series apart, mostly for one body: the batches are equal byte for byte.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeBody } from "../../../../server/index.ts";
import type { BodyTask } from "../../../../server/ingest/decode-task.ts";
import { RowProblem } from "../../../../server/ingest/json/json-row.ts";
import { readMetricRow } from "../../../../server/ingest/json/metric-row.ts";
import { shareJson } from "../../../../server/ingest/shared-memory-json.ts";
import { scaled } from "../../../durability/campaign.ts";
import { randomOf } from "../../control/random.ts";
import { arrivalMs, makeBuilderApart, makeSampleTask } from "../metrics/kept-series.ts";
import { shareRandomRules } from "../naive-rules.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const times = [
  "1763000000123",
  "1763000000124",
  "1762991999999",
  "1762992000000",
  "1763000003124",
  "1763078400000",
  "0",
  "007",
  "1.5",
  '"1763000000123000001"',
  "1e3",
  "-5",
  "null",
];
const values = [
  "1",
  "0",
  "-0",
  "-2.5",
  "0.000001",
  "0.0000001",
  "4.35",
  "123456789012.345",
  "0.1234567890123456",
  "-98765432109.8765",
  "00.5",
  "1e300",
  "12345678901234567890",
  '"NaN"',
  "NaN",
  "+1",
  "1.",
  "",
  "null",
];
const member = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('"name":"cpu"', '"name":"requests_total"', '"name":"\\u0063pu"') },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '"type":"counter"',
      '"type":"gauge"',
      '"unit":"s"',
      '"unit":""',
      '"unit":"By"',
    ),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      ...['"labels":{"pod":"a"}', '"labels":{"pod":"b","value":5}', '"labels" : {"a":"}\\"","b":["]"]}'],
      ...['"labels":{"tier":"gold","environment":"own"}', '"service.name":"/k8s/shop/cart"'],
      ...['"pod":"a"', '"n":[1,{"value":2}]', '"nested":{"timestamp":1}'],
    ),
  },
  { weight: 6, arbitrary: fc.constantFrom(...times.slice(0, 2)).map((time) => `"timestamp":${time}`) },
  { weight: 1, arbitrary: fc.constantFrom(...times).map((time) => `"timestamp": ${time}`) },
  { weight: 1, arbitrary: fc.constantFrom(...times).map((time) => `"timeUnixNano":${time}`) },
  { weight: 6, arbitrary: fc.constantFrom(...values.slice(0, 5)).map((value) => `"value":${value}`) },
  { weight: 1, arbitrary: fc.constantFrom(...values).map((value) => `"value" :${value}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '"bounds":[1]',
      '"type":"histogram","counts":[1,2],"bounds":[5]',
      "broken",
      "",
    ),
  },
);
/** Few distinct rows, so that many name a series again. */
const body = fc
  .array(fc.array(member, { minLength: 2, maxLength: 6 }), { minLength: 1, maxLength: 6 })
  .chain((shapes) =>
    fc.array(fc.tuple(fc.constantFrom(...shapes), fc.constantFrom(...values.slice(0, 6)), fc.boolean()), {
      maxLength: 25,
    }),
  )
  .map((rows) =>
    rows.map(([members, value, isOrdered]) => {
      const all = isOrdered
        ? [...members.filter((each) => !each.startsWith('"value"')), `"value":${value}`]
        : members;
      return `{${all.join(",")}}`;
    }),
  );

const ruleSets = [shareJson([]), ...shareRandomRules(seed)];
const admission = fc.record({
  settings: fc.record({
    acceptPastMs: fc.constantFrom(undefined, 1_000, 400 * 86_400_000),
    acceptFutureMs: fc.constantFrom(undefined, 2_000, 86_400_000_000),
    clockSkewMs: fc.constantFrom(undefined, 1_000),
  }),
  environment: fc.constantFrom(null, "main", "prod"),
  rules: fc.constantFrom(...ruleSets),
});

/** Expects the batch of a body to be that of its lines, each parsed by itself. Returns its rows. */
function checkBody(
  lines: readonly string[],
  isArray: boolean,
  seriesMax: number,
  settings: BodyTask["admission"] | undefined,
): number {
  const text = isArray ? `[${lines.join(",")}]` : lines.join("\n");
  const more = settings === undefined ? {} : { admission: settings };
  const task = makeSampleTask({ format: "json lines", body: Buffer.from(text), seriesMax, more });
  const builder = makeBuilderApart(task, seriesMax);
  const refused: { line: number; reason: string }[] = [];
  for (const [i, line] of lines.entries()) {
    if (line === "") continue;
    try {
      for (const sample of readMetricRow(line, BigInt(arrivalMs) * 1_000_000n).samples) {
        const reason = builder.addSample(sample);
        if (reason === undefined) continue;
        refused.push({ line: i + 1, reason });
        break;
      }
    } catch (problem) {
      if (!(problem instanceof RowProblem)) throw problem;
      refused.push({ line: i + 1, reason: problem.message });
    }
  }
  const decoded = decodeBody(task);
  if (!decoded.ok) throw new Error(decoded.message);
  const expected = builder.finish();
  expect(decoded.refused).toEqual(refused);
  expect(decoded.admissionCounts).toEqual(builder.counts);
  expect(decoded.batch.rows).toBe(expected.rows);
  expect(Buffer.from(decoded.batch.bytes).equals(Buffer.from(expected.bytes))).toBe(true);
  return expected.rows;
}

test(`metric rows, valid or broken, give the same batch as JSON.parse (SVC_SEED=${seed})`, () => {
  const bodies = scaled(450, 50_000);
  let known = 0;
  fc.assert(
    fc.property(body, (lines) => {
      known += checkBody(lines, false, 500, undefined);
    }),
    { seed, numRuns: bodies },
  );
  expect(known).toBeGreaterThan(bodies);
});

test("so do rows under rules, stamps and bounds, and with more series than are taken", () => {
  fc.assert(
    fc.property(body, admission, fc.constantFrom(2, 500), (lines, settings, seriesMax) => {
      checkBody(lines, false, seriesMax, settings);
    }),
    { seed, numRuns: scaled(450, 50_000) },
  );
});

test("so do elements of an array", () => {
  fc.assert(
    fc.property(body, (lines) => {
      const whole = lines.filter(isJson);
      if (whole.length > 0) checkBody(whole, true, 500, undefined);
    }),
    { seed, numRuns: scaled(200, 10_000) },
  );
});

test("many series on several days give the same batches, one after the other", () => {
  const random = randomOf(seed);
  const below = (most: number) => Math.floor(random() * most);
  for (let run = 0; run < scaled(4, 100); run++) {
    const [series, days] = [1 + below(1_000), 1 + below(3)];
    const lines = Array.from({ length: 1 + below(40_000) }, () => {
      const labels = { pod: `p${below(series)}`, größe: "ü".repeat(below(4)), empty: "" };
      const timestamp = arrivalMs - below(days) * 86_400_000 - below(5_000);
      const value = below(4) === 0 ? random() : below(1_000) / 8;
      return JSON.stringify({
        timestamp,
        name: `n${below(3)}`,
        type: "counter",
        unit: "s".repeat(below(3)),
        labels,
        value,
      });
    });
    checkBody(lines, false, 15_000, undefined);
  }
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
