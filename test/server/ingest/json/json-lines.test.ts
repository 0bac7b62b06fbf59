/**
 * The fast reader of log rows against the general one, row by row with JSON.parse: the batches are equal byte for byte.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BatchBuilder } from "../../../../engine/index.ts";
import { Random } from "../../../../fixtures/random.ts";
import { JsonLines } from "../../../../server/ingest/json/json-lines.ts";
import { LogForm } from "../../../../server/ingest/json/log-form.ts";
import { readLogRow } from "../../../../server/ingest/json/log-row.ts";
import { scaled } from "../../../durability/campaign.ts";
import {
  anyAdmission,
  anyText,
  arrivalMs,
  attributes,
  checkBody,
  joinBuffers,
  key,
  linesOf,
  nested,
  numbers,
  object,
  quoted,
} from "./json-bodies.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const logs = { signal: "logs", readRow: readLogRow } as const;

const times = [
  "1736121600026931318",
  "0",
  "007",
  "-5",
  "99999999999999999999",
  "123",
  "1736121600026",
  "1763086400123000000",
  "1763086400123000001",
  "1.5",
  "",
];
const timeMembers = fc.oneof(
  { weight: 8, arbitrary: fc.constant<[string, string]>(['"timeUnixNano"', '"1736121600026931318"']) },
  { weight: 4, arbitrary: fc.constant<[string, string]>(['"timestamp"', "1736121600026"]) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...times).map((time): [string, string] => ['"timeUnixNano"', `"${time}"`]),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...times).map((time): [string, string] => ['"timeUnixNano"', time]),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...times, ...numbers).map((time): [string, string] => ['"timestamp"', time]),
  },
);
const textMembers = (name: string) =>
  fc
    .oneof({ weight: 10, arbitrary: quoted(anyText) }, { weight: 1, arbitrary: nested })
    .map((value): [string, string] => [name, value]);
const member = fc.oneof(
  { weight: 4, arbitrary: timeMembers },
  { weight: 3, arbitrary: textMembers('"log_level"') },
  { weight: 3, arbitrary: textMembers('"message"') },
  { weight: 3, arbitrary: attributes.map((value): [string, string] => ['"attributes"', value]) },
  { weight: 1, arbitrary: nested.map((value): [string, string] => ['"attributes"', value]) },
  { weight: 2, arbitrary: fc.tuple(key, nested) },
);
const admission = anyAdmission(seed);
const row = object(member, 7).map((text) => Buffer.from(text, "utf8"));

describe(`the fast reader (SVC_SEED=${seed})`, () => {
  test("lines, valid or broken, give the same batch as JSON.parse", () => {
    const first = Buffer.from('{"message":"the first line is no array"}');
    fc.assert(
      fc.property(linesOf(row), fc.boolean(), (lines, ends) => {
        const pieces = [first, ...lines];
        checkBody(joinBuffers([...pieces, ...(ends ? [Buffer.alloc(0)] : [])], "\n"), pieces, logs);
      }),
      { seed, numRuns: scaled(600, 100_000) },
    );
  });

  test("lines give the same batch where there are rules, stamps and bounds", () => {
    fc.assert(
      fc.property(linesOf(row), admission, (lines, settings) => {
        const pieces = [Buffer.from('{"message":"the first line is no array"}'), ...lines];
        checkBody(joinBuffers(pieces, "\n"), pieces, { ...logs, admission: settings });
      }),
      { seed, numRuns: scaled(450, 50_000) },
    );
  });

  test("many rows give the same batch, whatever their days, keys and values", () => {
    const random = new Random(seed);
    for (let run = 0; run < scaled(6, 300); run++) {
      const rows = 1 + random.below(3_000);
      const [days, keys, values] = [1 + random.below(5), 1 + random.below(700), 1 + random.below(2_000)];
      const pieces = Array.from({ length: rows }, () => {
        const ms = arrivalMs - random.below(days) * 86_400_000 - random.below(5_000);
        const attributes = Array.from({ length: random.below(9) }, () => [
          `key${random.below(keys)}`,
          "v".repeat(random.below(9)) + random.below(values),
        ]);
        const text = `message ${random.below(values)} "\u00fc"\n`.repeat(random.below(4));
        const level = random.pick(["info", "error", ""]);
        const json = {
          timestamp: ms,
          log_level: level,
          message: text,
          attributes: Object.fromEntries(attributes),
        };
        return Buffer.from(JSON.stringify(json));
      });
      checkBody(joinBuffers(pieces, "\n"), pieces, logs);
    }
  });

  test("elements of an array give the same batch as JSON.parse", () => {
    const whole = row.filter((bytes) => isJson(bytes.toString()));
    fc.assert(
      fc.property(fc.array(whole, { minLength: 1, maxLength: 6 }), (elements) => {
        checkBody(
          Buffer.concat([Buffer.from("["), joinBuffers(elements, ","), Buffer.from("]")]),
          elements,
          logs,
        );
      }),
      { seed, numRuns: 500 },
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const makeReader = (body: Buffer, builder: BatchBuilder) =>
  new JsonLines(body, builder, (scanner) => new LogForm(scanner, { arrivalMs, untimedRows: 0, builder }));

describe("rows of the usual shape take the fast reader", () => {
  test.each([
    ['{"timeUnixNano":"1736121600026931318","log_level":"INFO","message":"a","attributes":{"b":"c"}}', 1],
    ['{ "timestamp" : 1736121600026, "message" : "a \\"b\\" \\u001b\\ud83d\\ude00", "attributes" : { } }', 0],
    ['{"message":"no time","attributes":{"status":200,"ok":true,"none":null},"beside":"x"}', 3],
  ])("%s", (text, attributes) => {
    const body = Buffer.from(text);
    const builder = new BatchBuilder("logs", { nowMs: arrivalMs });
    builder.read(body);
    expect(makeReader(body, builder).read(0, body.length)?.attributes).toBe(attributes);
  });

  test.each([
    '{"message":"nested","attributes":{"a":{"b":"c"}}}',
    '{"message":"fraction","attributes":{"a":1.5}}',
    '{"message":"twice","message":"\\n"}',
    '{"message":"\\n and a lone surrogate \\ud800"}',
  ])("%s does not, and its bytes are restored", (text) => {
    const body = Buffer.from(text);
    const builder = new BatchBuilder("logs", { nowMs: arrivalMs });
    builder.read(body);
    expect(makeReader(body, builder).read(0, body.length)).toBeUndefined();
    expect(body.toString()).toBe(text);
  });
});
