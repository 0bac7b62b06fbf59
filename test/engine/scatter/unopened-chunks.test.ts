/**
 * The first questions about a store, which the scan threads answer, and those that are asked while the query thread reads
 * what it left to them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type AggregateQuery,
  type Filter,
  type LogRow,
  openStore,
  type Store,
  type StoreEvent,
} from "../../../engine/index.ts";
import { textAt } from "../../../engine/vector/text.ts";
import { Random } from "../../../fixtures/random.ts";
import { scaled } from "../../durability/campaign.ts";
import { seed } from "../datasets.ts";

const random = new Random(seed);
const dayNs = 86_400_000_000_000n;
const firstNs = 20_000n * dayNs;
const days = 9;
const dir = mkdtempSync(join(tmpdir(), "svc-unopened-"));
const rows: LogRow[] = [];
const events: StoreEvent[] = [];

beforeAll(async () => {
  const store = await open();
  for (let day = 0; day < days; day++) {
    const added = Array.from({ length: 300 }, (_, i): LogRow => {
      const attributes: Record<string, string> = random.oneIn(5) ? {} : { service: `s${random.below(4)}` };
      if (random.oneIn(2)) attributes.id = `${random.below(400)}`;
      const message = `request ${random.below(30_000)} from ${random.pick(["cart", "shop", `d${day}`])}`;
      return { timeNs: firstNs + BigInt(day) * dayNs + BigInt(i), level: "info", message, attributes };
    });
    rows.push(...added);
    await store.append("logs", added);
    await store.seal();
  }
  await store.close();
});
afterAll(() => rmSync(dir, { recursive: true }));

function open(): Promise<Store> {
  const now = () => Number((firstNs + BigInt(days) * dayNs) / 1_000_000n);
  return openStore({ dir, threads: 2, now, log: (event) => events.push(event) });
}

interface Question {
  text: string | undefined;
  groupBy: "service" | "id" | undefined;
  /** Days of the range. */
  from: number;
  to: number;
}

function makeQuestion(): Question {
  const from = random.below(days - 1);
  const texts = [undefined, "cart", "d3", "nothing", `${random.below(30_000)}`];
  return {
    ...{ text: random.pick(texts), groupBy: random.pick([undefined, "service", "id"]) },
    ...(random.oneIn(2) ? { from: 0, to: days } : { from, to: from + 1 + random.below(days - from) }),
  };
}

async function ask(store: Store, { text, groupBy, from, to }: Question): Promise<Map<string, number>> {
  const filter: Filter = {
    kind: "contains",
    field: { kind: "message" },
    text: text ?? "",
    ignoreCase: false,
  };
  const query: AggregateQuery = {
    ...{ signal: "logs", fromNs: firstNs + BigInt(from) * dayNs, toNs: firstNs + BigInt(to) * dayNs },
    steps: text === undefined ? [] : [{ kind: "filter", filter }],
    groupBy: groupBy === undefined ? [] : [{ kind: "attribute", key: groupBy }],
    aggregates: [{ op: "count" }],
  };
  const { labels, points, scanned } = await store.aggregate(query);
  expect(scanned.rows + scanned.rowsSkipped).toBe(300 * (to - from));
  return new Map(
    Array.from(points.groups, (group, i) => [
      groupBy === undefined ? "" : textAt(labels, group),
      points.values[0]![i]!,
    ]),
  );
}

function countByLoop({ text, groupBy, from, to }: Question): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { timeNs, message, attributes } of rows) {
    const day = Number((timeNs - firstNs) / dayNs);
    if (day < from || day >= to || (text !== undefined && !message.includes(text))) continue;
    const label = groupBy === undefined ? "" : String(attributes[groupBy] ?? "");
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return counts;
}

test(`are what a loop over the rows gives, one by one and many at once (SVC_SEED=${seed})`, async () => {
  for (let round = 0; round < scaled(3, 120); round++) {
    const store = await open();
    for (let i = 0; i < 8; i++) {
      const questions = Array.from({ length: random.oneIn(2) ? 1 : 5 }, makeQuestion);
      const answers = await Promise.all(questions.map((question) => ask(store, question)));
      for (const [i, question] of questions.entries())
        expect([question, answers[i]]).toEqual([question, countByLoop(question)]);
      await sleep(random.pick([0, 20, 60, 100]));
    }
    await store.close();
  }
  expect(events.filter(({ level }) => level !== "info")).toEqual([]);
});

test("a store is closed at any time after a first question", async () => {
  for (const pauseMs of [0, 10, 48, 50, 52, 55, 60]) {
    const store = await open();
    await ask(store, { text: "cart", groupBy: undefined, from: 0, to: days });
    await sleep(pauseMs);
    await store.close();
  }
  expect(events.filter(({ level }) => level !== "info")).toEqual([]);
});

test("the query thread learns what the scan threads read, and then answers by itself", async () => {
  const store = await open();
  const question = { text: "nothing", groupBy: undefined, from: 0, to: days };
  expect(await ask(store, question)).toEqual(new Map());
  const filter: Filter = {
    ...{ kind: "contains", text: "request" },
    field: { kind: "message" },
    ignoreCase: false,
  };
  await expect
    .poll(async () => {
      const { scanned } = await store.aggregate({
        ...{ signal: "logs", fromNs: firstNs, toNs: firstNs + BigInt(days) * dayNs, groupBy: [] },
        ...{ steps: [{ kind: "filter", filter }], aggregates: [{ op: "count" }] },
      });
      return [scanned.rows, scanned.chunksCounted];
    })
    .toEqual([0, days]);
  await store.close();
});
