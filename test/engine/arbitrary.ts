/** Random rows, and random query steps that are likely to select some of them. */
import fc from "fast-check";
import type { Field, Filter, LogRow, Step } from "../../engine/index.ts";
import { templateId } from "../query/templates.ts";

const levels = ["info", "INFO", "Error", "ERR", "warn", "40", "", "debug", "unknown"];
/** Levels as pino and bunyan write them: a column of these alone is encoded in another way. */
export const numberLevels = ["10", "20", "30", "40", "50", "60"];
const keys = [
  "service.name",
  "trace_id",
  "code",
  "latency",
  "note",
  "message",
  "log_level",
  "__proto__",
  "näme",
];
const words = [
  "error",
  "ERROR",
  "timeout",
  "connection refused",
  "user",
  "Ünïcode",
  "ſ",
  "K",
  "K",
  "ß",
  "a.b",
  "\\d+",
  "id=",
];
const services = ["/k8s/shop/cart", "/k8s/shop/pay", "/k8s/ops/gate"];

const hex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((array) => Buffer.from(array).toString("hex"));
const numberText = fc.oneof(
  fc.integer({ min: -50, max: 50 }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom(
    "007",
    "1e3",
    "+5",
    "-0",
    ".5",
    "1.50",
    "0x10",
    "Infinity",
    "12345678901234567890",
    "NaN",
    "1_000",
  ),
);
const value = fc.oneof(
  fc.constantFrom(...services, "", " ", "null", "*"),
  numberText,
  hex(4),
  fc.string({ unit: "grapheme", maxLength: 12 }),
);

const jsonBody = fc
  .record({
    level: fc.constantFrom("info", "warn"),
    code: fc.integer({ min: 0, max: 5 }),
    user: fc.record({ id: fc.string({ maxLength: 4 }), tags: fc.array(fc.integer(), { maxLength: 3 }) }),
    note: fc.oneof(fc.constant(null), fc.string({ maxLength: 5 }), fc.boolean()),
  })
  .map((body) => JSON.stringify(body));
const logfmtBody = fc
  .tuple(fc.constantFrom("info", "warn"), fc.integer({ min: 0, max: 9 }), fc.string({ maxLength: 6 }))
  .map(([level, code, text]) => `level=${level} code=${code} msg=${JSON.stringify(text)} done`);
const plainBody = fc
  .array(fc.oneof(fc.constantFrom(...words), fc.nat({ max: 999 }).map(String), hex(8)), { maxLength: 6 })
  .map((parts) => parts.join(" "));
const message = fc.oneof(
  { weight: 5, arbitrary: plainBody },
  { weight: 2, arbitrary: jsonBody },
  { weight: 2, arbitrary: logfmtBody },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 30 }) },
  { weight: 1, arbitrary: fc.constantFrom("", "\n", "\0", "x".repeat(5_000), "{", '{"a":1} trailing') },
);

/** Rows of one span of time. A part of them has one of ten times, so that many times are equal. */
export function arbitraryRow(
  startNs: bigint,
  spanNs: bigint,
  levelsOfRows: readonly string[] = levels,
): fc.Arbitrary<LogRow> {
  return fc.record({
    timeNs: fc.oneof(
      fc.bigInt({ min: 0n, max: spanNs - 1n }).map((offset) => startNs + offset),
      fc.nat({ max: 9 }).map((tenth) => startNs + (spanNs / 10n) * BigInt(tenth)),
    ),
    level: fc.constantFrom(...levelsOfRows),
    message: message.map((text) => text.toWellFormed()),
    attributes: fc
      .uniqueArray(fc.tuple(fc.constantFrom(...keys), value), {
        selector: ([key]) => key,
        maxLength: keys.length,
      })
      .map((pairs) => {
        const attributes: Record<string, string> = Object.create(null);
        for (const [key, text] of pairs) attributes[key] = text.toWellFormed();
        return attributes;
      }),
  });
}

export const arbitraryField: fc.Arbitrary<Field> = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Field>({ kind: "time" }) },
  { weight: 2, arbitrary: fc.constant<Field>({ kind: "level" }) },
  { weight: 4, arbitrary: fc.constant<Field>({ kind: "message" }) },
  { weight: 2, arbitrary: fc.constant<Field>({ kind: "template" }) },
  {
    weight: 8,
    arbitrary: fc
      .constantFrom(...keys, "level", "msg", "user.id", "user.tags", "first", "code_extracted", "absent")
      .map((key): Field => ({ kind: "attribute", key })),
  },
);
/** A field of filters and groups, which may also compare a level by its range. */
export const arbitraryComparedField: fc.Arbitrary<Field> = fc.oneof(
  { weight: 15, arbitrary: arbitraryField },
  { weight: 2, arbitrary: fc.constant<Field>({ kind: "level", asRange: true }) },
);
const pattern = fc.constantFrom(
  "error",
  "(?i)ERROR",
  "^user",
  "[0-9]+$",
  "(a+)+$",
  "",
  ".*",
  "\\bid=",
  "in.o",
  "/k8s/shop/.*",
  "[[:alpha:]]+ [0-9a-f]{16}",
  "ü|Ü",
  "(?s)^.*$",
);

/** Texts that occur in the rows, as a whole or in part, and some that do not. */
function textOf(rows: readonly LogRow[]): fc.Arbitrary<string> {
  const texts = rows.flatMap((row) => [row.message, row.level, ...Object.values(row.attributes)]);
  const templates = rows.map(({ message }) => templateId(message));
  const part = fc.tuple(fc.constantFrom(...texts), fc.nat({ max: 40 }), fc.integer({ min: 1, max: 12 }));
  return fc.oneof(
    fc.constantFrom(...texts),
    fc.constantFrom(...templates),
    part.map(([text, from, length]) => text.slice(from, from + length).toWellFormed()),
    part.map(([text, from, length]) =>
      text
        .slice(from, from + length)
        .toUpperCase()
        .toWellFormed(),
    ),
    fc.constantFrom(...words, ""),
  );
}

export function arbitrarySteps(rows: readonly LogRow[]): fc.Arbitrary<Step[]> {
  const text = textOf(rows);
  const leaf = fc.oneof(
    fc.record({ kind: fc.constant("equals" as const), field: arbitraryComparedField, value: text }),
    fc.record({
      kind: fc.constant("equals" as const),
      field: fc.constant<Field>({ kind: "level", asRange: true }),
      value: fc.constantFrom("info", "error", "warn", "err"),
    }),
    fc.record({ kind: fc.constant("present" as const), field: arbitraryComparedField }),
    fc.record({
      kind: fc.constant("compares" as const),
      field: arbitraryComparedField,
      op: fc.constantFrom(">", ">=", "<", "<=" as const),
      number: fc.oneof(
        fc.integer({ min: -60, max: 60 }),
        fc.constantFrom(0.5, 1e3, Number(rows[0]!.timeNs / 1_000_000n)),
      ),
    }),
    fc.record({
      kind: fc.constant("compares" as const),
      field: arbitraryField,
      op: fc.constantFrom(">", ">=", "<", "<=" as const),
      number: fc.constantFrom(0, 20e6, 1536, 9e10),
      unit: fc.constantFrom("ns" as const, "bytes" as const),
    }),
    fc.record({
      kind: fc.constant("contains" as const),
      field: arbitraryComparedField,
      text,
      ignoreCase: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant("matches" as const),
      field: arbitraryComparedField,
      pattern,
      whole: fc.boolean(),
    }),
  ) as fc.Arbitrary<Filter>;
  const { filter } = fc.letrec<{ filter: Filter }>((tie) => ({
    filter: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { weight: 6, arbitrary: leaf },
      { weight: 1, arbitrary: fc.constantFrom<Filter>({ kind: "always" }, { kind: "never" }) },
      { weight: 2, arbitrary: tie("filter").map((of): Filter => ({ kind: "not", of })) },
      {
        weight: 3,
        arbitrary: fc
          .tuple(fc.constantFrom("and" as const, "or" as const), fc.array(tie("filter"), { maxLength: 3 }))
          .map(([kind, of]): Filter => ({ kind, of })),
      },
    ),
  }));
  const extractor = fc.constantFrom<Step>(
    { kind: "extract", extractor: { kind: "json" } },
    { kind: "extract", extractor: { kind: "logfmt" } },
    {
      kind: "extract",
      extractor: {
        kind: "pattern",
        parts: [
          { kind: "capture", name: "first" },
          { kind: "literal", text: " " },
          { kind: "capture", name: null },
          { kind: "literal", text: "=" },
          { kind: "capture", name: "code" },
        ],
      },
    },
    { kind: "extract", extractor: { kind: "regexp", pattern: "(?P<first>[a-z]+)[ =](?P<code>[0-9]+)?" } },
  );
  const step = fc.oneof(
    { weight: 4, arbitrary: filter.map((of): Step => ({ kind: "filter", filter: of })) },
    { weight: 1, arbitrary: extractor },
  );
  return fc.array(step, { maxLength: 4 });
}
