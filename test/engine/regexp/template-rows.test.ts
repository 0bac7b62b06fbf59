/** Patterns that the values of variables decide, over many rows of a few templates, against JavaScript's own matcher. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Filter, type LogRow, openStore, type Store } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const secondNs = 1_000_000_000n;
const startNs = 19_700n * 86_400n * secondNs;
const rowCount = 20_000;

/** Of each template, how many of a hundred rows have it, and a message. */
const templates: readonly [share: number, make: (random: Random) => string][] = [
  [
    30,
    (r) =>
      `Receiving block blk_${r.below(2) ? "-" : ""}${r.below(1e9)}${r.below(1e6)} src: /10.0.0.${r.below(250)}`,
  ],
  // Few values, so that rows share texts.
  [20, (r) => `worker ${r.below(12)} took ${r.below(90)} ms of ${r.below(3)}s`],
  // One of the variables has the same value in all rows.
  [20, (r) => `user u77 opened file-${r.below(1e6).toString(16)}ab9 ünïcode${r.below(50)}é`],
  // Whole messages that are single variables, and some with the byte that stands for a variable.
  [10, (r) => `x${r.below(1e9)}`],
  [3, (r) => `odd \u0001 ${r.below(1e5)} end`],
  [
    15,
    (r) =>
      `GET /api/v${r.below(4)}/items/${r.below(1e5)} ${200 + r.below(300)} ${"7".repeat(r.below(16))}${r.below(10)}x`,
  ],
  // So few rows that they are matched one by one.
  [1, (r) => `rare block blk_${r.below(1e9)} of ${r.below(9)}`],
  [1, (r) => `line 1\nline ${r.below(100)}`],
];

const patterns = [
  "blk_-?[0-9]{5,}1[0-9]+ ",
  "blk_-?[0-9]*77[0-9]*",
  "block blk_[0-9]+ src",
  "worker (3|7|11) took",
  "took [0-9]+[05] ms of [12]",
  "(took|Receiving).*[1-3]s?$",
  "file-[0-9a-f]*[a-f]{2}ab9",
  "code1[0-9]é$",
  "^x[0-9]*9$",
  "\\b4[0-9]{2}\\b",
  "items/[0-9]*0[0-9]* (2|3)[0-9]+ ",
  // More states than an automaton may have: undecided rows are matched with their whole messages.
  "7[0-9]{13}x",
  "[0-9]*7[0-9]{11}[0-9]x$",
  "(?m)^line 9",
  "odd . [0-9]+ e",
  "nothing[0-9]",
  "[0-9]",
  "",
];

describe(`patterns over values (SVC_SEED=${seed})`, () => {
  const random = new Random(seed);
  const dir = mkdtempSync(join(tmpdir(), "svc-template-rows-"));
  let store: Store;
  const drawn = templates.flatMap((each) => Array.from({ length: each[0] }, () => each));
  const rows: LogRow[] = Array.from({ length: rowCount }, (_, i) => {
    const [, make] = drawn[random.below(drawn.length)]!;
    const attributes = { tenth: `${random.below(10)}`, half: `${random.below(2)}` };
    return { timeNs: startNs + BigInt(i) * secondNs, level: "info", message: make(random), attributes };
  });

  beforeAll(async () => {
    store = await openStore({ dir, threads: 2 });
    await store.append("logs", rows);
    await store.seal();
  });

  afterAll(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  async function count(filters: readonly Filter[]): Promise<number> {
    const { points } = await store.aggregate({
      ...{
        signal: "logs",
        fromNs: startNs,
        toNs: startNs + 86_400n * secondNs,
        groupBy: [],
      },
      steps: filters.map((filter) => ({ kind: "filter", filter })),
      aggregates: [{ op: "count" }],
    });
    return points.values[0]?.[0] ?? 0;
  }

  test.each(patterns)("%s", async (pattern) => {
    const inline = pattern.startsWith("(?m)");
    const expression = new RegExp(inline ? pattern.slice(4) : pattern, inline ? "mu" : "u");
    const matches: Filter = { kind: "matches", field: { kind: "message" }, pattern, whole: false };
    const equals = (key: string): Filter => ({
      kind: "equals",
      field: { kind: "attribute", key },
      value: "1",
    });
    const wanted = (key?: string) =>
      rows.filter(
        ({ message, attributes }) =>
          expression.test(message) && (key === undefined || attributes[key] === "1"),
      ).length;
    expect(await count([matches])).toBe(wanted());
    // Half of the rows, and so few of them that single rows are matched.
    for (const key of ["half", "tenth"]) expect(await count([equals(key), matches])).toBe(wanted(key));
    expect(await count([{ kind: "not", of: matches }])).toBe(rows.length - wanted());
  });
});
