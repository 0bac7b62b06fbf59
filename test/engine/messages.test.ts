/** Messages stored as templates and variables: exact for any bytes, and searched as a naive loop would. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildChunks } from "../../engine/build.ts";
import { imageText, openImage, writeImage } from "../../engine/chunk.ts";
import { emptyDraft } from "../../engine/draft.ts";
import { plainColumns } from "../../engine/heap.ts";
import { type Filter, type LogRow, openStore, type Store } from "../../engine/index.ts";
import { ChunkColumns, ChunkView } from "../../engine/view.ts";
import { runSteps } from "../query/naive.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const datasets = 12;
const searchesEach = 200;
const dayNs = 86_400_000_000_000n;

/** The messages as a sealed chunk, written and opened again. */
function sealedView(messages: readonly Uint8Array[]): ChunkView {
  const draft = emptyDraft();
  for (const bytes of messages) {
    draft.timeNs.push(draft.rows);
    draft.arrival.push(draft.rows);
    draft.message.pushBytes(bytes);
    draft.rows++;
  }
  const [image] = buildChunks(draft, { sealed: true });
  const written = imageText(image!);
  const bytes = new Uint8Array(written.byteLength);
  writeImage(written, bytes, 0);
  return new ChunkView(new ChunkColumns(openImage(bytes, 0), 0), plainColumns);
}

describe(`templates (SVC_SEED=${seed})`, () => {
  test("any bytes come back as they were", () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 6 }),
      fc
        .constantFrom("a1", " ", "=", "\0", "error", "0x7f", "é1", "12", "007", "1.5.2", "ff00", "-", "--1--")
        .map(bytesOf),
      fc.constant(Uint8Array.of(0xff)),
    );
    const message = fc.array(piece, { maxLength: 5 }).map((pieces) => Buffer.concat(pieces));
    const column = fc
      .array(message, { minLength: 1, maxLength: 4 })
      .chain((distinct) =>
        fc
          .array(fc.nat({ max: distinct.length - 1 }), { minLength: 4 * distinct.length, maxLength: 120 })
          .map((picks) => picks.map((i) => distinct[i]!)),
      );
    fc.assert(
      fc.property(column, (messages) => {
        const view = sealedView(messages);
        const column = view.column({ kind: "message" });
        if (column.kind !== "message") throw new Error("the messages were not stored as templates");
        for (const [row, bytes] of messages.entries())
          expect(Buffer.from(column.messages.messageAt(row))).toEqual(Buffer.from(bytes));
      }),
      { seed, numRuns: 1_000 },
    );
  });

  describe("searched in the store", () => {
    let dir: string;
    let store: Store;
    let sets: LogRow[][];

    beforeAll(async () => {
      dir = mkdtempSync(join(tmpdir(), "svc-messages-"));
      store = await openStore({ dir, threads: 1 });
      sets = Array.from({ length: datasets }, (_, number) => makeRows(number));
      for (const rows of sets) await store.append("logs", rows);
      await store.seal();
    }, 60_000);

    afterAll(async () => {
      await store.close();
      rmSync(dir, { recursive: true });
    });

    test(`${datasets * searchesEach} searches for text agree with the naive loop, across template and variable`, async () => {
      for (const [number, rows] of sets.entries()) {
        for (const filter of fc.sample(arbitraryFilter(rows), {
          seed: seed + number,
          numRuns: searchesEach,
        })) {
          const steps = [{ kind: "filter", filter }] as const;
          const fromNs = BigInt(number + 1) * dayNs;
          const found = await store.search({
            signal: "logs",
            fromNs,
            toNs: fromNs + dayNs,
            steps: [...steps],
            limit: 10_000,
          });
          const wanted = runSteps([...steps], rows).reverse();
          expect(
            found.rows.map(({ message }) => message),
            JSON.stringify(filter),
          ).toEqual(wanted.map(({ message }) => message));
        }
      }
    }, 300_000);
  });
});

/** Many rows of few templates, so that every kind of slot occurs: constants, few values, digits, integers, hexadecimal, text. */
function makeRows(number: number): LogRow[] {
  const word = fc.constantFrom("user", "Error", "conn.reset", "ok", "naïve", "a-b", "GET", "x", "refused by");
  const separator = fc.constantFrom(" ", "=", ": ", "/", " [", "] ", '"', ",", "(", " - ");
  const variable: fc.Arbitrary<fc.Arbitrary<string>> = fc.constantFrom(
    fc.nat({ max: 1_000_000 }).map(String),
    fc.nat({ max: 5 }).map((n) => `v${n}`),
    fc.nat({ max: 59 }).map((n) => `${String(n).padStart(2, "0")}.${String(n * 7).padStart(3, "0")}`),
    fc
      .uint8Array({ minLength: 4, maxLength: 4 })
      .map((bytes) => `0${Buffer.from(bytes).toString("hex").slice(1)}`),
    fc.string({ maxLength: 4 }).map((text) => `${text.replace(/[^A-Za-z]/g, "")}7x`),
    fc.constant("10.0.0.7"),
    fc.constant("Ünï9"),
  );
  const part = fc.oneof(
    word.map((text) => fc.constant(text)),
    variable,
  );
  const template = fc
    .array(fc.tuple(part, separator), { minLength: 1, maxLength: 5 })
    .map((parts) =>
      fc
        .tuple(...parts.map(([text, after]) => text.map((value) => value + after)))
        .map((values) => values.join("")),
    );
  const templates = fc.sample(template, { seed: seed + number, numRuns: 5 });
  const odd = fc.constantFrom("", "12", "\uffff1", "x".repeat(300));
  const message = fc.oneof({ weight: 30, arbitrary: fc.oneof(...templates) }, { weight: 1, arbitrary: odd });
  const startNs = BigInt(number + 1) * dayNs;
  return fc
    .sample(message, { seed: seed + number, numRuns: 600 })
    .map((text, i) => ({ timeNs: startNs + BigInt(i), level: "", message: text, attributes: {} }));
}

/** Patterns out of pieces of messages, with holes in them, side by side, at the ends. */
function arbitraryPattern(cut: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const literal = cut.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const hole = fc.constantFrom(".*", "[0-9]+", "\\w+", "[^ ]*", ".", "\\b", "(?:x|7)?");
  return fc.oneof(
    fc.constantFrom("[0-9]{3}", "^user", "err|ok", "7x.$", "(?i)GET", "\\d+\\D\\d+"),
    fc.tuple(literal, hole, literal).map((parts) => parts.join("")),
    fc.tuple(literal, literal).map(([a, b]) => `${a}|${b}`),
    fc.tuple(hole, literal, hole).map((parts) => parts.join("")),
    literal.map((text) => `(?i)${text}`),
    literal.map((text) => `^${text}`),
    literal.map((text) => `${text}$`),
  );
}

function arbitraryFilter(rows: readonly LogRow[]): fc.Arbitrary<Filter> {
  const cut = fc
    .tuple(
      fc.constantFrom(...rows.map(({ message }) => message)),
      fc.nat({ max: 30 }),
      fc.integer({ min: 1, max: 14 }),
    )
    .map(([message, from, length]) => message.slice(from, from + length).toWellFormed());
  const text = fc.oneof(
    { weight: 8, arbitrary: cut },
    { weight: 1, arbitrary: cut.map((found) => `${found}1`) },
    { weight: 1, arbitrary: fc.constantFrom("", "zq", "7", "0") },
  );
  const field = { kind: "message" } as const;
  return fc.oneof(
    {
      weight: 4,
      arbitrary: text.map((found): Filter => ({ kind: "contains", field, text: found, ignoreCase: false })),
    },
    {
      weight: 3,
      arbitrary: text.map(
        (found): Filter => ({ kind: "contains", field, text: found.toUpperCase(), ignoreCase: true }),
      ),
    },
    { weight: 1, arbitrary: text.map((value): Filter => ({ kind: "equals", field, value })) },
    {
      weight: 3,
      arbitrary: fc
        .tuple(arbitraryPattern(cut), fc.boolean())
        .map(([pattern, whole]): Filter => ({ kind: "matches", field, pattern, whole })),
    },
  );
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, "utf8");
}
