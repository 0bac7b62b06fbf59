/** Notifications that wait: how many, for how long, and by which clock. */
import { describe, expect, test } from "vitest";
import type { Action } from "../../../server/model/alert.ts";
import { stableId } from "../../../server/model/stable-id.ts";
import {
  allWaitingBytesMax,
  allWaitingMax,
  endedKept,
  retryDelaysMs,
  untoldMsMax,
  waitingAgeMsMax,
  waitingBytesMax,
  waitingMax,
} from "../../../server/notify/limits.ts";
import type { Outcome } from "../../../server/notify/senders/sender.ts";
import { fired, hook, mail, resolved } from "./events.ts";
import { Post } from "./post.ts";

const minute = 60_000;
const hour = 60 * minute;
const refused: Outcome = { kind: "retry", problem: "connect ECONNREFUSED", isRefused: true };
const unanswered: Outcome = { kind: "retry", problem: "reset" };

const waiting = ({ outbox }: Post) => outbox.list().filter(({ status }) => status === "waiting");
const givenUp = ({ outbox }: Post) => outbox.list().filter(({ status }) => status === "givenUp");
const metric = (post: Post, name: string) =>
  Number(new RegExp(`^${name} (\\S+)$`, "m").exec(post.metrics.text())?.[1]);
const stored = (post: Post) => post.disk.tables.get("notifications")?.size ?? 0;

async function putMany(post: Post, action: Action, count: number, changes = {}, from = 0): Promise<void> {
  const events = Array.from({ length: count }, (_, i) => fired(`s${from + i}`, changes));
  await post.put(...events.map((event) => ({ event, actions: [action] })));
}

describe("what waits for a destination", () => {
  test("is bounded in number: the oldest are given up, and everybody can see it", async () => {
    const post = new Post();
    post.answer = () => refused;
    await putMany(post, hook("h"), waitingMax);
    expect([waiting(post).length, givenUp(post).length]).toEqual([waitingMax, 0]);
    await putMany(post, hook("h"), 3, { alertId: "alert-2", alertName: "Another" }, waitingMax);
    await post.outbox.close();
    expect(waiting(post)).toHaveLength(waitingMax);
    const names = givenUp(post).map(({ event }) => event.labels["service.name"]);
    expect(names.sort()).toEqual(["s0", "s1", "s2"]);
    expect(post.logged).toEqual([
      expect.stringMatching(
        /^error notification \S+ \(alertFired of alert "Too many errors"\) to webhook h was given up: more than 10000 notifications, or 32 MiB of them, wait for this destination: the oldest are given up$/,
      ),
    ]);
    expect(metric(post, 'svc_notifications_given_up_total{type="webhook"}')).toBe(3);
    expect(stored(post)).toBe(waitingMax + 3);
  });

  test("is bounded in bytes", async () => {
    const post = new Post();
    post.answer = () => refused;
    await putMany(post, hook("h"), 100, { query: "q".repeat(500_000) });
    await post.outbox.close();
    const bytes = waiting(post).reduce((sum, each) => sum + JSON.stringify(each).length, 0);
    expect(bytes).toBeLessThanOrEqual(waitingBytesMax);
    expect(bytes).toBeGreaterThan(waitingBytesMax - 600_000);
    expect(metric(post, "svc_notifications_waiting_bytes")).toBe(bytes);
    expect(waiting(post).at(0)!.event.labels["service.name"]).not.toBe("s0");
  });

  test("is bounded in age, whatever the receiver asks for", async () => {
    const post = new Post();
    post.answer = () => ({ ...unanswered, afterMs: 12 * hour });
    await post.put({ event: fired("a"), actions: [hook("h")] });
    await post.pass(waitingAgeMsMax - minute);
    expect(waiting(post)).toHaveLength(1);
    await post.pass(2 * minute);
    await post.outbox.sendDue();
    expect(givenUp(post)).toMatchObject([{ problem: "it waited for more than 24 h" }]);
  });

  test("may be sent again by hand after it was given up", async () => {
    const post = new Post();
    post.answer = () => refused;
    await putMany(post, hook("h"), waitingMax + 1);
    await post.outbox.close();
    const [{ id } = { id: "" }] = givenUp(post);
    post.answer = () => ({ kind: "delivered" });
    expect(await post.outbox.resend(id)).toBe(true);
    await post.pass(minute);
    expect(post.outbox.get(id)?.status).toBe("delivered");
  }, 60_000);

  test("is bounded where nothing can be stored for a while, and nothing spins", async () => {
    const post = new Post();
    post.answer = () => refused;
    await putMany(post, hook("h"), waitingMax);
    const { changes, stored: believe } = post.outbox.prepare({
      messages: [{ event: fired("one more"), actions: [hook("h")] }],
    });
    await post.state.write(changes);
    post.disk.isFull = true;
    believe();
    await post.outbox.close();
    expect(waiting(post)).toHaveLength(waitingMax + 1);
    expect(post.logged).toEqual(["error notifications: the disk is full"]);
    expect(post.outbox.nextDueMs()).toBeGreaterThan(post.nowMs);
    post.disk.isFull = false;
    await post.outbox.sendDue();
    expect(waiting(post)).toHaveLength(waitingMax);
  });
});

describe("what waits for all destinations", () => {
  test("is bounded: the destination that most wait for loses its oldest, others lose none", async () => {
    const post = new Post();
    post.answer = () => refused;
    await putMany(post, hook("quiet"), 10);
    for (const uuid of ["a", "b", "c"]) await putMany(post, hook(uuid), 7_000);
    await post.outbox.close();
    const counts = Map.groupBy(waiting(post), ({ action }) => JSON.stringify(action));
    expect(waiting(post)).toHaveLength(allWaitingMax);
    expect(counts.get(JSON.stringify(hook("quiet")))).toHaveLength(10);
    for (const uuid of ["a", "b", "c"])
      expect(counts.get(JSON.stringify(hook(uuid)))!.length).toBeGreaterThan(6_600);
  });

  test("is bounded in bytes", async () => {
    const post = new Post();
    post.answer = () => refused;
    for (const uuid of ["a", "b", "c"]) await putMany(post, hook(uuid), 60, { query: "q".repeat(500_000) });
    await post.outbox.close();
    expect(metric(post, "svc_notifications_waiting_bytes")).toBeLessThanOrEqual(allWaitingBytesMax);
    expect(metric(post, "svc_notifications_waiting_bytes")).toBeGreaterThan(allWaitingBytesMax - 600_000);
  });
});

describe("a fire that ended before anybody was told", () => {
  test("is not told, and neither is its end", async () => {
    const post = new Post();
    post.answer = () => refused;
    await post.put({ event: fired("a"), actions: [hook("h")] });
    await post.put({ event: resolved("a"), actions: [hook("h")] });
    await post.pass(2 * untoldMsMax);
    expect(post.said()).toEqual(["h fired a", "h fired a"]);
    expect(post.outbox.list().map(({ status, problem }) => [status, problem])).toEqual([
      ["skipped", "it ended before anybody could be told"],
      ["skipped", "its fire was never told"],
    ]);
  });

  test("is told, and so is its end, where the receiver comes back soon", async () => {
    const post = new Post();
    post.answer = () => (post.sent.length === 1 ? refused : { kind: "delivered" });
    await post.put({ event: fired("a"), actions: [hook("h")] });
    await post.put({ event: resolved("a"), actions: [hook("h")] });
    await post.pass(minute);
    expect(post.said()).toEqual(["h fired a", "h fired a", "h resolved a"]);
  });

  test("is told where it may have arrived, and where it has not ended", async () => {
    const post = new Post();
    post.answer = ({ events }) => {
      if (events[0]!.type === "alertResolved") return { kind: "delivered" };
      return post.sent.length === 2 ? unanswered : refused;
    };
    await post.put({ event: fired("a"), actions: [hook("h")] });
    await post.pass(10_000);
    await post.put({ event: resolved("a"), actions: [hook("h")] });
    await post.put({ event: fired("b"), actions: [hook("i")] });
    await post.pass(2 * 24 * hour);
    const of = (name: string) => post.said().filter((line) => line.endsWith(name));
    expect(of(" a")).toEqual([...Array<string>(7).fill("h fired a"), "h resolved a"]);
    expect(of(" b")).toHaveLength(7);
  });

  test("is told where the process ended in the middle of the try", async () => {
    const post = new Post();
    post.answer = () => new Promise(() => undefined);
    await post.put({ event: fired("a"), actions: [hook("h")] });
    void post.outbox.sendDue();
    await new Promise((resolve) => setImmediate(resolve));
    post.state.kill();
    post.state = post.disk.open();
    post.open();
    post.answer = ({ events }) => (events[0]!.type === "alertFired" ? refused : { kind: "delivered" });
    await post.put({ event: resolved("a"), actions: [hook("h")] });
    await post.pass(2 * 24 * hour);
    expect(post.said().at(-1)).toBe("h resolved a");
  });

  test("is known as such for as long as the fire goes on, however many others are told meanwhile", async () => {
    const post = new Post();
    post.answer = () => ({ kind: "final", problem: "no such mailbox" });
    await post.put({ event: fired("refused"), actions: [mail("m")] });
    await post.pass(minute);
    post.answer = () => ({ kind: "delivered" });
    await post.put({ event: fired("told"), actions: [mail("m")] });
    await post.pass(24 * hour);
    // Nobody is to be told of the ends of these.
    const quiet: Action = { type: "webhook", webhookDestination: { uuid: "quiet" } };
    for (let i = 0; i < 3; i++) {
      const others = Array.from({ length: endedKept }, (_, k) => fired(`other ${i} ${k}`));
      await post.put(...others.map((event) => ({ event, actions: [quiet] })));
      await post.pass(24 * hour);
    }
    post.state = post.disk.open();
    post.open();
    await post.put({ event: resolved("refused"), actions: [mail("m")] });
    await post.put({ event: resolved("told"), actions: [mail("m")] });
    await post.pass(24 * hour);
    expect(post.said().filter((line) => line.startsWith("m "))).toEqual([
      "m fired refused",
      "m fired told",
      "m resolved told",
    ]);
    // What was kept for their ends goes with the next that end.
    await post.put(...[1, 2, 3].map((i) => ({ event: fired(`last ${i}`), actions: [quiet] })));
    await post.pass(24 * hour);
    const names = post.outbox.list().map(({ event }) => event.labels["service.name"]);
    expect(names.filter((name) => name === "refused" || name === "told")).toEqual(["refused", "told"]);
    // Three were told at once, and none of them knew of the others.
    expect(post.outbox.list().length).toBeLessThan(endedKept + 3);
  });

  test("leaves little behind: hours of thirty alerts that flap each minute, with receivers that are down", async () => {
    const post = new Post();
    post.answer = () => refused;
    let most = 0;
    for (let at = 0; at < 3 * 60; at++) {
      for (let alert = 0; alert < 30; alert++) {
        const name = `${alert} ${at}`;
        await post.put(
          { event: fired(name), actions: [hook(`h${alert % 5}`)] },
          { event: resolved(name), actions: [hook(`h${alert % 5}`)] },
        );
      }
      await post.pass(minute);
      most = Math.max(most, waiting(post).length);
    }
    // Each waits until its third try, 5 min and 5 s after it was made.
    expect(most).toBeLessThan(30 * 2 * 8);
    expect(stored(post)).toBeLessThan(30 * 2 * 8 + 2_100);
  }, 60_000);
});

describe("a clock that is set", () => {
  const days = 24 * hour;
  test.each([-400 * days, -6 * minute, 6 * minute, 400 * days])(
    "by %i ms changes nothing about when messages are sent",
    async (error) => {
      const post = new Post();
      const beganMs = post.nowMs;
      post.answer = () => unanswered;
      await post.put(
        { event: fired("a"), actions: [hook("h")] },
        { event: fired("b"), actions: [mail("m")] },
      );
      await post.pass(1);
      post.clockErrorMs = error;
      await post.pass(2 * days);
      const waits = post.sent.filter(({ to }) => to === "h").map(({ atMs }) => atMs - beganMs);
      expect(waits.map((ms, i) => ms - (waits[i - 1] ?? 0))).toEqual([0, ...retryDelaysMs]);
      expect(post.sent.filter(({ to }) => to === "m")).toHaveLength(7);
    },
  );

  test.each([-400 * days, 400 * days])(
    "by %i ms while the server is down keeps nothing from being sent, and gives nothing up untried",
    async (error) => {
      const post = new Post();
      post.answer = () => unanswered;
      await post.put({ event: fired("a"), actions: [hook("h")] });
      await post.pass(minute);
      post.clockErrorMs = error;
      post.state.kill();
      post.state = post.disk.open();
      post.open();
      post.answer = () => ({ kind: "delivered" });
      await post.pass(12 * hour);
      expect(post.outbox.list()).toMatchObject([{ status: "delivered" }]);
    },
  );

  test("back before the end of a fire is stored does not let the end overtake the begin after a restart", async () => {
    const post = new Post();
    post.answer = () => unanswered;
    await post.put({ event: fired("a"), actions: [hook("h")] });
    await post.pass(1_000);
    post.clockErrorMs = -10 * minute;
    await post.put({ event: resolved("a"), actions: [hook("h")] });
    await post.pass(1_000);
    post.sent.length = 0;
    post.answer = () => ({ kind: "delivered" });
    post.state = post.disk.open();
    post.open();
    await post.pass(24 * hour);
    expect(post.said()).toEqual(["h fired a", "h resolved a"]);
  });

  test("does not reorder what an earlier version stored, which comes before all that is new", async () => {
    const post = new Post();
    post.answer = () => refused;
    await post.put(
      { event: resolved("a"), actions: [hook("h")] },
      { event: fired("a"), actions: [hook("h")] },
    );
    await post.pass(1_000);
    const table = post.disk.tables.get("notifications")!;
    for (const [id, { sequence: _, ...old }] of table as Map<string, { sequence: number }>)
      table.set(id, old);
    post.clockErrorMs = -minute;
    post.sent.length = 0;
    post.state = post.disk.open();
    post.open();
    post.answer = () => ({ kind: "delivered" });
    const { fireId } = fired("a");
    const again = fired("a", { id: stableId("repeated", fireId, 1), repeat: 1 });
    await post.put({ event: again, actions: [hook("h")] });
    post.state = post.disk.open();
    post.open();
    await post.pass(2 * minute);
    expect(post.said()).toEqual(["h fired a", "h resolved a", "h fired a"]);
  });
});
