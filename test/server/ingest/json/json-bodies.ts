/** Random bodies of JSON rows, and the reference result: each row read by itself with JSON.parse. */
import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { expect } from "vitest";
import { BatchBuilder, type LogRow, PlainColumns, type RowSignal } from "../../../../engine/index.ts";
import { decodeBody } from "../../../../server/index.ts";
import { makeAdmissionPolicy } from "../../../../server/ingest/admission.ts";
import type { BodyTask } from "../../../../server/ingest/decode-task.ts";
import { RowProblem } from "../../../../server/ingest/json/json-row.ts";
import { shareJson } from "../../../../server/ingest/shared-memory-json.ts";
import { makePlainTask } from "../decode-task.ts";
import { shareRandomRules } from "../naive-rules.ts";

export const arrivalMs = 1_763_000_000_123;

/** The general reader of one row. Throws RowProblem. */
type ReadRow = (text: string, arrivalNs: bigint) => { row: LogRow; hasOwnTime: boolean };

interface Expected {
  rows: LogRow[];
  lines: number[];
  untimedRows: number;
  refused: { line: number; reason: string }[];
}

function expectedOf(pieces: readonly Buffer[], readRow: ReadRow): Expected {
  const expected: Expected = { rows: [], lines: [], untimedRows: 0, refused: [] };
  for (const [i, bytes] of pieces.entries()) {
    if (/^[ \t\r\n]*$/.test(bytes.toString("latin1"))) continue;
    const line = i + 1;
    try {
      if (!isUtf8(bytes)) throw new RowProblem("encoding", "not valid UTF-8");
      const { row, hasOwnTime } = readRow(bytes.toString("utf8"), BigInt(arrivalMs) * 1_000_000n);
      expected.rows.push(row);
      expected.lines.push(line);
      if (!hasOwnTime) expected.untimedRows++;
    } catch (problem) {
      if (!(problem instanceof RowProblem)) throw problem;
      expected.refused.push({ line, reason: problem.message });
    }
  }
  return expected;
}

/** How a body is read, and what decides which of its rows are admitted. */
export interface BodyReading {
  signal: RowSignal;
  readRow: ReadRow;
  admission?: BodyTask["admission"];
}

/**
 * Expects the batch of a body, byte for byte, and its refused rows to be those of its pieces. The columns of the
 * reference are those in TypeScript.
 */
export function checkBody(body: Buffer, pieces: readonly Buffer[], reading: BodyReading): void {
  const { signal, readRow, admission } = reading;
  const { rows, lines, untimedRows, refused } = expectedOf(pieces, readRow);
  const task = {
    ...({ content: { signal }, format: "json lines", arrivalMs, admission } as const),
    ...makePlainTask(body),
  };
  const policy = makeAdmissionPolicy(task as BodyTask);
  const builder = new BatchBuilder(signal, policy, new PlainColumns());
  const refusedRows = rows.map((row, i) => ({ line: lines[i]!, reason: builder.addLogRow(row)! }));
  const batch = builder.finish();
  const allRefused = [...refused, ...refusedRows.filter(({ reason }) => reason !== undefined)];
  allRefused.sort((a, b) => a.line - b.line);
  const decoded = decodeBody(task as BodyTask);
  if (!decoded.ok) throw new Error(decoded.message);
  expect(decoded.refused).toEqual(allRefused.slice(0, 100));
  expect(decoded.batch.rows).toBe(batch.rows);
  expect(decoded.admissionCounts).toEqual(builder.counts);
  if (admission === undefined) expect(decoded.contentKey === null).toBe(untimedRows > 0 || batch.rows === 0);
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
export const anyText = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: "grapheme-ascii", maxLength: 20 }) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 12 }) },
  {
    weight: 2,
    arbitrary: fc.array(fc.constantFrom(...oddTexts), { maxLength: 4 }).map((texts) => texts.join("")),
  },
  { weight: 1, arbitrary: fc.string({ minLength: 200, maxLength: 400 }) },
);

/** A string as JSON; each character is written as it is or as one of its escapes, at random. */
export const quoted = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, fc.infiniteStream(fc.nat({ max: 9 }))).map(([value, choices]) => {
    let json = '"';
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      const choice = choices.next().value!;
      const hex = unit.toString(16).padStart(4, "0");
      if (choice === 0) json += `\\u${hex}`;
      else if (choice === 1) json += `\\u${hex.toUpperCase()}`;
      else json += JSON.stringify(value[i]).slice(1, -1);
    }
    return `${json}"`;
  });

export const numbers = [
  "0",
  "-0",
  "7",
  "-12",
  "200",
  "1.5",
  "1.0",
  "1e3",
  "0.000001",
  "0.0000001",
  "-0.5",
  "0.1",
  "12.50",
  "1234567.12345678",
  "12345678.12345678",
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
const listKeys = ["a", "b", "", "1", "10", "x\\u0041", "toJSON"];
/** Lists and objects in each other, some of them as JSON.stringify prints them. */
const { list } = fc.letrec<{ list: string; element: string; object: string }>((tie) => ({
  list: fc
    .tuple(fc.array(tie("element"), { maxLength: 4 }), fc.constantFrom(",", ",", ", "))
    .map(([elements, separator]) => `[${elements.join(separator)}]`),
  object: fc
    .array(fc.tuple(fc.constantFrom(...listKeys), tie("element")), { maxLength: 4 })
    .map((members) => `{${members.map(([name, value]) => `"${name}":${value}`).join(",")}}`),
  element: fc.oneof(
    { depthSize: "small", maxDepth: 11, withCrossShrink: true },
    leaf,
    anyText.map((text) => JSON.stringify(text)),
    tie("list"),
    tie("object"),
  ),
}));
/** Objects in each other, whose members become attributes. */
const { tree } = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc
    .array(
      fc.tuple(
        fc.constantFrom("a", "b", "a.b", "", "msg", "level", "k8s", "c"),
        fc.oneof({ maxDepth: 20, depthSize: "medium" }, leaf, tie("tree")),
      ),
      { maxLength: 4 },
    )
    .map((members) => `{${members.map(([name, value]) => `"${name}":${value}`).join(",")}}`),
}));
export const nested = fc.oneof(
  { weight: 2, arbitrary: list },
  { weight: 2, arbitrary: tree },
  { weight: 12, arbitrary: leaf },
  { weight: 1, arbitrary: leaf.map((value) => `[${value}, 1, {}]`) },
  { weight: 1, arbitrary: leaf.map((value) => `{"b" : ${value}, "c": {"d":${value}}}`) },
  { weight: 1, arbitrary: fc.constant("{}") },
);
// No integers: JavaScript puts such keys first, wherever they stand.
const keys = [
  "a",
  "b",
  "a.b",
  "a.b.c",
  "msg",
  "level",
  "log",
  "startTimeUnixNano",
  "service.name",
  "environment",
  "k8s.cluster.name",
  "attributes.environment",
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
export const key = fc.oneof(
  { weight: 60, arbitrary: fc.constantFrom(...keys).map((name) => JSON.stringify(name)) },
  // Longer than a key may be, or the name of an object.
  { weight: 1, arbitrary: fc.constantFrom(1_024, 1_025).map((length) => JSON.stringify("k".repeat(length))) },
  { weight: 1, arbitrary: quoted(fc.constantFrom(...keys)) },
);
const blank = fc.oneof(
  { weight: 12, arbitrary: fc.constant("") },
  { weight: 1, arbitrary: fc.constantFrom(" ", "\t", " \r", "  ") },
);

export const object = (members: fc.Arbitrary<[string, string]>, maxLength: number) =>
  fc
    .tuple(fc.array(fc.tuple(members, blank, blank, blank), { maxLength }), blank)
    .map(
      ([list, end]) =>
        `{${list.map(([[name, value], a, b, c]) => `${a}${name}${b}:${c}${value}${end}`).join(",")}}`,
    );
export const attributes = object(fc.tuple(key, nested), 6);

/** A row with bytes removed, inserted or replaced: mostly no JSON any more. */
const breakRow = (row: fc.Arbitrary<Buffer>) =>
  fc
    .tuple(row, fc.nat(), fc.nat({ max: 3 }), fc.constantFrom(...'"\\{}[],: \t\0\x1f\x80\xff0aeu'))
    .map(([bytes, position, removed, character]) => {
      const at = position % (bytes.length + 1);
      const piece = removed === 3 ? Buffer.alloc(0) : Buffer.from(character, "latin1");
      return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at + removed)]);
    });
/** Rows, valid and broken, and blank lines. */
export const linesOf = (row: fc.Arbitrary<Buffer>) =>
  fc.array(
    fc.oneof(
      { weight: 5, arbitrary: row },
      { weight: 1, arbitrary: breakRow(row) },
      { weight: 1, arbitrary: blank.map((text) => Buffer.from(text)) },
    ),
    { maxLength: 8 },
  );

export const joinBuffers = (parts: readonly Buffer[], separator: string) =>
  Buffer.concat(parts.flatMap((part, i) => (i === 0 ? [part] : [Buffer.from(separator), part])));

/** What decides which rows are admitted: bounds, stamps and rules. */
export function anyAdmission(seed: number) {
  return fc.record({
    settings: fc.record({
      acceptPastMs: fc.constantFrom(undefined, 1_000, 400 * 86_400_000),
      acceptFutureMs: fc.constantFrom(undefined, 0, 86_400_000_000),
      clockSkewMs: fc.constantFrom(undefined, 1_000),
      rowBytesMax: fc.constantFrom(undefined, 40, 200),
      cutsLargeRows: fc.boolean(),
    }),
    environment: fc.constantFrom(null, "a", "prod"),
    rules: fc.constantFrom(shareJson([]), ...shareRandomRules(seed)),
  });
}
