/** Queries that run at once on a thread whose column cache holds the columns of about one of them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LogRow, openStore, type Store } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "../datasets.ts";

const random = new Random(seed);
const keys = ["a", "b", "c", "d", "e", "f", "g", "h"];
const rowCount = 20_000;
const firstNs = 20_000n * 86_400_000_000_000n;
const range = { signal: "logs", fromNs: firstNs, toNs: firstNs + 86_400_000_000_000n } as const;
const dir = mkdtempSync(join(tmpdir(), "svc-full-cache-"));
let rows: LogRow[];
let store: Store;

beforeAll(async () => {
  rows = Array.from({ length: rowCount }, (_, i): LogRow => {
    const texts = keys.map((key) => [key, `${random.below(2 ** 32)} ${random.below(2 ** 32)} of ${key}`]);
    const attributes = { odd: `${i % 2}`, ...Object.fromEntries(texts) };
    return { timeNs: firstNs + BigInt(i), level: "info", message: "", attributes };
  });
  store = await openStore({ dir, threads: 1, columnCacheBytes: 2 * 2 ** 20 });
  await store.append("logs", rows);
  await store.seal();
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

/** The number of rows in which an attribute holds a text. */
async function count(key: string, text: string): Promise<number> {
  const filter = { kind: "contains", field: { kind: "attribute", key }, text, ignoreCase: false } as const;
  const aggregates = [{ op: "count" } as const];
  const found = await store.aggregate({
    ...range,
    steps: [{ kind: "filter", filter }],
    groupBy: [],
    aggregates,
  });
  return found.points.values[0]?.[0] ?? 0;
}

test("are all answered, as one after the other", async () => {
  for (let round = 0; round < 5; round++) {
    const questions = keys.flatMap((key) =>
      [`${random.below(1000)}`, "9 of "].map((text) => [key, text] as const),
    );
    const counts = await Promise.all(questions.map(([key, text]) => count(key, text)));
    const byLoop = questions.map(
      ([key, text]) => rows.filter(({ attributes }) => String(attributes[key]).includes(text)).length,
    );
    expect(counts).toEqual(byLoop);
  }
});
