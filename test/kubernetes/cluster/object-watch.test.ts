/** Watches that end at once: they are opened less and less often, and that is told until one goes on. */

import type { IncomingMessage } from "node:http";
import { PassThrough, Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { ObjectWatch } from "../../../server/kubernetes/cluster/object-watch.ts";

let watch: ObjectWatch | undefined;
afterEach(() => watch?.close());

/** Follows pods; `answer` makes the body of each watch. */
function follow(answer: () => Readable): { opened: number[]; logged: string[] } {
  const opened: number[] = [];
  const logged: string[] = [];
  watch = new ObjectWatch({
    client: {
      send: async <T>() => ({ metadata: { resourceVersion: "1" }, items: [] }) as T,
      open: async (_, { signal } = {}) => {
        opened.push(performance.now());
        await sleep(1);
        const body = answer();
        signal?.addEventListener("abort", () => body.destroy(new Error("aborted")));
        return body as IncomingMessage;
      },
    },
    collection: { apiVersion: "v1", kind: "Pod", plural: "pods" },
    watcher: { listed: () => undefined, changed: () => undefined, deleted: () => undefined },
    random: () => 1,
    log: (message) => void logged.push(message),
  });
  watch.run();
  return { opened, logged };
}

const line = (event: object) => `${JSON.stringify(event)}\n`;
const bookmark = line({ type: "BOOKMARK", object: { metadata: { resourceVersion: "2" } } });

test.each([
  ["nothing", []],
  ["a bookmark", [bookmark]],
])("a watch that ends at once with %s is not opened again at once", async (_, lines) => {
  let isHealthy = false;
  const { opened, logged } = follow(() =>
    isHealthy ? new PassThrough() : Readable.from(lines.map(Buffer.from)),
  );
  await expect.poll(() => opened.length, { timeout: 10_000 }).toBeGreaterThan(2);
  const [first, second, third] = opened as [number, number, number];
  expect(second - first).toBeGreaterThan(190);
  expect(third - second).toBeGreaterThan(390);
  expect(watch!.problem).toBe("the watch ended at once");
  expect(logged).toEqual(["pods: the watch ended at once"]);
  // A watch that goes on is well, before anything happens.
  isHealthy = true;
  await expect.poll(() => watch!.problem, { timeout: 10_000 }).toBeUndefined();
});

test("a watch that ends soon after a change is opened again at once", async () => {
  const object = { metadata: { name: "p", namespace: "a", uid: "u", resourceVersion: "2" } };
  const { opened } = follow(() => Readable.from([Buffer.from(line({ type: "ADDED", object }))]));
  await expect.poll(() => opened.length, { timeout: 5_000 }).toBeGreaterThan(5);
  expect(watch!.problem).toBeUndefined();
});
