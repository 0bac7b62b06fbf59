/** Columns of rows against a naive loop: random rows in every state, random steps, ranges and fields. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type {
  ColumnData,
  ColumnRead,
  LogRow,
  RowColumns,
  RowColumnsQuery,
  Step,
} from "../../../engine/index.ts";
import { runSteps } from "../../query/naive.ts";
import { arbitrarySteps } from "../arbitrary.ts";
import {
  arbitraryRange,
  type Dataset,
  type FilledStore,
  fillStore,
  printBigInt,
  sample,
  seed,
} from "../datasets.ts";

const datasets = 10;
const queriesEach = 40;

let filled: FilledStore;

describe(`random reads of columns (SVC_SEED=${seed})`, () => {
  beforeAll(async () => {
    filled = await fillStore(datasets, 32 * 2 ** 20);
  }, 120_000);

  afterAll(() => filled.close());

  test(`${datasets * queriesEach} reads are what a loop over the rows gives`, async () => {
    let found = 0;
    for (const [number, set] of filled.sets.entries()) {
      for (const query of sample(arbitraryQuery(set), queriesEach, 23_000 + number)) {
        const read = await filled.store.readColumns(query);
        const context = `dataset ${number} (${set.state}): ${JSON.stringify(query, printBigInt)}`;
        expect(describeRead(query, read), context).toEqual(naiveRead(set, query));
        found += read.rows;
      }
    }
    expect(found).toBeGreaterThan(500);
  }, 300_000);

  test("equal ids have equal hashes, whatever their chunks' encodings, and different ids do not", async () => {
    for (const set of filled.sets) {
      const keys = [...new Set(set.rows.flatMap(({ attributes }) => Object.keys(attributes)))];
      const { fromNs, toNs } = set;
      for (const key of keys.slice(0, 5)) {
        const field = { kind: "attribute", key } as const;
        const columns: ColumnRead[] = [
          { field, as: "text" },
          { field, as: "hash" },
        ];
        const read = await filled.store.readColumns({
          signal: "logs",
          fromNs,
          toNs,
          steps: [],
          rowsMax: 1e6,
          columns,
        });
        const byHash = new Map<string, string>();
        const byText = new Map<string, string>();
        for (let row = 0; row < read.rows; row++) {
          const [text, hash] = [cellAt(read.columns[0]!, row), cellAt(read.columns[1]!, row)] as [
            string,
            string,
          ];
          expect([text, byHash.get(hash) ?? text]).toEqual([text, text]);
          expect([hash, byText.get(text) ?? hash]).toEqual([hash, hash]);
          byHash.set(hash, text);
          byText.set(text, hash);
        }
        expect(byText.get("") ?? "0:0").toBe("0:0");
      }
    }
  }, 120_000);

  test("more rows than were asked for are refused", async () => {
    const set = filled.sets.find(({ rows }) => rows.length > 10)!;
    const readAtMost = (rowsMax: number) =>
      filled.store.readColumns({
        signal: "logs",
        fromNs: set.fromNs,
        toNs: set.toNs,
        steps: [],
        columns: [],
        rowsMax,
      });
    const { rows } = await readAtMost(1e6);
    expect((await readAtMost(rows)).rows).toBe(rows);
    await expect(readAtMost(rows - 1)).rejects.toMatchObject({ kind: "limit" });
  });
});

function arbitraryQuery(set: Dataset): fc.Arbitrary<RowColumnsQuery> {
  const keys = [...new Set(set.rows.flatMap(({ attributes }) => Object.keys(attributes))), "nowhere"];
  const field = fc.oneof(
    fc.constantFrom({ kind: "level" } as const, { kind: "message" } as const),
    fc.constantFrom(...keys).map((key) => ({ kind: "attribute", key }) as const),
  );
  const column: fc.Arbitrary<ColumnRead> = fc.record({ field, as: fc.constantFrom("text", "number") });
  return fc
    .tuple(
      arbitraryRange(set),
      fc.oneof(arbitrarySteps(set.rows), fc.constant<Step[]>([])),
      fc.array(column, { maxLength: 4 }),
    )
    .map(([range, steps, columns]) => ({ signal: "logs", ...range, steps, columns, rowsMax: 1e6 }));
}

function cellAt(column: ColumnData, row: number): string | number {
  if (column.as === "text") return column.values[column.codes[row]!]!;
  return column.as === "number" ? column.values[row]! : `${column.low[row]!}:${column.high[row]!}`;
}

/** The rows as texts, in an order of their own. */
function describeRead({ columns }: RowColumnsQuery, read: RowColumns): string[] {
  expect(read.columns.map(({ as }) => as)).toEqual(columns.map(({ as }) => as));
  return Array.from({ length: read.rows }, (_, row) =>
    JSON.stringify([read.timeNs[row], ...read.columns.map((column) => cellAt(column, row))]),
  ).sort();
}

function naiveRead(set: Dataset, { fromNs, toNs, steps, columns }: RowColumnsQuery): string[] {
  const within = set.rows.filter(({ timeNs }) => timeNs >= fromNs && timeNs < toNs);
  const rows: LogRow[] = within.flatMap((each) => runSteps(steps, [each]));
  return rows
    .map((row) => {
      const cells = columns.map(({ field, as }) => {
        const text = textOf(row, field);
        if (as === "text") return text;
        return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : null;
      });
      return JSON.stringify([Number(row.timeNs - fromNs), ...cells]);
    })
    .sort();
}

function textOf(row: LogRow, field: ColumnRead["field"]): string {
  if (field.kind === "level") return row.level.toLowerCase();
  return field.kind === "attribute" ? (row.attributes[field.key] ?? "") : row.message;
}
