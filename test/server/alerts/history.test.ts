/** Transitions by age, filter and page, against a plain list. */
import { expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { historyRowsMax, historySegmentRows } from "../../../server/alerts/limits.ts";
import type { Transition } from "../../../server/alerts/state/judgement.ts";
import { type HistoryQuery, TransitionHistory } from "../../../server/alerts/transition-history.ts";
import { Disk } from "./disk.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const day = 86_400_000;
const ageMs = 30 * day;
const beginMs = Date.UTC(2026, 0, 1);

function transition(random: Random, atMs: number): Transition {
  return {
    rule: random.pick(["low", "high"]),
    labels: { name: random.pick(["a", "b"]), zone: random.pick(["x", "y"]) },
    ...{
      from: "ok",
      to: "firing",
      atMs,
      decided: { bucketMs: atMs, value: random.below(9) },
      why: "",
      fireId: null,
    },
  };
}

function readAll(history: TransitionHistory, id: string, query: HistoryQuery, nowMs: number): Transition[] {
  const found: Transition[] = [];
  let cursor: string | undefined;
  do {
    const page = history.page(id, { ...query, ...(cursor === undefined ? {} : { cursor }) }, nowMs);
    expect(page.transitions.length).toBeLessThanOrEqual(query.limit);
    found.push(...page.transitions);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return found;
}

test(`pages and filters give what a plain list does (SVC_SEED=${seed})`, async () => {
  const random = new Random(seed);
  const state = new Disk().open();
  const history = new TransitionHistory(state, ageMs);
  const ids = ["a", "a/000000000000001", "b"];
  const plain = new Map(ids.map((id) => [id, [] as Transition[]]));
  let nowMs = beginMs;
  for (let step = 0; step < 150; step++) {
    nowMs += random.below(12 * 3_600_000);
    const id = random.pick(ids);
    // A correction has the time of an older bucket.
    const added = Array.from({ length: random.between(0, 5) }, () =>
      transition(random, nowMs - random.below(3_600_000)),
    );
    await state.write(history.append(id, added, nowMs));
    plain.get(id)!.push(...added);
    if (random.oneIn(10)) await state.write(history.expired(ids, nowMs));
    const query: HistoryQuery = {
      limit: random.pick([1, 3, 50, 1_000]),
      ...(random.oneIn(2) ? { rule: "low" } : {}),
      ...(random.oneIn(2) ? { labels: { zone: "x" } } : {}),
      ...(random.oneIn(3) ? { startMs: nowMs - random.below(10 * day) } : {}),
      ...(random.oneIn(3) ? { endMs: nowMs - random.below(10 * day) } : {}),
    };
    const wanted = plain.get(id)!.filter(({ rule, labels, atMs }) => {
      const { startMs = 0, endMs = nowMs } = query;
      const isAsked = (query.rule ?? rule) === rule && (query.labels?.zone ?? labels.zone) === labels.zone;
      return isAsked && atMs >= Math.max(startMs, nowMs - ageMs) && atMs <= endMs;
    });
    expect(readAll(history, id, query, nowMs), `step ${step}`).toEqual(wanted.reverse());
  }
  // What is too old is deleted, all but some of the segment that also has newer ones.
  const kept = [...plain.values()].flat().filter(({ atMs }) => atMs >= nowMs - ageMs).length;
  await state.write(history.expired(ids, nowMs));
  expect(history.segmentCount).toBeLessThanOrEqual(kept / historySegmentRows + 2 * ids.length);
});

test("one alert keeps so many, and the page says from when on", async () => {
  const random = new Random(1);
  const state = new Disk().open();
  const history = new TransitionHistory(state, ageMs);
  const all = Array.from({ length: historyRowsMax + 500 }, (_, i) =>
    transition(random, beginMs + i * 60_000),
  );
  const nowMs = all.at(-1)!.atMs;
  for (const each of all) await state.write(history.append("a", [each], nowMs));
  const found = readAll(history, "a", { limit: 1_000 }, nowMs);
  expect(found).toEqual(all.slice(-historyRowsMax).reverse());
  expect(history.page("a", { limit: 1 }, nowMs).keptFromMs).toBe(found.at(-1)!.atMs);
  await state.write(history.removal("a"));
  expect(history.segmentCount).toBe(0);
});

test("what an earlier version stored is listed after newer ones, and deleted when it is too old", async () => {
  const random = new Random(2);
  const state = new Disk().open();
  const old = [2, 1, 0].map((i) => transition(random, beginMs + i));
  await state.write([{ table: "alert-histories", id: "a", value: old as never }]);
  const history = new TransitionHistory(state, ageMs);
  const added = transition(random, beginMs + day);
  await state.write(history.append("a", [added], beginMs + day));
  expect(readAll(history, "a", { limit: 2 }, beginMs + day)).toEqual([added, ...old]);
  await state.write(history.expired(["a"], beginMs + ageMs + 100));
  expect(readAll(history, "a", { limit: 2 }, beginMs + ageMs + 100)).toEqual([added]);
  expect(state.count("alert-histories")).toBe(0);
  expect(() => history.page("a", { limit: 1, cursor: "x" }, 0)).toThrow("cursor must be that of a page");
});
