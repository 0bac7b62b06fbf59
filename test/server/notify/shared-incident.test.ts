/** PagerDuty's incident that stands for all instances of a rule, of which people were told of some alone. */
import { describe, expect, test } from "vitest";
import { InvestigationRequests } from "../../../server/alerts/investigation-requests.ts";
import type { Action } from "../../../server/model/alert.ts";
import type { MuteTime } from "../../../server/model/notification-route.ts";
import { stableId } from "../../../server/model/stable-id.ts";
import { AddressGuard } from "../../../server/notify/senders/address-guard.ts";
import { pagerDutySender } from "../../../server/notify/senders/pager-duty.ts";
import type { Delivery } from "../../../server/notify/senders/sender.ts";
import { alertOf, ruleOf, World } from "../alerts/world.ts";
import { fired, resolved } from "./events.ts";
import { Post } from "./post.ts";
import { openReceiver } from "./receiver.ts";

const minute = 60_000;
const together: Action = {
  type: "pagerDuty",
  pagerDutyDestination: { routingKey: "k", groupInstances: true },
};
const actions = [together];

/** An outbox that sends to PagerDuty, and what PagerDuty was told. */
async function openIncidents(...answers: number[]) {
  const receiver = await openReceiver(...answers);
  const guard = new AddressGuard(["127.0.0.0/8"]);
  const send = pagerDutySender({
    routingKeys: {},
    eventsUrl: receiver.url,
    guard,
    publicUrl: "https://svc.example",
  });
  const post = new Post();
  post.answer = (delivery) => send(delivery as Delivery<Extract<Action, { type: "pagerDuty" }>>);
  const told = () =>
    receiver.received.map(({ body }) => (JSON.parse(body) as { event_action: string }).event_action);
  return { post, told };
}

function restart(post: Post): void {
  post.state = post.disk.open();
  post.open();
}

test("resolves with the last instance that people were told of, while one that was silenced still fires", async () => {
  const { post, told } = await openIncidents(202);
  const beganMs = Date.UTC(2026, 0, 10, 12);
  const world = new World(beganMs);
  post.state = world.state;
  post.nowMs = beganMs;
  const outbox = post.open();
  world.open({ subscribers: [new InvestigationRequests(world.state), outbox] });
  for (let m = -2; m < 30; m++) {
    world.put("q", { name: "a" }, beganMs + m * minute, m >= 1 && m < 5 ? 9 : 1);
    world.put("q", { name: "b" }, beganMs + m * minute, m >= 2 && m < 10 ? 9 : 1);
  }
  world.silenced.add("b");
  await world.evaluator.upsert(alertOf("a", "q", [ruleOf({ actions })]));
  await world.evaluator.begin();
  for (let m = 0; m < 20; m++) {
    await world.runUntil(beganMs + m * minute);
    await post.pass(world.nowMs - post.nowMs);
    if (m === 8) expect(told()).toEqual(["trigger", "resolve"]);
  }
  expect(world.evaluator.summaryOf("a")?.firing).toEqual([]);
  expect(told()).toEqual(["trigger", "resolve"]);
});

test.each([false, true])(
  "stays open while one instance fires that was told (restart: %s)",
  async (restarts) => {
    const { post, told } = await openIncidents(202);
    await post.put(...["a", "b"].map((name) => ({ event: fired(name), actions })));
    await post.pass(minute);
    await post.put({ event: resolved("a"), actions });
    await post.pass(minute);
    if (restarts) restart(post);
    expect(told()).toEqual(["trigger"]);
    await post.put({ event: resolved("b"), actions });
    await post.pass(minute);
    expect(told()).toEqual(["trigger", "resolve"]);
  },
);

test.each([false, true])(
  "an instance that PagerDuty refused does not keep it open (restart: %s)",
  async (restarts) => {
    const { post, told } = await openIncidents(202, 400, 202);
    await post.put({ event: fired("a"), actions });
    await post.pass(minute);
    await post.put({ event: fired("b"), actions });
    await post.pass(minute);
    if (restarts) restart(post);
    await post.put({ event: resolved("a", { firingInstances: 1 }), actions });
    await post.pass(minute);
    expect(told()).toEqual(["trigger", "trigger", "resolve"]);
    await post.put({ event: resolved("b", { firingInstances: 0 }), actions });
    await post.pass(minute);
    expect(told()).toHaveLength(3);
  },
);

test("an instance that was refused keeps it open once PagerDuty took a message that it goes on", async () => {
  const { post, told } = await openIncidents(202, 400, 202);
  await post.put({ event: fired("a"), actions });
  await post.pass(minute);
  await post.put({ event: fired("b"), actions });
  await post.pass(minute);
  const { fireId } = fired("b");
  await post.put({ event: fired("b", { id: stableId("repeated", fireId, 1), repeat: 1 }), actions });
  await post.pass(minute);
  await post.put({ event: resolved("a"), actions });
  await post.pass(minute);
  expect(told()).toEqual(["trigger", "trigger", "trigger"]);
  await post.put({ event: resolved("b"), actions });
  await post.pass(minute);
  expect(told().slice(3)).toEqual(["resolve"]);
});

test("is one for each rule, also where instances of two rules begin and end together", async () => {
  const { post, told } = await openIncidents(202);
  const other = { rule: "higher", fireId: "other" };
  const higher = [
    fired("a", { ...other, id: stableId("fired", "other") }),
    resolved("a", { ...other, id: stableId("resolved", "other") }),
  ];
  await post.put(...[fired("a"), higher[0]!, fired("b")].map((event) => ({ event, actions })));
  await post.pass(minute);
  expect(told()).toEqual(["trigger", "trigger"]);
  await post.put(...["a", "b"].map((name) => ({ event: resolved(name), actions })));
  await post.pass(minute);
  expect(told()).toEqual(["trigger", "trigger", "resolve"]);
  await post.put({ event: higher[1]!, actions });
  await post.pass(minute);
  expect(told()).toEqual(["trigger", "trigger", "resolve", "resolve"]);
});

describe("an instance that a route mutes", () => {
  const muted = [{ ...together, routeId: "muting" }];

  /** Incidents with a route whose mute time goes on until the route is changed. */
  async function openMuted() {
    const incidents = await openIncidents(202);
    const muteTimes: MuteTime[] = [{}];
    incidents.post.routes.set("muting", { actions: [], muteTimes });
    return { ...incidents, muteTimes };
  }
  const fires = (post: Post) =>
    post.sent.map(({ type, names }) => `${type === "alertFired" ? "fired" : "resolved"} ${names.join(",")}`);

  test.each([
    ["before them", 0],
    ["with them", 1],
    ["after them", 2],
  ])("and that begins %s holds up no others", async (_, place) => {
    const { post, told, muteTimes } = await openMuted();
    const messages = ["b", "c"].map((name) => ({ event: fired(name), actions }));
    messages.splice(place, 0, { event: fired("a"), actions: muted });
    await post.put(...messages);
    await post.pass(minute);
    expect(fires(post)).toEqual(["fired b,c"]);
    await post.put({ event: fired("d"), actions });
    await post.put(...["b", "c", "d"].map((name) => ({ event: resolved(name), actions })));
    await post.pass(minute);
    expect(fires(post).slice(1)).toEqual(["fired d", "resolved b,c,d"]);
    expect(told()).toEqual(["trigger", "trigger", "resolve"]);
    muteTimes.length = 0;
    await post.pass(2 * 24 * 60 * minute);
    await post.put({ event: resolved("a"), actions: muted });
    await post.pass(minute);
    expect(fires(post).slice(3)).toEqual(["fired a", "resolved a"]);
    expect(told().slice(3)).toEqual(["trigger", "resolve"]);
  });

  test("keeps the incident open where its end is muted", async () => {
    const { post, told, muteTimes } = await openMuted();
    const all = muteTimes.splice(0);
    await post.put({ event: fired("a"), actions: muted }, { event: fired("b"), actions });
    await post.pass(minute);
    muteTimes.push(...all);
    await post.put({ event: resolved("a"), actions: muted });
    await post.pass(minute);
    await post.put({ event: resolved("b"), actions });
    await post.pass(minute);
    expect(told()).toEqual(["trigger"]);
    muteTimes.length = 0;
    await post.pass(2 * 24 * 60 * minute);
    expect(told()).toEqual(["trigger", "resolve"]);
  });
});

test("a begin that was told and is refused when it is sent again keeps the incident open", async () => {
  const { post, told } = await openIncidents(202, 202, 400, 202);
  for (const name of ["a", "b"]) {
    await post.put({ event: fired(name), actions });
    await post.pass(minute);
  }
  await post.outbox.resend(post.outbox.list().find(({ event }) => event.id === fired("a").id)!.id);
  await post.pass(minute);
  expect(told()).toEqual(["trigger", "trigger", "trigger"]);
  await post.put({ event: resolved("b"), actions });
  await post.pass(minute);
  expect(told()).toHaveLength(3);
  await post.put({ event: resolved("a"), actions });
  await post.pass(minute);
  expect(told().slice(3)).toEqual(["resolve"]);
});
