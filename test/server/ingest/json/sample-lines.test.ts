/** The fast reader of metric rows against the general one, row by row with JSON.parse: the batches are equal byte for byte. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeSampleBatch, type Sample } from "../../../../engine/index.ts";
import { decodeBody } from "../../../../server/index.ts";
import { RowProblem } from "../../../../server/ingest/json/json-row.ts";
import { readMetricRow } from "../../../../server/ingest/json/metric-row.ts";
import { makePlainTask } from "../decode-task.ts";
import { arrivalMs } from "./json-bodies.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const emptySet = (length: number) => new BigInt64Array(new SharedArrayBuffer(length * 8));
const emptyDay = (day: number) => ({
  day,
  slots: emptySet(1_024),
  counts: new Int32Array(new SharedArrayBuffer(8)),
});
const makeCensus = () => ({
  seriesMax: 500,
  today: emptyDay(1),
  yesterday: emptyDay(0),
  starts: emptySet(1_024),
});

const times = [
  "1763000000123",
  "1763000000124",
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
  { weight: 5, arbitrary: fc.constantFrom('"name":"cpu"', '"name":"mem"', '"name":"\\u0063pu"') },
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

test(`metric rows, valid or broken, give the same batch as JSON.parse (SVC_SEED=${seed})`, () => {
  let known = 0;
  fc.assert(
    fc.property(body, (lines) => {
      const samples: Sample[] = [];
      const refused: { line: number; reason: string }[] = [];
      for (const [i, line] of lines.entries()) {
        try {
          const read = readMetricRow(line, BigInt(arrivalMs) * 1_000_000n);
          const [bad] = encodeSampleBatch(read.samples, { nowMs: arrivalMs }).refused;
          samples.push(...read.samples);
          if (bad !== undefined) refused.push({ line: i + 1, reason: bad.reason });
        } catch (problem) {
          if (!(problem instanceof RowProblem)) throw problem;
          refused.push({ line: i + 1, reason: problem.message });
        }
      }
      const decoded = decodeBody({
        ...makePlainTask(Buffer.from(lines.join("\n"))),
        content: { signal: "metrics", activeSeries: makeCensus() },
        ...{ format: "json lines", arrivalMs },
      });
      if (!decoded.ok) throw new Error(decoded.message);
      const expected = encodeSampleBatch(samples, { nowMs: arrivalMs });
      known += expected.rows;
      expect(decoded.refused).toEqual(refused);
      expect(decoded.batch.rows).toBe(expected.rows);
      expect(Buffer.from(decoded.batch.bytes).equals(Buffer.from(expected.bytes))).toBe(true);
    }),
    { seed, numRuns: 3_000 },
  );
  expect(known).toBeGreaterThan(3_000);
});
