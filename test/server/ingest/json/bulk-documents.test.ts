/** Documents of Elasticsearch that are read from their bytes against those that are parsed. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Random } from "../../../../fixtures/random.ts";
import type { BodyTask } from "../../../../server/ingest/decode-task.ts";
import { readBulk } from "../../../../server/ingest/elasticsearch/decode.ts";
import { documentNames } from "../../../../server/ingest/elasticsearch/document.ts";
import { scaled } from "../../../durability/campaign.ts";
import { mutateBody } from "../body-mutation.ts";
import { makePlainTask } from "../decode-task.ts";
import { checkAgainstPlain } from "../twin-columns.ts";
import { anyAdmission, anyText, arrivalMs, key, linesOf, nested, object, quoted } from "./json-bodies.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

function makeTask(body: Uint8Array, more: Partial<BodyTask> = {}): BodyTask {
  return {
    ...({ content: { signal: "logs" }, format: "elasticsearch bulk", arrivalMs } as const),
    ...{ ...makePlainTask(body), index: "of the path", ...more },
  };
}

const date = new Date(arrivalMs - 5_000).toISOString();
const times = [
  ...[
    date,
    date.slice(0, -1),
    date.replace("T", " "),
    date.replace("Z", "+02:00"),
    date.replace("Z", "-0530"),
  ],
  ...[date.replace(".123", ",1"), date.replace(".123", ""), date.replace("123", "123456789"), `${date}x`],
  ...[
    "2025-02-29T00:00:00Z",
    "2024-02-29T23:59:59.999999999z",
    "1969-12-31T23:59:59Z",
    "1970-01-01T00:30:00+01:00",
  ],
  ...["2025-13-01T00:00:00Z", "2025-11-31T00:00:00Z", "2025-11-00T00:00:00Z", "2025-11-12T24:00:00Z"],
  ...["2025-11-12T23:60:00Z", "2025-11-12T23:00:60Z", "2025-11-12T23:00:00.Z", "2025-11-12T23:00:00+24:00"],
  ...["2025-11-12T23:00:00.1234567891Z", "2025-11-12", "yesterday", "", "007", "1762999995123", "1762999995"],
  ...["123456789012345", "1234567890123456", "9007199254740", "-5"],
];
const numberTimes = [
  "1762999995123",
  "1762999995123.5",
  "0",
  "123456789012345",
  "9007199254741",
  "-1",
  "1e12",
];
const time = fc.oneof(
  { weight: 6, arbitrary: quoted(fc.constantFrom(date, ...times)) },
  { weight: 2, arbitrary: fc.constantFrom(...numberTimes) },
  { weight: 1, arbitrary: nested },
);
const { workloads, ...ownNames } = documentNames;
const specialNames = [...Object.values(ownNames).flat(), ...workloads.flat(), "_id", "_index", "log"];
const serviceNames = ["cart", "unknown_service", "unknown_service:node", "unknown", ""];
const named = (names: readonly string[], value: fc.Arbitrary<string>) =>
  fc.tuple(
    fc.constantFrom(...names).map((name) => JSON.stringify(name)),
    value,
  );
const member = fc.oneof(
  { weight: 4, arbitrary: named(["@timestamp"], quoted(fc.constant(date))) },
  { weight: 2, arbitrary: named(documentNames.time, time) },
  { weight: 3, arbitrary: named(documentNames.message, quoted(anyText)) },
  { weight: 3, arbitrary: named(specialNames, quoted(anyText)) },
  { weight: 2, arbitrary: named(specialNames, nested) },
  { weight: 2, arbitrary: named(documentNames.service, quoted(fc.constantFrom(...serviceNames))) },
  {
    weight: 1,
    arbitrary: named(["log", "kubernetes", "fields", "@fields", ""], object(fc.tuple(key, nested), 4)),
  },
  { weight: 3, arbitrary: fc.tuple(key, nested) },
  // JavaScript puts such members first.
  { weight: 1, arbitrary: named(["1", "10", "01", "1a"], nested) },
);
const document = object(member, 8);
const actions = [
  '{"create":{}}',
  '{"index":{"_index":"logs"}}',
  '{"create":{"_index":"a\\"\\u00fc","_id":null}}',
  '{"index":{"_index":"\\ud800"}}',
  '{"index":{"_index":""}}',
  ' {"create":{}}\r',
  '{"create":{"_id":"x"}}',
  '{"create":{"_id":"y"}}',
  '{"index":{"_index":"logs","_id":7}}',
  '{"index":{"_id":"\\udfff"}}',
  `{"index":{"_id":"${"i".repeat(513)}"}}`,
  `{"index":{"_index":"${"i".repeat(700)}"}}`,
  '{"delete":{"_id":"x"}}',
  '{"update":{"_id":"x"}}',
];
const blankLines = ["", " \t\r", "\v", "\u00a0", "\u2028 "];
/** Mostly the action before once more. */
const action = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...actions.slice(0, 2)) },
  { weight: 3, arbitrary: fc.constantFrom(...actions) },
);
const pair = fc
  .record({
    action,
    document: linesOf(document.map((text) => Buffer.from(text))),
    blanks: fc.array(fc.tuple(fc.nat({ max: 3 }), fc.constantFrom(...blankLines)), { maxLength: 1 }),
    repeats: fc.nat({ max: 2 }),
  })
  .map(({ action: line, document: documents, blanks, repeats }) => {
    const all = documents.slice(0, 1 + repeats).flatMap((each) => [line, each.toString("utf8")]);
    for (const [place, blank] of blanks) all.splice(place, 0, blank);
    return all;
  });
const bodies = fc
  .tuple(fc.array(pair, { maxLength: 4 }), fc.boolean())
  .map(([pairs, ends]) => Buffer.from(pairs.flat().join("\n") + (ends ? "\n" : "")));

describe(`documents of a bulk body (SVC_SEED=${seed})`, () => {
  test("are the same rows, with the same answer, as where they are parsed", () => {
    fc.assert(
      fc.property(bodies, fc.constantFrom("", "logs"), fc.boolean(), (body, index, flattensJson) => {
        checkAgainstPlain(makeTask(body, { index, flattensJson }), readBulk);
      }),
      { seed, numRuns: scaled(600, 100_000) },
    );
  });

  test("are the same where there are rules, stamps and bounds", () => {
    fc.assert(
      fc.property(bodies, anyAdmission(seed), (body, admission) => {
        checkAgainstPlain(makeTask(body, { admission, storedDocuments: [1] }), readBulk);
      }),
      { seed, numRuns: scaled(450, 50_000) },
    );
  });

  test("are the same where the body is changed at random", () => {
    const random = new Random(seed);
    for (const body of fc.sample(bodies, { seed, numRuns: scaled(400, 50_000) }))
      checkAgainstPlain(makeTask(mutateBody(body, random)), readBulk);
  });

  test("have the same times, whatever their dates", () => {
    const random = new Random(seed);
    const zones = ["Z", "z", "", "+00:00", "-09:30", "+1245"];
    for (let run = 0; run < 300; run++) {
      const lines = Array.from({ length: 20 }, () => {
        const date = new Date(random.below(2 ** 31) * 1_100).toISOString();
        const fraction = random.pick(["", ".5", `.${random.below(1e9)}`, `,${random.below(1_000)}`]);
        const text = `${date.slice(0, 19)}${fraction}${random.pick(zones)}`;
        return `{"create":{}}\n${JSON.stringify({ "@timestamp": text, message: text })}\n`;
      });
      checkAgainstPlain(makeTask(Buffer.from(lines.join(""))), readBulk);
    }
  });

  test("are the same by the thousand, whatever their days, keys and values", () => {
    const random = new Random(seed);
    for (let run = 0; run < scaled(4, 150); run++) {
      const [days, keys, values] = [1 + random.below(5), 1 + random.below(300), 1 + random.below(2_000)];
      const lines = Array.from({ length: 1 + random.below(2_000) }, () => {
        const ms = arrivalMs - random.below(days) * 86_400_000 - random.below(5_000);
        const fields = Array.from({ length: random.below(9) }, () => [
          `key${random.below(keys)}`,
          "v".repeat(random.below(9)) + random.below(values),
        ]);
        const json = {
          "@timestamp": random.below(2) === 0 ? ms : new Date(ms).toISOString(),
          log: { level: random.pick(["info", "error", ""]) },
          kubernetes: { namespace: "shop", pod: { name: `cart-${random.below(3)}` } },
          [random.pick(["message", "log", "msg"])]: `line ${random.below(values)} "\u00fc"\n`,
          ...Object.fromEntries(fields),
        };
        return `${random.pick(actions.slice(0, 2))}\n${JSON.stringify(json)}\n`;
      });
      const decoded = checkAgainstPlain(makeTask(Buffer.from(lines.join(""))), readBulk);
      expect(decoded).toMatchObject({ ok: true, batch: { rows: lines.length } });
    }
  });
});
