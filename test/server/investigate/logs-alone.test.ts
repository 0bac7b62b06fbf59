/** Investigations of a system that sends logs with the ids of traces, and no spans. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { investigate } from "../../../server/index.ts";
import { type Running, startServer } from "../running.ts";
import { loadShop, nameOf, startOf, windowMs } from "./shop.ts";

const names = ["errors in stock", "errors in some calls of cart", "nothing", "three times the requests"];
let server: Running;
beforeAll(async () => {
  server = await startServer();
  await loadShop(server, names, ["logs"]);
}, 60_000);
afterAll(() => server.stop());

const look = (name: string) => {
  const startMs = startOf(name);
  return investigate(server.service.store, { startMs, endMs: startMs + windowMs });
};

test.each([
  ["errors in stock", "stock", "cart"],
  ["errors in some calls of cart", "cart", "web"],
])("%s: %s is the first suspect, called by %s, and no answer is sure", async (name, service, caller) => {
  const { suspects, verdict, read, normal } = await look(name);
  expect([suspects[0]!.service, suspects[0]!.caller]).toEqual([nameOf(service), nameOf(caller)]);
  expect(suspects[0]!.evidence[0]!.sentence).toMatch(/log the error “.* cannot do it: code <\*>”/);
  expect([verdict, read.spans]).toEqual(["unsure", 0]);
  expect(normal).toContain("no spans: calls between services are guessed from the logs of traces");
});

test.each(["nothing", "three times the requests"])("%s: nobody is suspected", async (name) => {
  expect((await look(name)).suspects.filter(({ confidence }) => confidence > 0.3)).toEqual([]);
});
