/** Silences that begin after a message was stored, and before it is sent. */
import { describe, expect, test } from "vitest";
import type { Action } from "../../../server/model/alert.ts";
import { stableId } from "../../../server/model/stable-id.ts";
import { groupedMax } from "../../../server/notify/limits.ts";
import { fired, hook, mail, resolved } from "./events.ts";
import { Post } from "./post.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** An outbox with messages about the begins of fires, which a silence keeps back. */
async function silence(names: readonly string[], actions: readonly Action[]): Promise<Post> {
  const post = new Post();
  post.silencesEndMs = post.nowMs + 8 * hour;
  await post.put(...names.map((name) => ({ event: fired(name), actions })));
  for (const name of names) post.silenced.add(name);
  await post.pass(hour);
  expect(post.sent).toEqual([]);
  return post;
}

function restart(post: Post): void {
  post.state = post.disk.open();
  post.open();
}

const problems = ({ outbox }: Post) => outbox.list().map(({ status, problem }) => `${status}: ${problem}`);

describe("a message that a silence keeps back", () => {
  test.each(["email", "webhook"])(
    "is sent by %s when the silence ends, if the fire goes on",
    async (type) => {
      const action = type === "email" ? mail("m") : hook("m");
      const post = await silence(["a", "b"], [action]);
      expect(problems(post)).toEqual(Array(2).fill("waiting: silenced by silence-1"));
      await post.pass(7 * hour - 1);
      expect(post.sent).toEqual([]);
      await post.pass(1);
      expect(post.said()).toEqual(type === "email" ? ["m fired a,b"] : ["m fired a", "m fired b"]);
      await post.put({ event: resolved("a"), actions: [action] });
      await post.pass(day);
      expect(post.said().slice(type === "email" ? 1 : 2)).toEqual(["m resolved a"]);
    },
  );

  test("is sent soon after the silence was deleted", async () => {
    const post = await silence(["a"], [mail("m")]);
    post.silenced.clear();
    await post.pass(minute);
    expect(post.said()).toEqual(["m fired a"]);
  });

  test.each([3, 5 * 24])("waits longer where the silence is edited to end after %i hours", async (hours) => {
    const post = await silence(["a"], [mail("m")]);
    post.silencesEndMs = post.nowMs + hours * hour;
    await post.pass(hours * hour - 1);
    expect(post.sent).toEqual([]);
    await post.pass(minute);
    expect(post.said()).toEqual(["m fired a"]);
  });

  test.each([1, 7, 30])("survives a restart in the silence, and %i hours without a server", async (hours) => {
    const post = await silence(["a", "b"], [hook("h")]);
    post.nowMs += hours * hour;
    restart(post);
    await post.put({ event: resolved("b"), actions: [hook("h")] });
    await post.pass(8 * hour);
    expect(post.said()).toEqual(["h fired a"]);
    expect(problems(post).slice(0, 1)).toEqual(["skipped: its fire was never told"]);
  });

  test("is deleted with a silence while the server is down: it is sent after the start", async () => {
    const post = await silence(["a"], [hook("h")]);
    post.silenced.clear();
    restart(post);
    await post.pass(minute);
    expect(post.said()).toEqual(["h fired a"]);
  });

  test("is not sent if the fire has ended, whether or not its receiver hears of ends", async () => {
    const quiet: Action = { type: "webhook", webhookDestination: { uuid: "quiet" } };
    const actions = [mail("m"), quiet];
    const post = await silence(["a", "b"], actions);
    await post.put({ event: resolved("a"), actions });
    await post.pass(6_000);
    expect(post.outbox.list().filter(({ status }) => status === "skipped")).toHaveLength(4);
    await post.pass(day);
    expect(post.said().sort()).toEqual(["m fired b", "quiet fired b"]);
    await post.put({ event: resolved("b"), actions });
    await post.pass(day);
    expect(post.said().slice(2)).toEqual(["m resolved b"]);
  });

  test("of a fire that began and ended at once is not sent to whom hears of no ends", async () => {
    const quiet: Action = { type: "slack", slackDestination: { channel: "#c" } };
    const post = new Post();
    await post.put({ event: fired("a"), actions: [quiet] }, { event: resolved("a"), actions: [quiet] });
    post.silenced.add("a");
    await post.pass(minute);
    post.silenced.clear();
    await post.pass(day);
    expect(post.sent).toEqual([]);
  });

  test("waits on where a mute time ends in the silence, and the silence in a mute time", async () => {
    const post = new Post();
    post.nowMs = Date.UTC(2026, 0, 14, 21);
    const muteTimes = [{ from: "20:00", to: "22:00" }];
    post.routes.set("r", { actions: [], muteTimes });
    const actions = [{ ...mail("m"), routeId: "r" }];
    await post.put({ event: fired("a"), actions });
    post.silenced.add("a");
    post.silencesEndMs = Date.UTC(2026, 0, 14, 23);
    await post.pass(90 * minute);
    muteTimes.push({ from: "22:30", to: "23:30" });
    await post.pass(hour - minute);
    expect(post.sent).toEqual([]);
    await post.pass(2 * minute);
    expect(post.said()).toEqual(["m fired a"]);
  });

  test("that the fire goes on is not made up for", async () => {
    const post = new Post();
    await post.put({ event: fired("a"), actions: [mail("m")] });
    await post.pass(minute);
    const again = fired("a", { id: stableId("repeated", fired("a").fireId, 1), repeat: 1 });
    await post.put({ event: again, actions: [mail("m")] });
    post.silenced.add("a");
    await post.pass(minute);
    post.silenced.clear();
    await post.pass(day);
    expect(post.said()).toEqual(["m fired a"]);
    expect(problems(post)).toContain("skipped: silenced by silence-1");
  });

  test("holds up no other fire of a PagerDuty incident that stands for all instances", async () => {
    const actions: Action[] = [{ type: "pagerDuty", pagerDutyDestination: { groupInstances: true } }];
    const post = await silence(["b"], actions);
    await post.put({ event: fired("a"), actions });
    await post.pass(minute);
    await post.put({ event: resolved("a"), actions });
    await post.pass(minute);
    expect(post.said()).toEqual(["pagerDuty fired a", "pagerDuty resolved a"]);
    post.silenced.clear();
    await post.pass(minute);
    await post.put({ event: resolved("b"), actions });
    await post.pass(minute);
    expect(post.said().slice(2)).toEqual(["pagerDuty fired b", "pagerDuty resolved b"]);
  });

  test("does not keep further ones from being sent, however many there are", async () => {
    const names = Array.from({ length: groupedMax + 1 }, (_, i) => `s${i}`);
    const post = await silence(names, [mail("m")]);
    await post.put({ event: fired("a"), actions: [mail("m")] });
    await post.pass(minute);
    expect(post.said()).toEqual(["m fired a"]);
    await post.pass(7 * hour);
    expect(post.sent.slice(1).map((each) => each.names.length)).toEqual([groupedMax, 1]);
  });
});

test("more instances than one message reports wait for the end of a mute time, and nothing spins", async () => {
  const post = new Post();
  post.routes.set("r", { actions: [], muteTimes: [{}] });
  const names = Array.from({ length: groupedMax + 1 }, (_, i) => `s${i}`);
  const actions = [{ ...mail("m"), routeId: "r" }];
  await post.put(...names.map((name) => ({ event: fired(name), actions })));
  post.nowMs += minute;
  for (let i = 0; i < 3; i++) await post.outbox.sendDue();
  expect(post.outbox.nextDueMs()).toBeGreaterThan(post.nowMs + hour);
});
