/** Routes: which fires they take, how they group, when they wait. Inhibitions: what they hold back. */

import { describe, expect, test } from "vitest";
import type { MuteTime, NotificationRoute } from "../../../server/model/notification-route.ts";
import { destinationName } from "../../../server/notify/destination.ts";
import { findMuteEnd } from "../../../server/notify/mute-time.ts";
import { findActions, findInhibition } from "../../../server/notify/routing.ts";
import { fired, hook, mail, resolved } from "./events.ts";
import { Post } from "./post.ts";

const hour = 3_600_000;

function expression(key: string, ...values: string[]) {
  return { matchExpressions: [{ key, operator: "In" as const, values }] };
}

const route = (id: string, value: Partial<NotificationRoute>) => ({
  id,
  value: { actions: [hook(id)], ...value },
});

describe("routes", () => {
  const fire = fired("cart", { severity: "critical", alertLabels: { team: "payments" } });
  const routes = [
    route("by-team", { match: expression("team", "payments") }),
    route("by-instance", { match: expression("service.name", "cart", "pay") }),
    route("by-severity", { match: expression("severity", "warning") }),
    route("by-name", { match: expression("alert.name", "Too many errors") }),
    route("of-others", {
      match: { matchExpressions: [{ key: "team", operator: "NotIn", values: ["payments"] }] },
    }),
    route("everything", {}),
    route("again", { actions: [hook("own")] }),
  ];

  test("take fires by labels of the instance and the alert, beside the alert's own actions, each destination once", () => {
    const actions = findActions(fire, [hook("own")], routes);
    expect(actions.map(destinationName)).toEqual(
      ["own", "by-team", "by-instance", "by-name", "everything"].map((name) => `webhook ${name}`),
    );
    expect(actions.map(({ routeId }) => routeId)).toEqual([
      undefined,
      "by-team",
      "by-instance",
      "by-name",
      "everything",
    ]);
  });

  test("group by labels, and wait as long as they say", async () => {
    const post = new Post();
    post.routes.set("r", { actions: [], groupBy: ["zone"], groupWaitSeconds: 60 });
    const actions = [{ ...mail("m"), routeId: "r" }];
    const inZone = (name: string, zone: string) => fired(name, { labels: { "service.name": name, zone } });
    await post.put(
      ...[inZone("a", "east"), inZone("b", "west"), inZone("c", "east")].map((event) => ({ event, actions })),
    );
    await post.pass(59_000);
    expect(post.sent).toEqual([]);
    await post.pass(2_000);
    expect(post.said()).toEqual(["m fired a,c", "m fired b"]);
  });

  test("a muted message waits until the time is over, and its end with it; a fire that ended meanwhile is not told", async () => {
    const post = new Post();
    const beganMs = post.nowMs;
    const muteTimes: MuteTime[] = [{}];
    post.routes.set("r", { actions: [], muteTimes });
    const muted = [{ ...hook("muted"), routeId: "r" }];
    await post.put(...["a", "b"].map((event) => ({ event: fired(event), actions: [...muted, hook("own")] })));
    await post.pass(1_000);
    expect(post.said()).toEqual(["own fired a", "own fired b"]);
    await post.put({ event: resolved("a"), actions: muted });
    // Three days later the route is changed.
    await post.pass(72 * hour);
    expect(post.said()).toHaveLength(2);
    muteTimes.length = 0;
    await post.pass(48 * hour);
    expect(post.said().slice(2)).toEqual(["muted fired b"]);
    expect(post.nowMs - beganMs).toBeGreaterThan(100 * hour);
    expect(
      post.outbox
        .list()
        .map(({ status, problem }) => `${status} ${problem ?? ""}`.trim())
        .sort(),
    ).toEqual([
      "delivered",
      "delivered",
      "delivered",
      "skipped it ended before anybody could be told",
      "skipped its fire was never told",
    ]);
  });

  test("of a message that several routes send, only what a mute time holds for waits", async () => {
    const post = new Post();
    const muteTimes: MuteTime[] = [{}];
    post.routes.set("muting", { actions: [], muteTimes });
    post.routes.set("other", { actions: [] });
    const by = (routeId: string) => [{ ...mail("m"), routeId }];
    const messages = ["a", "b", "c", "d"].map((name, i) => ({
      event: fired(name),
      actions: by(i % 2 === 0 ? "muting" : "other"),
    }));
    await post.put(...messages);
    await post.pass(hour);
    expect(post.said()).toEqual(["m fired b,d"]);
    muteTimes.length = 0;
    await post.pass(72 * hour);
    expect(post.said().slice(1)).toEqual(["m fired a,c"]);
  });

  test("a muted message survives a restart for longer than others may wait", async () => {
    const post = new Post();
    const muteTimes: MuteTime[] = [{}];
    post.routes.set("r", { actions: [], muteTimes });
    await post.put({ event: fired("a"), actions: [{ ...hook("h"), routeId: "r" }] });
    for (let day = 0; day < 4; day++) {
      await post.pass(24 * hour);
      post.open();
    }
    muteTimes.length = 0;
    await post.pass(48 * hour);
    expect(post.said()).toEqual(["h fired a"]);
  });
});

describe("mute times", () => {
  const at = (text: string) => Date.parse(text);
  const nights: MuteTime = { from: "22:00", to: "06:30" };
  const weekend: MuteTime = { days: ["saturday", "sunday"] };
  const berlin: MuteTime = { from: "18:00", to: "08:00", timeZone: "Europe/Berlin" };
  const untilTwo: MuteTime = { from: "22:00", to: "02:00", timeZone: "America/New_York" };
  const untilHalfPastTwo: MuteTime = { ...untilTwo, to: "02:30" };
  const untilHalfPastOne: MuteTime = { ...untilTwo, to: "01:30" };
  const cairo: MuteTime = { from: "20:00", timeZone: "Africa/Cairo" };
  const cases: [string, MuteTime[], string, string | undefined][] = [
    ["before a night", [nights], "2026-01-14T21:59:59Z", undefined],
    ["in a night", [nights], "2026-01-14T22:00:00Z", "2026-01-15T06:30:00Z"],
    ["after midnight", [nights], "2026-01-15T03:12:45Z", "2026-01-15T06:30:00Z"],
    ["at its end", [nights], "2026-01-15T06:30:00Z", undefined],
    ["a weekend is one time", [weekend], "2026-01-17T09:00:00Z", "2026-01-19T00:00:00Z"],
    ["a night that leads into a weekend", [nights, weekend], "2026-01-16T23:00:00Z", "2026-01-19T06:30:00Z"],
    [
      "a night that begins on one day",
      [{ ...nights, days: ["friday"] }],
      "2026-01-17T05:00:00Z",
      "2026-01-17T06:30:00Z",
    ],
    ["the same night of another day", [{ ...nights, days: ["saturday"] }], "2026-01-17T05:00:00Z", undefined],
    ["another time zone in winter", [berlin], "2026-01-14T17:00:00Z", "2026-01-15T07:00:00Z"],
    ["another time zone in summer", [berlin], "2026-07-14T16:00:00Z", "2026-07-15T06:00:00Z"],
    ["a night in which clocks are set forward", [berlin], "2026-03-28T20:00:00Z", "2026-03-29T06:00:00Z"],
    ["a night in which clocks are set back", [berlin], "2026-10-24T20:00:00Z", "2026-10-25T07:00:00Z"],
    ["an end as clocks are set forward", [untilTwo], "2026-03-08T06:30:00Z", "2026-03-08T07:00:00Z"],
    [
      "an end in the hour that is skipped",
      [untilHalfPastTwo],
      "2026-03-08T03:00:00Z",
      "2026-03-08T07:00:00Z",
    ],
    [
      "a day that begins in the hour that is skipped",
      [cairo],
      "2026-04-23T20:30:00Z",
      "2026-04-23T22:00:00Z",
    ],
    ["an end as clocks are set back", [untilTwo], "2026-11-01T05:30:00Z", "2026-11-01T07:00:00Z"],
    [
      "an end in the hour that comes twice",
      [untilHalfPastOne],
      "2026-11-01T03:00:00Z",
      "2026-11-01T05:30:00Z",
    ],
    ["the same when it comes again", [untilHalfPastOne], "2026-11-01T06:15:00Z", "2026-11-01T06:30:00Z"],
  ];
  test.each(cases)("%s", (_, muteTimes, now, end) => {
    const found = findMuteEnd(muteTimes, at(now));
    expect(found === undefined ? undefined : new Date(found).toISOString()).toBe(
      end === undefined ? undefined : new Date(at(end)).toISOString(),
    );
  });
});

describe("a mute time about a night in which clocks are set", () => {
  const nights = [
    "2026-03-08",
    "2026-11-01",
    "2026-03-29",
    "2026-10-25",
    "2026-04-05",
    "2026-10-04",
    "2026-04-24",
  ];
  const zones = ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo"];

  test.each(zones)("in %s ends in the first minute that is not part of it, which is to come", (timeZone) => {
    const ends = ["00:00", "00:30", "01:00", "01:30", "02:00", "02:15", "02:30", "03:00", "03:30", "24:00"];
    for (const to of ends) {
      const muteTime: MuteTime = { from: "20:00", to, timeZone };
      const findEnd = (ms: number) => findMuteEnd([muteTime], ms);
      for (const night of nights) {
        const middayMs = Date.parse(`${night}T12:00:00Z`);
        for (let ms = middayMs - 24 * hour + 7_000; ms < middayMs; ms += hour / 4) {
          const endMs = findEnd(ms);
          if (endMs === undefined) continue;
          const what = `${to} at ${new Date(ms).toISOString()}`;
          expect(endMs, what).toBeGreaterThan(ms);
          expect([findEnd(endMs - 1), findEnd(endMs)], what).toEqual([endMs, undefined]);
        }
      }
    }
  });

  test("keeps a message until it is over, and tries it no more often than that", async () => {
    const post = new Post();
    post.nowMs = Date.parse("2026-03-08T06:30:00Z");
    const muteTimes: MuteTime[] = [{ from: "22:00", to: "02:00", timeZone: "America/New_York" }];
    post.routes.set("r", { actions: [], muteTimes });
    await post.put({ event: fired("a"), actions: [{ ...hook("h"), routeId: "r" }] });
    await post.outbox.sendDue();
    expect(post.outbox.nextDueMs()).toBe(Date.parse("2026-03-08T07:00:00Z"));
    await post.pass(hour);
    expect(post.said()).toEqual(["h fired a"]);
  });
});

describe("inhibitions", () => {
  const down = fired("a", { alertName: "Cluster down", labels: { cluster: "prod" } });
  const slow = fired("b", { severity: "warning", labels: { cluster: "prod" } });
  const inhibition = {
    id: "cluster-down",
    value: {
      source: expression("alert.name", "Cluster down"),
      target: expression("severity", "warning", "info"),
      equal: ["cluster"],
    },
  };
  const heldBack = (fire: typeof slow, ...open: (typeof slow)[]) =>
    findInhibition(fire, [inhibition], () => open);

  test("hold back what the source explains, where the labels are equal", () => {
    expect(heldBack(slow, slow, down)).toBe("cluster-down");
    expect(heldBack(slow, slow)).toBeUndefined();
    expect(heldBack({ ...slow, labels: { cluster: "stage" } }, down)).toBeUndefined();
    expect(heldBack({ ...slow, severity: "critical" }, down)).toBeUndefined();
    expect(heldBack(down, down)).toBeUndefined();
    expect(heldBack({ ...down, severity: "info" }, down)).toBeUndefined();
  });
});
