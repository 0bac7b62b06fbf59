/** Fires are investigated once, together where they may have one cause, and their destinations hear of it once. */

import { expect, test, vi } from "vitest";
import { type Fire, makeFiredEvent } from "../../../server/alerts/state/fire.ts";
import { Disk } from "../alerts/disk.ts";
import { firedAtMs, hook, slack } from "../notify/events.ts";
import {
  makeAnswer,
  makeFire,
  openRig,
  type RigOptions,
  request,
  type SentTo,
  saver,
  sentTo,
} from "./fire-rig.ts";

const minuteMs = 60_000;

async function investigateAll(
  rounds: readonly (readonly Fire[])[],
  changes: Partial<RigOptions> & { verdict?: "cause" | "nothing" | "unsure" } = {},
) {
  const state = new Disk().open();
  const sent: SentTo[] = [];
  let [running, most, runs] = [0, 0, 0];
  const fires = new Map(rounds.flat().map((fire) => [fire.id, fire]));
  const rig = openRig({
    ...{ state, fires, now: () => firedAtMs + 60 * minuteMs },
    investigate: async () => {
      runs++;
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      return makeAnswer(changes.verdict ?? "cause");
    },
    send: async (delivery) => {
      sent.push(sentTo(delivery));
      return { kind: "delivered" };
    },
    ...changes,
  });
  rig.investigator.run();
  for (const round of rounds) {
    await request(state, rig, round);
    await vi.waitFor(() => expect(rig.requests.list()).toEqual([]), 5_000);
  }
  await rig.investigator.close();
  await rig.outbox.sendDue();
  return { ...rig, sent, runs, most, found: rig.records.list().map(({ investigation }) => investigation) };
}

test("ten alerts of one cause get one investigation, and each destination one message", async () => {
  const fires = Array.from({ length: 10 }, (_, i) =>
    makeFire(`alert-${i}`, i * 10_000, { actions: [hook(`hook-${i % 3}`), hook("all")] }),
  );
  const { runs, found, sent } = await investigateAll([fires]);
  expect([runs, found.length, found[0]!.fires.length]).toEqual([1, 1, 10]);
  expect(sent.map(({ uuid }) => uuid).sort()).toEqual(["all", "hook-0", "hook-1", "hook-2"]);
  expect(found[0]!.startTime).toBe(firedAtMs - 2 * minuteMs);
});

test("a later fire joins the investigation that has named the cause, and only new destinations hear of it", async () => {
  const first = makeFire("first", 0, { actions: [hook("shared")] });
  const later = makeFire("later", 5 * minuteMs, { actions: [hook("shared"), hook("own")] });
  const other = makeFire("other", 40 * minuteMs);
  const { runs, found, sent } = await investigateAll([[first], [later], [other]]);
  expect([runs, found.map(({ fires }) => fires.length).sort()]).toEqual([2, [1, 2]]);
  expect(sent.map(({ uuid }) => uuid).sort()).toEqual(["hook-other", "own", "shared"]);
});

test("where nothing was found, a later fire is investigated anew", async () => {
  const { runs, sent } = await investigateAll([[makeFire("a")], [makeFire("b", minuteMs)]], {
    verdict: "nothing",
  });
  expect([runs, sent]).toEqual([2, []]);
});

test("fifty fires of callers with different rights wait in a queue of two", async () => {
  const fires = Array.from({ length: 50 }, (_, i) => makeFire(`alert-${i}`));
  const saverOf = (alertId: string) => ({ ...saver, tokenId: alertId });
  const readsSame: RigOptions["readsSame"] = (one, two) => one.tokenId === two.tokenId;
  const { runs, most, found, sent } = await investigateAll([fires], { saverOf, readsSame });
  expect([runs, most, found.length, sent.length]).toEqual([50, 2, 50, 50]);
});

test("nobody hears of the investigation of a fire that nobody heard of", async () => {
  const silenced = makeFire("silenced", 0, { told: "no", silencedBy: "s" });
  const { found, sent } = await investigateAll([[silenced]]);
  expect([found[0]!.answer!.verdict, sent]).toEqual(["cause", []]);
});

test("a failure is kept with its sentence, and an alert that was deleted leaves nothing", async () => {
  const failing = { investigate: () => Promise.reject(new Error("access lost: the token is gone")) };
  const { found, sent } = await investigateAll([[makeFire("a")]], failing);
  expect(found[0]).toMatchObject({
    status: "failed",
    problem: "access lost: the token is gone",
    answer: null,
  });
  expect(sent).toEqual([]);
  const deleted = await investigateAll([[makeFire("a")]], { saverOf: () => undefined });
  expect(deleted.found).toEqual([]);
});

test("a fire waits until enough of what follows it has arrived", async () => {
  const state = new Disk().open();
  const fire = makeFire("a");
  let nowMs = firedAtMs + 30_000;
  const rig = openRig({
    ...{ state, fires: new Map([[fire.id, fire]]), now: () => nowMs },
    investigate: async () => makeAnswer("cause"),
    send: async () => ({ kind: "delivered" }),
  });
  rig.investigator.run();
  await request(state, rig, [fire]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(rig.records.list()).toEqual([]);
  nowMs = firedAtMs + 3 * minuteMs;
  await request(state, rig, [fire]);
  await vi.waitFor(() => expect(rig.records.list()).toHaveLength(1), 5_000);
  await rig.investigator.close();
});

test("a message to people follows the alert's own, and none follows a message that reached nobody", async () => {
  for (const [outcome, expected] of [
    [{ kind: "delivered", receipt: { ts: "17.1" } }, ["alertFired", "investigationCompleted in 17.1"]],
    [{ kind: "final", problem: "no such channel" }, ["alertFired"]],
  ] as const) {
    const state = new Disk().open();
    const fire = makeFire("a", 0, { actions: [slack("#ops")] });
    let nowMs = firedAtMs + 10 * minuteMs;
    const sent: string[] = [];
    const rig = openRig({
      ...{ state, fires: new Map([[fire.id, fire]]), now: () => nowMs },
      investigate: async () => makeAnswer("cause"),
      send: async ({ events: [event], receipts: [receipt] }) => {
        sent.push(
          receipt === undefined ? event!.type : `${event!.type} in ${(receipt as { ts: string }).ts}`,
        );
        return outcome;
      },
    });
    const deliver = async () => {
      nowMs += 10 * minuteMs;
      await rig.outbox.sendDue();
    };
    const told = rig.outbox.prepare({
      messages: [{ event: makeFiredEvent(fire, false, 1), actions: fire.actions }],
    });
    await state.write(told.changes);
    told.stored();
    await deliver();
    rig.investigator.run();
    await request(state, rig, [fire]);
    await vi.waitFor(() => expect(rig.requests.list()).toEqual([]), 5_000);
    await rig.investigator.close();
    await deliver();
    expect(sent).toEqual(expected);
  }
});
