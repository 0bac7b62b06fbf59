/**
 * Messages of lines whose values have no digits have too many templates, so that they are stored as plain text with a
 * filter of their own; where the lines are `Key: value` they are stored as templates. Searches agree with a naive loop,
 * whatever the filter skips.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Filter, type LogRow, openStore, type Store } from "../../../engine/index.ts";
import { readInventory } from "../../../engine/inspect/inventory.ts";
import { plainKernels } from "../../../engine/kernels/plain.ts";
import {
  buildFilterPlainly,
  buildPlainTextFilter,
  PlainTextFilter,
  toFilteredText,
} from "../../../engine/template/plain-text-filter.ts";
import { toTextVector } from "../../../engine/vector/text.ts";
import { generateRows } from "../../../fixtures/logs.ts";
import { Random } from "../../../fixtures/random.ts";
import { scaled } from "../../durability/campaign.ts";
import { runSteps } from "../../query/naive.ts";
import { seed } from "../datasets.ts";
import { arbitraryFilter } from "../message-rows.ts";

/** More than one block of n-grams, and several of tokens. */
const rowCount = 9_000;
const startNs = 1_640_000_000_000_000_000n;
const dayNs = 86_400_000_000_000n;

function makeRows(messages: readonly string[], day: bigint): LogRow[] {
  return messages.map((message, i) => ({
    timeNs: startNs + day * dayNs + BigInt(i) * 1_000_000n,
    level: "info",
    message,
    attributes: {},
  }));
}

const keyed = Array.from(generateRows({ profile: "wide", seed, rows: rowCount }), ({ message }) => message);
/** The same without colons after keys. */
const wide = keyed.map((message) => message.replace(/:(?=\s)/g, ""));

/** Pieces of the messages, ids in them among others, as they are, in the other case, and changed. */
function arbitraryNeedle(messages: readonly string[]): fc.Arbitrary<string> {
  const message = fc.constantFrom(...messages);
  const cut = fc
    .tuple(message, fc.nat({ max: 1500 }), fc.integer({ min: 1, max: 40 }))
    .map(([text, from, length]) => {
      const at = from % Math.max(1, text.length);
      return text.slice(at, at + length).toWellFormed();
    });
  const id = message.chain((text) => {
    const ids = text.match(/[0-9a-fA-F-]{9,}/g);
    return ids === null ? cut : fc.constantFrom(...ids);
  });
  const part = fc.tuple(id, fc.nat({ max: 4 })).map(([text, skip]) => text.slice(skip));
  return fc.oneof(
    { weight: 4, arbitrary: cut },
    { weight: 3, arbitrary: part },
    { weight: 1, arbitrary: cut.map((text) => text.toUpperCase()) },
    { weight: 1, arbitrary: part.map((text) => `${text}7`) },
    { weight: 1, arbitrary: fc.constantFrom("quorando", "Account Name:\t", "zq", "xyzzy") },
  );
}

describe(`the filter of plain text (SVC_SEED=${seed})`, () => {
  const encoded = wide.map((message) => message.toWellFormed());
  const bytes = buildPlainTextFilter(toTextVector(encoded))!;
  const filter = new PlainTextFilter(Uint8Array.from(bytes), plainKernels);

  test("never leaves out a row that contains the text, in any case", () => {
    const folded = encoded.map((message) => message.toLowerCase());
    for (const needle of fc.sample(arbitraryNeedle(encoded), { seed, numRuns: 300 })) {
      const ranges = filter.findRanges(toFilteredText(Buffer.from(needle)), rowCount);
      const isCovered = (row: number) => ranges.some(({ from, to }) => from <= row && row < to);
      const wanted = needle.toLowerCase();
      const missed = folded.findIndex((text, row) => text.includes(wanted) && !isCovered(row));
      expect(missed, JSON.stringify(needle)).toBe(-1);
    }
  });

  test("leaves out all rows for a word of letters that occur nowhere, and most for an id", () => {
    const rangesOf = (needle: string) => filter.findRanges(toFilteredText(Buffer.from(needle)), rowCount);
    expect(rangesOf("qxjzvwqkj")).toEqual([]);
    expect(rangesOf("987654321987654")).toEqual([]);
    const ids = encoded.flatMap((text) => /\{([0-9a-f]{8}-[0-9a-f-]{27})\}/.exec(text)?.[1] ?? []);
    const rows = ids.slice(0, 50).map((id) => {
      return rangesOf(id).reduce((sum, { from, to }) => sum + to - from, 0);
    });
    expect(Math.min(...rows)).toBeLessThan(rowCount / 2);
  });

  test("there is none over few messages, and a chunk of one block has no second bitmap", () => {
    expect(buildPlainTextFilter(toTextVector(["a", "b"]))).toBeUndefined();
    const long = toTextVector([`${"lorem ipsum ".repeat(40_000)}dolor`, "sit amet"]);
    const few = new PlainTextFilter(Uint8Array.from(buildPlainTextFilter(long)!), plainKernels);
    expect(few.findRanges(toFilteredText(Buffer.from("dolor")), 2)).toEqual([{ from: 0, to: 2 }]);
    expect(few.findRanges(toFilteredText(Buffer.from("dolores")), 2)).toEqual([]);
  });
});

describe(`the filter that the kernel makes is that of TypeScript, byte for byte (SVC_SEED=${seed})`, () => {
  const check = (messages: readonly string[]): void => {
    const text = toTextVector(messages);
    const made = buildPlainTextFilter(text)!;
    expect(Buffer.from(made).equals(buildFilterPlainly(text))).toBe(true);
  };

  test("for events of many lines", () => {
    check(wide);
    check(wide.slice(0, 4_096));
    check(wide.slice(1, 4_098));
  });

  test("for texts of runs of digits and letters of all lengths, at all places", () => {
    const random = new Random(seed);
    const alphabets = [
      "0123456789",
      "0123456789abcdef",
      "ABCDEF",
      "abcxyzQ",
      " ",
      "-:{}\t\n",
      "ü🦜\xff",
      "g",
    ];
    const run = (): string => {
      const alphabet = [...random.pick(alphabets)];
      const length = random.pick([1, 2, 7, 8, 9, 11, 12, 13, 20, 55, 56, 57, 58, 63, 64, 65, 130]);
      return Array.from({ length: 1 + random.below(length) }, () => random.pick(alphabet)).join("");
    };
    for (let round = 0; round < 12; round++) {
      const longest = random.pick([1, 3, 12, 60, 400]);
      const rows = Math.ceil(9_000 / longest) + random.below(2_000);
      const messages = Array.from({ length: rows }, () =>
        Array.from({ length: random.below(longest + 1) }, run).join(""),
      );
      check([...messages, "padding of no other use ".repeat(12_000)]);
    }
  });
});

describe(`events of many lines in a store (SVC_SEED=${seed})`, () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-wide-"));
  const sets = { text: makeRows(wide, 0n), template: makeRows(keyed, 1n) };
  let store: Store;
  beforeAll(async () => {
    store = await openStore({ dir, threads: 2 });
    for (const rows of Object.values(sets)) {
      for (let at = 0; at < rowCount; at += 3_000) await store.append("logs", rows.slice(at, at + 3_000));
    }
    await store.seal();
  }, 120_000);
  afterAll(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  test("are stored in both ways", async () => {
    const [logs] = await readInventory(dir);
    const messages = logs!.columns.find(({ role }) => role === "message");
    expect(Object.keys(messages!.encodings).sort()).toEqual(["template", "text"]);
  });

  const field = { kind: "message" } as const;
  const overVariables = fc.nat({ max: 99 }).chain((number) => {
    const digits = String(number).padStart(2, "0");
    return fc.constantFrom(
      `S-1-5-21-[0-9]{9,}-[0-9]+-[0-9]+-1${digits}[0-9]`,
      `0x[0-9a-f]{3}${digits}[0-9a-f]*`,
      `Logon ID:?\\t+0x[0-9a-f]*${digits}`,
      `[^-]${digits}[0-9]+\\.`,
      `(?i)name:?\\s+[a-z]+${digits}\\n`,
      `Process ID:?\\t\\t0x${digits[0]}|Source Port:?\\t+${digits}`,
      `\\{[0-9a-f]{6}${digits}-.*\\}`,
    );
  });

  test.each(["text", "template"] as const)(
    "%s: searches agree with the naive loop",
    async (name) => {
      const rows = sets[name];
      const texts = rows.map(({ message }) => message.toWellFormed());
      const filters = fc.oneof(
        { weight: 3, arbitrary: arbitraryFilter(rows) },
        {
          weight: 3,
          arbitrary: fc
            .tuple(arbitraryNeedle(texts), fc.boolean())
            .map(([text, ignoreCase]): Filter => ({ kind: "contains", field, text, ignoreCase })),
        },
        {
          weight: 3,
          arbitrary: overVariables.map(
            (pattern): Filter => ({ kind: "matches", field, pattern, whole: false }),
          ),
        },
      );
      for (const filter of fc.sample(filters, { seed, numRuns: scaled(25, 1_000) })) {
        const steps = [{ kind: "filter", filter }] as const;
        const [fromNs, toNs] = [rows[0]!.timeNs, rows.at(-1)!.timeNs + 1n];
        const found = await store.search({ signal: "logs", fromNs, toNs, steps: [...steps], limit: 10_000 });
        const wanted = runSteps([...steps], rows).reverse();
        expect(
          found.rows.map(({ timeNs }) => timeNs),
          JSON.stringify(filter),
        ).toEqual(wanted.map(({ timeNs }) => timeNs));
      }
    },
    300_000,
  );
});
