/**
 * The fast reader of spans against the general one, row by row with JSON.parse: the batches are equal byte for byte.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BatchBuilder } from "../../../../engine/index.ts";
import { JsonLines } from "../../../../server/ingest/json/json-lines.ts";
import { SpanForm } from "../../../../server/ingest/json/span-form.ts";
import { readSpanRow } from "../../../../server/ingest/json/span-row.ts";
import { scaled } from "../../../durability/campaign.ts";
import {
  anyText,
  arrivalMs,
  attributes,
  checkBody,
  joinBuffers,
  key,
  linesOf,
  nested,
  object,
  quoted,
} from "./json-bodies.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const spans = {
  signal: "traces",
  readRow: (text: string) => ({ row: readSpanRow(text), hasOwnTime: true }),
} as const;

const id = (digits: number) =>
  fc.oneof(
    {
      weight: 12,
      arbitrary: fc.string({
        unit: fc.constantFrom(..."0123456789abcdef"),
        minLength: digits,
        maxLength: digits,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom("", "0".repeat(digits), "A".repeat(digits), "g".repeat(digits), "ab"),
    },
  );
const starts = ["1736121600026931318", "1736121600026931319", "0", "5", "007", "-5", "1.5", ""];
const ends = [
  "1736121600126931318",
  "1736121600026931318",
  "1736121600026931319",
  "1736121600026931317",
  "9",
  "9999999999999999999",
  "x",
];
const time = (texts: readonly string[]) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant(`"${texts[0]}"`) },
    { weight: 2, arbitrary: fc.constantFrom(...texts).map((text) => `"${text}"`) },
    { weight: 1, arbitrary: fc.constantFrom(...texts) },
  );
const words = [
  "server",
  "client",
  "SERVER",
  "SPAN_KIND_CONSUMER",
  "unspecified",
  "ok",
  "error",
  "unset",
  "STATUS_CODE_ERROR",
  "",
  "x",
  "2",
];
const word = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...words).map((text) => JSON.stringify(text)) },
  { weight: 1, arbitrary: fc.constantFrom("0", "2", "7", "null", "true", "[1]") },
);
const named = (name: string, value: fc.Arbitrary<string>) =>
  value.map((text): [string, string] => [`"${name}"`, text]);
const text = fc.oneof({ weight: 10, arbitrary: quoted(anyText) }, { weight: 1, arbitrary: nested });
const spanFieldKeys = ["name", "kind", "trace_id", "duration_ms", "attributes.name", "status_code"];

/** Most rows have what a span requires; otherwise all of them would be refused. */
const members = fc
  .tuple(
    fc.tuple(
      named(
        "traceId",
        id(32).map((each) => `"${each}"`),
      ),
      named(
        "spanId",
        id(16).map((each) => `"${each}"`),
      ),
      named("startTimeUnixNano", time(starts)),
    ),
    fc.array(
      fc.oneof(
        named(
          "parentSpanId",
          id(16).map((each) => `"${each}"`),
        ),
        named("name", text),
        named("kind", word),
        named("statusCode", word),
        named("statusMessage", text),
        named("endTimeUnixNano", time(ends)),
        named("endTimeUnixNano", time(ends)),
        named("attributes", attributes),
        named(
          "attributes",
          object(
            fc.tuple(
              fc.constantFrom(...spanFieldKeys).map((each) => `"${each}"`),
              nested,
            ),
            3,
          ),
        ),
        fc.tuple(key, nested),
        named("duration_ms", nested),
      ),
      { maxLength: 7 },
    ),
    fc.nat({ max: 20 }),
    fc.infiniteStream(fc.nat({ max: 1_000 })),
  )
  .map(([must, may, left, order]) => {
    const all = [...must.filter((_, i) => i !== left), ...may];
    return all
      .map((each) => ({ each, at: order.next().value! }))
      .sort((a, b) => a.at - b.at)
      .map(({ each }) => each);
  });
const row = members.map((list) =>
  Buffer.from(`{${list.map(([name, value]) => `${name}:${value}`).join(",")}}`, "utf8"),
);

test(`spans, valid or broken, give the same batch as JSON.parse (SVC_SEED=${seed})`, () => {
  const first = Buffer.from("{}");
  fc.assert(
    fc.property(linesOf(row), (lines) => {
      checkBody(joinBuffers([first, ...lines], "\n"), [first, ...lines], spans);
    }),
    { seed, numRuns: scaled(1_000, 100_000) },
  );
});

const ids = `"traceId":"6f3cbf058c2765548a39ad724905d6a1","spanId":"37d8fe439ba5bef1"`;
const start = `"startTimeUnixNano":"1674981729479000000"`;

describe("rows of the usual shape take the fast reader", () => {
  const read = (line: string) => {
    const body = Buffer.from(line);
    const builder = new BatchBuilder("traces", { nowMs: arrivalMs });
    builder.read(body);
    const found = new JsonLines(body, builder, (scanner) => new SpanForm(scanner, builder)).read(
      0,
      body.length,
    );
    return { attributes: found?.attributes, body: body.toString() };
  };

  test.each([
    [`{${ids},${start}}`, 2],
    [
      `{${ids},"parentSpanId":"","name":"GET /","kind":"server",${start},"endTimeUnixNano":"1674981729601611605","attributes":{"a":"b"}}`,
      6,
    ],
    [`{${start},"statusCode":"error","statusMessage":"it \\"broke\\"",${ids},"beside":7}`, 5],
  ])("%s", (line, attributes) => {
    expect(read(line).attributes).toBe(attributes);
  });

  test.each([
    `{${ids}}`,
    `{${ids},${start},"kind":"SPAN_KIND_SERVER","name":"\\n"}`,
    `{${ids},${start},"attributes":{"name":"x"},"message":"\\n"}`,
    `{${ids},"startTimeUnixNano":3,"endTimeUnixNano":"2"}`,
  ])("%s does not, and its bytes are restored", (line) => {
    expect(read(line)).toEqual({ attributes: undefined, body: line });
  });
});
