/** Groups by attributes of many values, whose labels threads number, against a loop over the rows. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AggregateQuery, type LogRow, openStore, type Store, textAt } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const secondNs = 1_000_000_000n;
const dayNs = 86_400n * secondNs;
const startNs = 19_700n * dayNs;
/** Each has a chunk of its own. */
const days = 10;
const rowsEach = 8_000;
const fields = ["user", "session", ...Array.from({ length: 9 }, (_, i) => `code${i}`)];

/**
 * Users occur on all days, sessions on one day each, more than a thread numbers; a user may have the text of a session.
 * Codes have a hundred values. Some rows lack each of them.
 */
function makeDay(random: Random, day: number): LogRow[] {
  return Array.from({ length: rowsEach }, (_, i) => {
    const attributes: Record<string, string> = {};
    if (random.below(10) > 0) attributes.user = `u${random.below(3_000)}`;
    if (random.below(10) > 0)
      attributes.session = `${random.below(2) === 0 ? "s" : "u"}${day * 8_000 + random.below(8_000)}`;
    for (let code = 0; code < 9; code++)
      if (random.below(4) > 0) attributes[`code${code}`] = `${"é".repeat(code)}${random.below(100)}`;
    return {
      timeNs: startNs + BigInt(day) * dayNs + BigInt(i * 10) * secondNs,
      level: random.below(5) === 0 ? "error" : "info",
      message: "m",
      attributes,
    };
  });
}

describe(`many labels (SVC_SEED=${seed})`, () => {
  const random = new Random(seed);
  const dir = mkdtempSync(join(tmpdir(), "svc-many-labels-"));
  const rows: LogRow[] = [];
  let store: Store;

  beforeAll(async () => {
    store = await openStore({ dir, threads: 2 });
    for (let day = 0; day < days; day++) {
      const made = makeDay(random, day);
      rows.push(...made);
      await store.append("logs", made);
    }
    await store.seal();
  });

  afterAll(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  async function expectCounts(
    groupBy: readonly string[],
    isError: boolean,
    bucketSeconds: number,
  ): Promise<void> {
    const query: AggregateQuery = {
      signal: "logs",
      fromNs: startNs,
      toNs: startNs + BigInt(days) * dayNs,
      steps: isError
        ? [{ kind: "filter", filter: { kind: "equals", field: { kind: "level" }, value: "error" } }]
        : [],
      groupBy: groupBy.map((key) => ({ kind: "attribute", key })),
      bucketNs: BigInt(bucketSeconds) * secondNs,
      aggregates: [{ op: "count" }],
      isRanked: true,
    };
    const { labels, points } = await store.aggregate(query);
    const found = new Map<string, number>();
    for (const [i, group] of points.groups.entries()) {
      const texts = groupBy.map((_, field) => textAt(labels, group * groupBy.length + field));
      found.set([...texts, points.buckets[i]].join("|"), points.values[0]![i]!);
    }
    const wanted = new Map<string, number>();
    for (const { timeNs, level, attributes } of rows) {
      if (isError && level !== "error") continue;
      const bucket = Math.floor(Number((timeNs - startNs) / secondNs) / bucketSeconds);
      const key = [...groupBy.map((name) => attributes[name] ?? ""), bucket].join("|");
      wanted.set(key, (wanted.get(key) ?? 0) + 1);
    }
    expect(found.size).toBe(wanted.size);
    for (const [key, count] of wanted)
      if (found.get(key) !== count) expect([key, found.get(key)]).toEqual([key, count]);
  }

  test("are counted each in its group, whatever fields were asked for before", async () => {
    for (let asked = 0; asked < 40; asked++) {
      const field = fields[random.below(fields.length)]!;
      await expectCounts([field], random.below(2) === 0, random.below(2) === 0 ? 864_000 : 43_200);
    }
  }, 120_000);

  test("of two fields together are pairs", async () => {
    await expectCounts(["code1", "code2"], false, 864_000);
    await expectCounts(["user", "code3"], true, 864_000);
  });
});
