/** A fire whose begin reached nobody, and of which people were told as it went on: who is told of its end. */
import { describe, expect, test } from "vitest";
import type { Action } from "../../../server/model/alert.ts";
import { stableId } from "../../../server/model/stable-id.ts";
import { endedKept } from "../../../server/notify/limits.ts";
import type { Outcome } from "../../../server/notify/senders/sender.ts";
import { fired, hook, resolved } from "./events.ts";
import { Post, receiver } from "./post.ts";

const hour = 3_600_000;
const refused: Outcome = { kind: "final", problem: "no such channel" };

function repeated(name: string, repeat: number) {
  const event = fired(name);
  return { ...event, id: stableId("repeated", event.fireId, repeat), repeat };
}

/** An outbox whose receivers refused the begins of these fires. */
async function postAfterRefusal(names: readonly string[], actions: readonly Action[]): Promise<Post> {
  const post = new Post();
  post.answer = () => refused;
  await post.put(...names.map((name) => ({ event: fired(name), actions })));
  await post.pass(hour);
  post.sent.length = 0;
  post.answer = () => ({ kind: "delivered" });
  return post;
}

function restart(post: Post): void {
  post.state = post.disk.open();
  post.open();
}

describe("the end of a fire whose begin was refused", () => {
  test.each([false, true])("goes where people were told that it goes on (restart: %s)", async (restarts) => {
    const actions = ["told", "untold"].map(hook);
    const post = await postAfterRefusal(["a", "b"], actions);
    post.answer = ({ action }) => (receiver(action) === "told" ? { kind: "delivered" } : refused);
    await post.put({ event: repeated("a", 1), actions });
    await post.pass(hour);
    if (restarts) restart(post);
    post.sent.length = 0;
    await post.put(...["a", "b"].map((name) => ({ event: resolved(name), actions })));
    await post.pass(hour);
    expect(post.said()).toEqual(["told resolved a"]);
  });

  test("goes where one of several messages may have arrived, also where it was sent again by hand", async () => {
    const post = await postAfterRefusal(["a", "b"], [hook("h")]);
    post.answer = ({ events }) => (events[0]!.repeat === 2 ? { kind: "delivered" } : refused);
    const repeats = [1, 2, 3].map((repeat) => repeated("a", repeat));
    await post.put(...[...repeats, repeated("b", 1)].map((event) => ({ event, actions: [hook("h")] })));
    await post.pass(hour);
    post.answer = () => ({ kind: "delivered" });
    await post.outbox.resend(post.outbox.list().find(({ event }) => event.id === repeated("b", 1).id)!.id);
    await post.pass(hour);
    post.sent.length = 0;
    await post.put(...["a", "b"].map((name) => ({ event: resolved(name), actions: [hook("h")] })));
    await post.pass(hour);
    expect(post.said()).toEqual(["h resolved a", "h resolved b"]);
  });

  test("goes nowhere once the message that it goes on is forgotten, and not before", async () => {
    const quiet: Action = { type: "webhook", webhookDestination: { uuid: "quiet" } };
    const post = await postAfterRefusal(["a", "b"], [hook("h")]);
    const tell = (name: string) => post.put({ event: repeated(name, 1), actions: [hook("h")] });
    const tellOthers = async (what: string, count: number) => {
      const others = Array.from({ length: count }, (_, i) => fired(`${what} ${i}`));
      await post.put(...others.map((event) => ({ event, actions: [quiet] })));
      await post.pass(hour);
    };
    await tell("a");
    await tellOthers("other", endedKept / 2);
    await tell("b");
    await tellOthers("another", endedKept * 0.75);
    // What could not be taken off the disk is not forgotten.
    post.disk.isFull = true;
    const [kept] = post.outbox.list().filter(({ event }) => event.id === repeated("b", 1).id);
    await expect(post.outbox.resend(kept!.id)).rejects.toThrow("the disk is full");
    post.disk.isFull = false;
    post.sent.length = 0;
    await post.put(...["a", "b"].map((name) => ({ event: resolved(name), actions: [hook("h")] })));
    await post.pass(hour);
    expect(post.said()).toEqual(["h resolved b"]);
  });
});

test.each([false, true])(
  "the end of a fire that was told is told, also where its begin is refused when it is sent again (restart: %s)",
  async (restarts) => {
    const post = new Post();
    const actions = [hook("h")];
    await post.put({ event: fired("a"), actions });
    await post.pass(hour);
    post.answer = () => refused;
    await post.outbox.resend(post.outbox.list()[0]!.id);
    await post.pass(hour);
    expect(post.outbox.list()[0]!.status).toBe("givenUp");
    post.answer = () => ({ kind: "delivered" });
    if (restarts) restart(post);
    await post.put({ event: resolved("a"), actions });
    await post.pass(hour);
    expect(post.said()).toEqual(["h fired a", "h fired a", "h resolved a"]);
  },
);
