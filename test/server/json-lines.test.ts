/** Bodies read from their bytes against the same bodies read line by line with JSON.parse: the batches are the same, byte for byte. */
import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BatchDraft, encodeBatch, type LogRow } from "../../engine/index.ts";
import { decodeBody } from "../../server/index.ts";
import { JsonLines } from "../../server/ingest/json-lines.ts";
import { RowProblem, readLogRow } from "../../server/ingest/log-row.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const arrivalMs = 1_763_000_000_123;

interface Expected {
  rows: LogRow[];
  lines: number[];
  untimed: number;
  refused: { line: number; reason: string }[];
}

function expectedOf(pieces: readonly Buffer[]): Expected {
  const expected: Expected = { rows: [], lines: [], untimed: 0, refused: [] };
  for (const [i, bytes] of pieces.entries()) {
    if (/^[ \t\r\n]*$/.test(bytes.toString("latin1"))) continue;
    const line = i + 1;
    try {
      if (!isUtf8(bytes)) throw new RowProblem("encoding", "not valid UTF-8");
      const { row, timed } = readLogRow(bytes.toString("utf8"), BigInt(arrivalMs) * 1_000_000n);
      expected.rows.push(row);
      expected.lines.push(line);
      if (!timed) expected.untimed++;
    } catch (problem) {
      if (!(problem instanceof RowProblem)) throw problem;
      expected.refused.push({ line, reason: problem.message });
    }
  }
  return expected;
}

function check(body: Buffer, pieces: readonly Buffer[]): void {
  const { rows, lines, untimed, refused } = expectedOf(pieces);
  const { refused: badRows, ...batch } = encodeBatch("logs", rows, { nowMs: arrivalMs });
  const allRefused = [
    ...refused,
    ...badRows.map(({ index, reason }) => ({ line: lines[index]!, reason })),
  ].sort((a, b) => a.line - b.line);
  const decoded = decodeBody({
    body: new Uint8Array(body),
    encoding: "identity",
    unpackedBytesMax: 1 << 30,
    arrivalMs,
    sender: "",
    wantsContentKey: true,
  });
  if (!decoded.ok) throw new Error(decoded.message);
  expect(decoded.refused).toEqual(allRefused.slice(0, 100));
  expect(decoded.batch.rows).toBe(batch.rows);
  expect(decoded.contentKey === null).toBe(untimed > 0 || batch.rows === 0);
  expect(Buffer.from(decoded.batch.bytes).equals(Buffer.from(batch.bytes))).toBe(true);
}

const oddTexts = [
  "",
  "\0",
  "\u2028",
  "\ud83d\ude00",
  "ü",
  "\ud800",
  "\udc00x",
  "\ud800\ud800",
  '"',
  "\\",
  "/",
  "\u001b[31m",
  "é\n\t",
];
const anyText = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: "grapheme-ascii", maxLength: 20 }) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 12 }) },
  {
    weight: 2,
    arbitrary: fc.array(fc.constantFrom(...oddTexts), { maxLength: 4 }).map((texts) => texts.join("")),
  },
  { weight: 1, arbitrary: fc.string({ minLength: 200, maxLength: 400 }) },
);

/** A string as JSON, its characters at random as they are or as one of their escapes. */
const quoted = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, fc.infiniteStream(fc.nat({ max: 9 }))).map(([value, ways]) => {
    let json = '"';
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      const way = ways.next().value!;
      const hex = unit.toString(16).padStart(4, "0");
      if (way === 0) json += `\\u${hex}`;
      else if (way === 1) json += `\\u${hex.toUpperCase()}`;
      else json += JSON.stringify(value[i]).slice(1, -1);
    }
    return `${json}"`;
  });

const numbers = [
  "0",
  "-0",
  "7",
  "-12",
  "200",
  "1.5",
  "1.0",
  "1e3",
  "1E400",
  "-5e-7",
  "007",
  "123456789012345",
  "1234567890123456",
  "9007199254740993",
  "12345678901234567890",
  "+1",
  ".5",
  "1.",
];
const literals = ["true", "false", "null", "tru", "nulll", "NaN", "undefined"];
const leaf = fc.oneof(
  { weight: 6, arbitrary: quoted(anyText) },
  { weight: 2, arbitrary: fc.constantFrom(...numbers) },
  { weight: 1, arbitrary: fc.constantFrom(...literals) },
);
const nested = fc.oneof(
  { weight: 12, arbitrary: leaf },
  { weight: 1, arbitrary: leaf.map((value) => `[${value}, 1, {}]`) },
  { weight: 1, arbitrary: leaf.map((value) => `{"b" : ${value}, "c": {"d":${value}}}`) },
  { weight: 1, arbitrary: fc.constant("{}") },
);
// No whole numbers: JavaScript puts such keys first, wherever they stand.
const keys = [
  "a",
  "b",
  "a.b",
  "a.b.c",
  "service.name",
  "k8s.pod.name",
  "trace_id",
  "__proto__",
  "constructor",
  "",
  "ü",
  "message",
  "log_level",
  "timestamp",
];
const key = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(...keys).map((name) => JSON.stringify(name)) },
  { weight: 1, arbitrary: quoted(fc.constantFrom(...keys)) },
);
const blank = fc.oneof(
  { weight: 12, arbitrary: fc.constant("") },
  { weight: 1, arbitrary: fc.constantFrom(" ", "\t", " \r", "  ") },
);

const object = (members: fc.Arbitrary<[string, string]>, maxLength: number) =>
  fc
    .tuple(fc.array(fc.tuple(members, blank, blank, blank), { maxLength }), blank)
    .map(
      ([list, end]) =>
        `{${list.map(([[name, value], a, b, c]) => `${a}${name}${b}:${c}${value}${end}`).join(",")}}`,
    );
const attributes = object(fc.tuple(key, nested), 6);

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
const row = object(member, 7).map((text) => Buffer.from(text, "utf8"));

/** A row with bytes left out, put in or changed: mostly no JSON any more. */
const broken = fc
  .tuple(row, fc.nat(), fc.nat({ max: 3 }), fc.constantFrom(...'"\\{}[],: \t\0\x1f\x80\xff0aeu'))
  .map(([bytes, place, removed, character]) => {
    const at = place % (bytes.length + 1);
    const piece = removed === 3 ? Buffer.alloc(0) : Buffer.from(character, "latin1");
    return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at + removed)]);
  });
const line = fc.oneof(
  { weight: 5, arbitrary: row },
  { weight: 1, arbitrary: broken },
  { weight: 1, arbitrary: blank.map((text) => Buffer.from(text)) },
);

const joined = (parts: readonly Buffer[], separator: string) =>
  Buffer.concat(parts.flatMap((part, i) => (i === 0 ? [part] : [Buffer.from(separator), part])));

describe(`rows read from their bytes (SVC_SEED=${seed})`, () => {
  test("lines, however they are written or broken, make the batch that JSON.parse makes of them", () => {
    const first = Buffer.from('{"message":"the first line is no array"}');
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), fc.boolean(), (lines, ends) => {
        const pieces = [first, ...lines];
        check(joined([...pieces, ...(ends ? [Buffer.alloc(0)] : [])], "\n"), pieces);
      }),
      { seed, numRuns: 3_000 },
    );
  });

  test("elements of an array make the batch that JSON.parse makes of them", () => {
    const whole = row.filter((bytes) => isJson(bytes.toString()));
    fc.assert(
      fc.property(fc.array(whole, { minLength: 1, maxLength: 6 }), (elements) => {
        check(Buffer.concat([Buffer.from("["), joined(elements, ","), Buffer.from("]")]), elements);
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

describe("the usual shape is read from its bytes", () => {
  test.each([
    ['{"timeUnixNano":"1736121600026931318","log_level":"INFO","message":"a","attributes":{"b":"c"}}', 1],
    ['{ "timestamp" : 1736121600026, "message" : "a \\"b\\" \\u001b\\ud83d\\ude00", "attributes" : { } }', 0],
    ['{"message":"no time","attributes":{"status":200,"ok":true,"none":null},"beside":"x"}', 3],
  ])("%s", (text, attributes) => {
    const body = Buffer.from(text);
    const draft = new BatchDraft("logs", { nowMs: arrivalMs });
    draft.read(body);
    expect(new JsonLines(body, draft, { arrivalMs }).read(0, body.length)?.attributes).toBe(attributes);
  });

  test.each([
    '{"message":"nested","attributes":{"a":{"b":"c"}}}',
    '{"message":"fraction","attributes":{"a":1.5}}',
    '{"message":"twice","message":"\\n"}',
    '{"message":"\\n and a lone surrogate \\ud800"}',
  ])("%s is not, and its bytes stay as they were", (text) => {
    const body = Buffer.from(text);
    const draft = new BatchDraft("logs", { nowMs: arrivalMs });
    draft.read(body);
    expect(new JsonLines(body, draft, { arrivalMs }).read(0, body.length)).toBeUndefined();
    expect(body.toString()).toBe(text);
  });
});
