/** A store of messages, in which patterns are counted and compared with JavaScript's own matcher. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Filter, type LogRow, openStore, type Store } from "../../../engine/index.ts";
import { readInventory } from "../../../engine/inspect/inventory.ts";
import { Random } from "../../../fixtures/random.ts";

const secondNs = 1_000_000_000n;
const startNs = 19_700n * 86_400n * secondNs;

export const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

/** Patterns are tested over messages, of which `encoding` says how the store keeps them, and each also within rows of an attribute. */
export function describePatterns(
  title: string,
  { rows: count, make, encoding }: { rows: number; make: (random: Random) => string; encoding: string },
  patterns: readonly string[],
): void {
  describe(`${title} (SVC_SEED=${seed})`, () => {
    const random = new Random(seed);
    const dir = mkdtempSync(join(tmpdir(), "svc-patterns-"));
    let store: Store;
    const rows: LogRow[] = Array.from({ length: count }, (_, i) => {
      const attributes = {
        tenth: `${random.below(10)}`,
        half: `${random.below(2)}`,
        few: `${random.below(40)}`,
      };
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

    test(`messages are stored as ${encoding}`, async () => {
      const [logs] = await readInventory(dir);
      const messages = logs!.columns.find(({ role }) => role === "message");
      expect(Object.keys(messages!.encodings)).toEqual([encoding]);
    });

    async function countRows(filters: readonly Filter[]): Promise<number> {
      const { points } = await store.aggregate({
        ...{ signal: "logs", fromNs: startNs, toNs: startNs + 86_400n * secondNs, groupBy: [] },
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
      expect(await countRows([matches])).toBe(wanted());
      // Half of the rows, and so few of them that single rows are matched.
      for (const key of ["half", "tenth", "few"])
        expect(await countRows([equals(key), matches])).toBe(wanted(key));
      expect(await countRows([{ kind: "not", of: matches }])).toBe(rows.length - wanted());
    });
  });
}
