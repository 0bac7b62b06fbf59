/**
 * Clocks: what waits goes by a monotonic clock, so that setting the wall clock, by however much, neither holds anything
 * up nor ends it early.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { AlertDefinition } from "../../server/alerts/state/alert-definition.ts";
import { RateLimiter } from "../../server/throttle/rate-limiter.ts";
import { alertOf, World } from "./alerts/world.ts";
import { ask } from "./control/asking.ts";
import { call, ingest, lines, type Running, search, startServer } from "./running.ts";

const root = join(import.meta.dirname, "../..");
const day = 86_400_000;

/** The files that read the wall clock, and what for. All other time is by `performance.now` or `monotonicMs`. */
const wallClocks: Record<string, string> = {
  "engine/files/folder-lock.ts": "is stored and shown",
  "engine/store-options.ts": "documents the option",
  "engine/store.ts": "arrival of rows, retention, the first moment of the keys' steady clock",
  "server/alerts/part.ts": "buckets of time that alerts judge",
  "server/command/client/found-range.ts": "the end of a range up to now",
  "server/command/exporter.ts": "is shown in the log",
  "server/command/flags/shared-flags.ts": "times relative to now",
  "server/command/restore.ts": "is stored",
  "server/command/serve.ts": "is shown in the log",
  "server/command/tail.ts": "times relative to now",
  "server/command/token.ts": "when a token expires, which is stored and shown",
  "server/control/part.ts": "times of changes; expiry of tokens, of which others set the time",
  "server/ingest/pieces/direct-load.ts": "arrival of rows",
  "server/ingest/loggers/text-line.ts": "the year of times that are written without one",
  "server/ingest/part.ts": "arrival of rows",
  "server/investigate/part.ts":
    "times of investigations, which are stored and shown; which buckets have arrived",
  "server/kubernetes/exporter/exporter.ts": "times of statuses and Events, which are shown",
  "server/kubernetes/exporter/node-exporter.ts": "times of samples that the kubelet gives none",
  "server/kubernetes/hub/part.ts": "times of statuses and Events, which are shown",
  "server/notify/part.ts": "times that are stored and shown; silences",
  "server/sign-in/part.ts": "end of sessions, which is stored and shown; expiry of tokens",
  "server/throttle/retry-after.ts": "a server's Retry-After may be a date; the wait is bounded",
  "server/operations/store-metrics.ts": "start of the process, which is shown",
};

test("the wall clock is read only where time is stored or shown", () => {
  const readers = ["engine", "query", "server"].flatMap((layer) =>
    readdirSync(join(root, layer), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(layer, name))
      // In the browser the wall clock says what "the last hour" is.
      .filter((file) => !file.startsWith(join("server", "page", "client")))
      .filter((file) => /\bDate\.now\b|new Date\(\)/.test(readFileSync(join(root, file), "utf8"))),
  );
  expect(readers.sort()).toEqual(Object.keys(wallClocks).sort());
});

test("a rate limiter fills by the time that passes", () => {
  let nowMs = 5;
  const limiter = new RateLimiter({ perSecond: 1, burst: 1, what: "tries", elapsed: () => nowMs });
  limiter.spend("a");
  expect(() => limiter.spend("a")).toThrow("more than 1 tries a second");
  nowMs += 1_000;
  limiter.spend("a");
});

describe.each([-400, 400])("a clock that is set by %i days", (days) => {
  const errorMs = days * day;
  let server: Running | undefined;
  afterEach(async () => {
    vi.restoreAllMocks();
    await server?.stop();
    server = undefined;
  });

  test("keeps a running server from nothing", async () => {
    const real = Date.now;
    let setMs = 0;
    vi.spyOn(Date, "now").mockImplementation(() => real() + setMs);
    server = await startServer();
    const named = { "Idempotency-Key": "one" };
    // Older than any clock of this test: rows of the future are refused.
    const row = { timestamp: real() - 500 * day, message: "before" };
    expect((await ingest(server, lines([row]), named)).json).toMatchObject({ accepted: 1, duplicate: false });
    const running = search(server, { endTime: real() + 500 * day });
    setMs = errorMs;
    expect((await running).status).toBe(200);
    expect((await ingest(server, lines([row]), named)).json).toMatchObject({ accepted: 1, duplicate: true });
    expect((await ingest(server, lines([{ ...row, message: "after" }]))).json).toMatchObject({ accepted: 1 });
    const found = await search(server, { endTime: real() + 500 * day });
    expect(found.json.logs.map(({ message }) => message).sort()).toEqual(["after", "before"]);
    const { adminToken: token } = server;
    for (let i = 0; i < 20; i++) {
      const made = await ask(server, "POST", "/tokens", { name: `t${i}`, role: "viewer" });
      expect(made.status).toBeLessThan(300);
    }
    const rows = async () =>
      /^svc_store_rows\{signal="logs"\} (\d+)$/m.exec((await call(server!, "/metrics", { token })).text)?.[1];
    const before = Number(await rows());
    await ingest(server, lines([{ ...row, message: "later" }]));
    await expect.poll(async () => Number(await rows()), { timeout: 5_000 }).toBeGreaterThan(before);
    expect((await call(server, "/ready")).status).toBe(200);
    expect(server.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  }, 30_000);

  test.each(["before its first evaluation", "after it"])("leaves an alert evaluated, %s", async (when) => {
    const world = new World(Date.UTC(2026, 0, 10, 12));
    const alert: AlertDefinition = alertOf("a", "q");
    await world.evaluator.upsert(alert);
    await world.evaluator.begin();
    if (when === "after it") await world.runUntil(world.nowMs + 5 * 60_000);
    world.nowMs += errorMs;
    const asked = world.asked.length;
    await world.runUntil(world.nowMs + 3 * 60_000);
    expect(world.asked.length).toBeGreaterThan(asked);
  });
});
