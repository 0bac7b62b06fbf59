import { describe, expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import type { Action } from "../../../server/model/alert.ts";
import { groupedMax, retryDelaysMs } from "../../../server/notify/limits.ts";
import { AddressGuard } from "../../../server/notify/senders/address-guard.ts";
import type { Outcome } from "../../../server/notify/senders/sender.ts";
import { webhookSender } from "../../../server/notify/senders/webhook.ts";
import { fired, hook, mail, resolved } from "./events.ts";
import { Post, receiver } from "./post.ts";
import { openReceiver } from "./receiver.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const isSoak = process.env.SVC_SOAK === "1";

const day = 86_400_000;

describe("the outbox", () => {
  test("tries again on the schedule under the same id, then gives up, says so, and can be told to send again", async () => {
    const post = new Post();
    const beganMs = post.nowMs;
    post.answer = () => ({ kind: "retry", problem: "it answered 500" });
    await post.put({ event: fired("a"), actions: [hook("h")] });
    await post.pass(2 * day);
    const waits = post.sent.map(({ atMs }) => atMs - beganMs);
    expect(waits.map((ms, i) => ms - (waits[i - 1] ?? 0))).toEqual([0, ...retryDelaysMs]);
    expect(new Set(post.sent.map(({ id }) => id)).size).toBe(1);
    const [notification] = post.outbox.list();
    expect(notification).toMatchObject({ status: "givenUp", tries: 7, problem: "it answered 500" });
    expect(post.logged).toEqual([
      expect.stringContaining('alertFired of alert "Too many errors") to webhook h was given up'),
    ]);
    post.answer = () => ({ kind: "delivered" });
    expect(await post.outbox.resend(notification!.id)).toBe(true);
    expect(await post.outbox.resend("unknown")).toBe(false);
    await post.pass(0);
    expect(post.outbox.get(notification!.id)).toMatchObject({ status: "delivered", tries: 1, problem: null });
    expect(new Set(post.sent.map(({ id }) => id)).size).toBe(1);
  });

  test("says how many notifications wait, and how long the oldest has", async () => {
    const post = new Post();
    const said = () =>
      post.metrics
        .text()
        .split("\n")
        .filter((line) => line.startsWith("svc_notifications"));
    expect(said()).toContain("svc_notifications_oldest_seconds 0");
    post.answer = () => ({ kind: "retry", problem: "it answered 500" });
    await post.put({ event: fired("a"), actions: [hook("h")] });
    await post.pass(30_000);
    await post.put({ event: fired("b"), actions: [hook("i")] });
    await post.pass(12_000);
    expect(said()).toEqual(
      expect.arrayContaining([
        'svc_notifications{status="waiting"} 2',
        "svc_notifications_oldest_seconds 42",
      ]),
    );
    await post.pass(2 * day);
    expect(said()).toEqual(
      expect.arrayContaining([
        'svc_notifications{status="givenUp"} 2',
        "svc_notifications_oldest_seconds 0",
        'svc_notifications_given_up_total{type="webhook"} 2',
      ]),
    );
  });

  test("the end of a fire waits for its begin; other fires do not", async () => {
    const post = new Post();
    post.answer = ({ events }) =>
      events[0]!.labels["service.name"] === "a" && post.sent.length < 4
        ? { kind: "retry", problem: "no" }
        : { kind: "delivered" };
    await post.put({ event: fired("a"), actions: [hook("h")] });
    await post.put(
      { event: resolved("a"), actions: [hook("h")] },
      { event: fired("b"), actions: [hook("h")] },
    );
    await post.pass(day);
    expect(post.said()).toEqual(
      ["h fired a", "h fired b", "h fired a", "h fired a", "h fired a", "h resolved a"].filter(
        (_, i) => i !== 4,
      ),
    );
  });

  test("the end of a fire that nobody was told of is not told", async () => {
    const post = new Post();
    post.answer = () => ({ kind: "final", problem: "no such channel" });
    await post.put({ event: fired("a"), actions: [hook("h")] });
    await post.put({ event: resolved("a"), actions: [hook("h")] });
    await post.pass(day);
    expect(post.said()).toEqual(["h fired a"]);
    expect(post.outbox.list().map(({ status }) => status)).toEqual(["givenUp", "skipped"]);
  });

  test("a receiver's wish to be left alone is heard for all that waits for it", async () => {
    const post = new Post();
    let asked = false;
    post.answer = () => {
      if (asked) return { kind: "delivered" };
      asked = true;
      return { kind: "retry", problem: "429", afterMs: 60_000 };
    };
    const beganMs = post.nowMs;
    await post.put(
      { event: fired("a"), actions: [hook("h")] },
      { event: fired("b"), actions: [hook("h"), hook("other")] },
    );
    await post.pass(1_000);
    await post.put({ event: fired("c"), actions: [hook("h")] });
    await post.pass(day);
    const at = post.sent.map(({ to, names, atMs }) => `${to} ${names[0]} ${atMs - beganMs}`);
    expect(at).toEqual(["h a 0", "h b 0", "other b 0", "h a 60000", "h c 60000"]);
  });

  test("a receiver that hangs delays nobody else", async () => {
    const post = new Post();
    const releases: ((outcome: Outcome) => void)[] = [];
    post.answer = ({ action }) =>
      receiver(action) === "hangs" ? new Promise((resolve) => releases.push(resolve)) : { kind: "delivered" };
    const names = Array.from({ length: 100 }, (_, i) => `s${i}`);
    await post.put(...names.map((name) => ({ event: fired(name), actions: [hook("hangs"), hook("well")] })));
    const hanging = post.outbox.sendDue();
    const saidTo = (to: string) => post.sent.filter((each) => each.to === to).length;
    while (saidTo("well") < names.length) {
      await new Promise((resolve) => setImmediate(resolve));
      void post.outbox.sendDue();
    }
    expect(saidTo("hangs")).toBe(32);
    post.answer = () => ({ kind: "delivered" });
    for (const release of releases) release({ kind: "delivered" });
    await hanging;
    await post.pass(0);
    expect(saidTo("hangs")).toBe(names.length);
  });

  test("a thousand fires reach a destination that takes a second for each within a minute, each fire in its order", async () => {
    const post = new Post();
    let sending = 0;
    const most = { all: 0, ofOneFire: 0 };
    const busy = new Map<string, number>();
    const waiting: { endsMs: number; end: () => void }[] = [];
    post.answer = async ({ events: [event] }) => {
      most.all = Math.max(most.all, ++sending);
      const ofFire = 1 + (busy.get(event!.fireId) ?? 0);
      busy.set(event!.fireId, ofFire);
      most.ofOneFire = Math.max(most.ofOneFire, ofFire);
      await new Promise<void>((end) => waiting.push({ endsMs: post.nowMs + 1_000, end }));
      sending--;
      busy.set(event!.fireId, ofFire - 1);
      return { kind: "delivered" };
    };
    const beganMs = post.nowMs;
    const names = Array.from({ length: 1_000 }, (_, i) => `s${i}`);
    await post.put(...names.map((name) => ({ event: fired(name), actions: [hook("h")] })));
    await post.put(...names.slice(0, 100).map((name) => ({ event: resolved(name), actions: [hook("h")] })));
    while (post.outbox.list().some(({ status }) => status === "waiting")) {
      void post.outbox.sendDue();
      await new Promise((resolve) => setImmediate(resolve));
      const [first] = waiting;
      if (first === undefined) continue;
      post.nowMs = Math.max(post.nowMs, first.endsMs);
      for (const { end } of waiting.splice(0).filter(({ endsMs }) => endsMs <= post.nowMs)) end();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(post.nowMs - beganMs).toBeLessThanOrEqual(60_000);
    expect(most).toEqual({ all: 32, ofOneFire: 1 });
    const typesOf = (name: string) =>
      post.sent.filter((each) => each.names[0] === name).map(({ type }) => type);
    expect(names.map(typesOf)).toEqual(
      names.map((_, i) => (i < 100 ? ["alertFired", "alertResolved"] : ["alertFired"])),
    );
  });

  test("a webhook that asks for it gets one message for all instances that fire together", async () => {
    const post = new Post();
    post.grouped.add("together");
    const actions = [hook("together")];
    await post.put(...["a", "b"].map((name) => ({ event: fired(name), actions })));
    await post.pass(2_000);
    await post.put({ event: fired("c"), actions }, { event: resolved("a"), actions });
    await post.pass(day);
    expect(post.said()).toEqual(["together fired a,b,c", "together resolved a"]);
  });

  test("a PagerDuty incident that stands for all instances gets its messages in the order in which they arose", async () => {
    const post = new Post();
    let tries = 0;
    post.answer = () => (tries++ === 1 ? { kind: "retry", problem: "no" } : { kind: "delivered" });
    const actions: Action[] = [{ type: "pagerDuty", pagerDutyDestination: { groupInstances: true } }];
    await post.put(...["a", "b"].map((name) => ({ event: fired(name), actions })));
    await post.pass(6_000);
    await post.put({ event: resolved("a"), actions }, { event: resolved("b"), actions });
    await post.put({ event: fired("c"), actions });
    await post.pass(day);
    const ends = "pagerDuty resolved a,b";
    expect(post.said()).toEqual(["pagerDuty fired a,b", ends, ends, "pagerDuty fired c"]);
  });

  test("people get one message for many instances of an alert, also when it is sent again; programs get each", async () => {
    const post = new Post();
    const names = ["a", "b", "c", "d"];
    let tries = 0;
    post.answer = () => (tries++ === 0 ? { kind: "retry", problem: "no" } : { kind: "delivered" });
    await post.put(...names.map((name) => ({ event: fired(name), actions: [mail("m")] })));
    await post.put({ event: fired("z", { alertId: "another" }), actions: [mail("m")] });
    await post.pass(8_000);
    await post.put({ event: fired("e"), actions: [mail("m")] });
    await post.pass(day);
    expect(post.said()).toEqual(["m fired a,b,c,d", "m fired z", "m fired a,b,c,d", "m fired e"]);
    expect(post.sent[0]!.id).toBe(post.sent[2]!.id);
    await post.put(...names.map((name) => ({ event: fired(name), actions: [hook("h")] })));
    await post.pass(0);
    expect(post.said().slice(4)).toEqual(names.map((name) => `h fired ${name}`));
  });

  test("what comes while a message to people waits goes with it; what comes later is the next message", async () => {
    const post = new Post();
    await post.put({ event: fired("a"), actions: [mail("m")] });
    await post.pass(4_000);
    await post.put({ event: fired("b"), actions: [mail("m")] });
    await post.pass(1_500);
    await post.put({ event: fired("c"), actions: [mail("m")] });
    await post.pass(day);
    expect(post.said()).toEqual(["m fired a,b", "m fired c"]);
    const many = Array.from({ length: groupedMax + 1 }, (_, i) => fired(`s${i}`));
    await post.put(...many.map((event) => ({ event, actions: [mail("m")] })));
    await post.pass(day);
    expect(post.sent.slice(2).map(({ names }) => names.length)).toEqual([groupedMax, 1]);
  });

  test("a message that was on its way when the process died is sent again as it was", async () => {
    const post = new Post();
    post.answer = () => new Promise(() => undefined);
    await post.put({ event: fired("a"), actions: [mail("m")] });
    post.nowMs += 5_000;
    void post.outbox.sendDue();
    await new Promise((resolve) => setImmediate(resolve));
    post.state.kill();
    post.state = post.disk.open();
    post.open();
    post.answer = () => ({ kind: "delivered" });
    await post.put({ event: fired("b"), actions: [mail("m")] });
    await post.pass(day);
    expect(post.said()).toEqual(["m fired a", "m fired a", "m fired b"]);
    const [first, again, other] = post.sent.map(({ id }) => id);
    expect([again === first, other === first]).toEqual([true, false]);
  });

  test("what was delivered while the disk was full is not sent again, and neither is what was refused before its time", async () => {
    const post = new Post();
    post.answer = ({ events }) =>
      events[0]!.labels["service.name"] === "a" ? { kind: "delivered" } : { kind: "retry", problem: "no" };
    await post.put(
      { event: fired("a"), actions: [hook("well")] },
      { event: fired("b"), actions: [hook("ill")] },
    );
    post.disk.isFull = true;
    await post.pass(60_000);
    expect(post.said().sort()).toEqual(["ill fired b", "well fired a"]);
    post.disk.isFull = false;
    post.answer = () => ({ kind: "delivered" });
    await post.pass(day);
    expect(post.said()).toHaveLength(3);
    expect(post.outbox.list().map(({ status }) => status)).toEqual(["delivered", "delivered"]);
  });

  test("the end of a fire is told where its begin may have arrived although no answer came", async () => {
    const post = new Post();
    post.answer = ({ events }) =>
      events[0]!.type === "alertFired" ? { kind: "retry", problem: "reset" } : { kind: "delivered" };
    await post.put(
      { event: fired("a"), actions: [hook("h")] },
      { event: resolved("a"), actions: [hook("h")] },
    );
    await post.pass(2 * day);
    expect(post.said()).toEqual([...Array<string>(7).fill("h fired a"), "h resolved a"]);
  });

  test("a real receiver that answers otherwise every time gets one message under one id until it takes it", async () => {
    const receiver = await openReceiver("reset", 302, 400, 429, 500, 200);
    const post = new Post();
    const send = webhookSender({
      ...{
        webhookOf: () => ({ value: { url: receiver.url } }),
        mayReceive: () => true,
        readSecret: async () => ({ problem: "none" }),
        onGone: () => undefined,
        isOff: () => false,
      },
      ...{ guard: new AddressGuard(["127.0.0.0/8"]), publicUrl: "https://svc.example" },
    });
    post.answer = (delivery) => send(delivery as Parameters<typeof send>[0]);
    await post.put({ event: fired("a"), actions: [hook("h")] });
    await post.pass(2 * day);
    expect(receiver.received).toHaveLength(6);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    expect(post.outbox.list()).toMatchObject([{ status: "delivered", tries: 6 }]);
  });

  test("a silence that comes before the message is sent keeps it back, and the end with it", async () => {
    const post = new Post();
    await post.put({ event: fired("a"), actions: [mail("m")] });
    post.silenced.add("a");
    await post.put({ event: resolved("a"), actions: [mail("m")] });
    await post.pass(day);
    expect(post.sent).toEqual([]);
    expect(post.outbox.list().map(({ problem }) => problem)).toEqual([
      "silenced by silence-1",
      "its fire was never told",
    ]);
  });

  test("who does not want to hear of the end does not", async () => {
    const post = new Post();
    const actions: Action[] = [
      { type: "slack", slackDestination: { channel: "#c" } },
      { type: "webhook", webhookDestination: { uuid: "quiet" } },
      { type: "webhook", webhookDestination: { uuid: "begin", resolvedUuid: "end" } },
      { type: "pagerDuty", pagerDutyDestination: {} },
    ];
    await post.put({ event: fired("a"), actions }, { event: resolved("a"), actions });
    await post.pass(day);
    expect(
      post
        .said()
        .filter((line) => line.includes("resolved"))
        .sort(),
    ).toEqual(["begin resolved a", "pagerDuty resolved a"]);
  });

  test(`deaths at any write lose nothing and change no id (SVC_SEED=${seed})`, async () => {
    const random = new Random(seed);
    for (let round = 0; round < (isSoak ? 400 : 30); round++) await liveAndDie(random);
  });
});

async function liveAndDie(random: Random): Promise<void> {
  const post = new Post();
  const expected: string[] = [];
  post.answer = () => (random.oneIn(3) ? { kind: "retry", problem: "no" } : { kind: "delivered" });
  for (let i = 0; i < 12; i++) {
    const name = `s${i}`;
    const action = random.pick([hook("h"), hook("g"), mail("m")]);
    await post.put({ event: fired(name), actions: [action] });
    if (random.oneIn(2)) await post.put({ event: resolved(name), actions: [action] });
    expected.push(name);
    if (random.oneIn(3))
      post.state.next = { fate: random.pick(["refused", "dies before", "dies after"] as const), others: 0 };
    const died = post.state.died.then(() => true);
    if (await Promise.race([died, post.pass(random.below(20_000)).then(() => false)])) {
      post.state = post.disk.open();
      post.open();
    }
    post.state.next = null;
  }
  post.answer = () => ({ kind: "delivered" });
  await post.pass(2 * day);
  expect(post.outbox.list().filter(({ status }) => status !== "delivered")).toEqual([]);
  const ids = new Map<string, Set<string>>();
  for (const { id, type, names } of post.sent) {
    for (const name of names) {
      const key = `${type} ${name}`;
      ids.set(key, (ids.get(key) ?? new Set()).add(id));
    }
  }
  expect([...ids].filter(([, each]) => each.size !== 1)).toEqual([]);
  for (const name of expected) {
    const types = post.sent.filter(({ names }) => names.includes(name)).map(({ type }) => type);
    expect(types[0]).toBe("alertFired");
    expect(types.lastIndexOf("alertFired"), name).toBeLessThan(types.indexOf("alertResolved") >>> 0);
  }
}
