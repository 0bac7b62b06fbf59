/**
 * What the server stores by itself, thousands of each, keeps its event loop from other work no longer than a
 * few requests do: fires, notifications, investigations, requests for them, sessions, transitions, entries of the audit
 * log. Where there is no /proc/self/task (not Linux) there is nothing to measure with.
 */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { type Json, openState, type StateChange } from "../../../engine/index.ts";
import { makeNotification } from "../../../server/notify/notification.ts";
import { kinds } from "../control/samples.ts";
import { fired, hook } from "../notify/events.ts";
import { newDataFolder, startWatched } from "./watched-server.ts";

/** Longest turn of the event loop, in CPU milliseconds. A turn may once have a garbage collection in it. */
const turnMsMax = 50;
const stopMsMax = 10_000;
const alertId = "a";
const isMeasurable = existsSync(`/proc/self/task/${process.pid}/schedstat`);

/** Values by table and id. */
function makeRecords(nowMs: number, tokenId: string): Record<string, [id: string, value: unknown][]> {
  const many = <T>(length: number, make: (i: number) => T) => Array.from({ length }, (_, i) => make(i));
  const fire = (i: number) => ({
    ...fired(`${i}`, { alertId: i % 2 === 0 ? alertId : `deleted-${i}`, firedAtMs: nowMs - i * 100 }),
    ...{ id: `fire-${i}`, resolvedAtMs: i % 40 === 0 ? null : nowMs, reason: "recovered", told: "yes" },
    ...{ silencedBy: null, actions: [] },
  });
  const evidence = many(20, (i) => ({ id: `e${i}`, sentence: "s".repeat(400), query: "q".repeat(50) }));
  const suspect = { service: "shop", kind: "code", confidence: 0.5, score: 0.5, evidence };
  const answer = {
    ...{ verdict: "unsure", summary: "s", suspects: [suspect], timeline: [], affected: [], normal: [] },
    ...{ nextSteps: [], read: { spans: 0, logs: 0, series: 0, resources: 0 }, ms: 1 },
  };
  const owner = { tokenId, name: "admin", role: "admin", groups: null, environment: null };
  const investigation = (i: number) => ({
    ...{ id: `i${i}`, status: "completed", startTime: nowMs - 60_000, endTime: nowMs, createdAt: nowMs - i },
    ...{
      completedAt: nowMs,
      by: "admin",
      traceId: null,
      query: null,
      fires: [],
      problem: null,
      feedback: null,
    },
    answer,
  });
  const waiting = (i: number) => ({
    ...makeNotification(
      { id: `n${i}`, event: fired(`${i}`), action: hook(`hook-${i % 3}`), sequence: i, groupKey: null },
      nowMs - i,
      nowMs + 3_600_000,
    ),
  });
  const session = (i: number) => ({
    ...{ createdAtMs: nowMs, endsAtMs: nowMs + 86_400_000 },
    credential: { kind: "token", tokenId: `token-${i % 1_000}` },
  });
  const transition = (atMs: number) => ({
    ...{ atMs, rule: "high", labels: { "service.name": "shop" }, from: "ok", to: "firing" },
  });
  return {
    "alert-fires": many(10_000, (i) => [`fire-${i}`, fire(i)]),
    notifications: many(10_000, (i) => [`n${i}`, waiting(i)]),
    investigations: many(1_000, (i) => [`i${i}`, { investigation: investigation(i), owner }]),
    "investigation-requests": many(5_000, (i) => [
      `fire-${2 * i}`,
      { fireId: `fire-${2 * i}`, alertId, requestedAtMs: nowMs - i },
    ]),
    sessions: many(10_000, (i) => [createHash("sha256").update(`${i}`).digest("hex"), session(i)]),
    "alert-transitions": many(4_000, (i) => {
      const atMs = nowMs - i * 1_000;
      return [`${i < 60 ? alertId : `b${i % 100}`}/${atMs}`, many(32, (n) => transition(atMs + n))];
    }),
    audit: many(1_000, (i) => [
      `${i}`,
      { atMs: nowMs, level: "info", message: "m", attributes: { "audit.id": `${i}` } },
    ]),
  };
}

test.skipIf(!isMeasurable)(
  "the longest turn of the event loop with as many records as are kept (skipped without /proc)",
  async () => {
    const { dir, remove } = newDataFolder();
    onTestFinished(remove);
    const first = await startWatched(dir);
    const { sample } = kinds.find(({ name }) => name === "alert")!;
    const body = JSON.stringify(sample, (key, value) => (key === "actions" ? [] : value));
    const saved = JSON.parse(body) as { metadata: { id?: string } };
    saved.metadata.id = alertId;
    const { status, text } = await first.call("POST", "/api/v1/alerts/update", { alert: saved });
    expect([status, text]).toEqual([200, expect.any(String)]);
    await first.stop();
    const state = await openState(join(dir, "control"));
    const nowMs = Date.now();
    for (const [table, values] of Object.entries(makeRecords(nowMs, state.list("tokens")[0]!.id))) {
      await state.write(values.map(([id, value]): StateChange => ({ table, id, value: value as Json })));
    }
    await state.close();

    const server = await startWatched(dir);
    const get = async (path: string) => {
      const got = await server.call("GET", path);
      expect([path, got.status]).toEqual([path, 200]);
    };
    const works: Record<string, () => Promise<unknown>> = {
      "the first seconds": () => sleep(1_500),
      "fires of an alert": () => get(`/api/v1/alerts/${alertId}/fires`),
      "history of an alert": () => get(`/api/v1/alerts/${alertId}/history?limit=1000`),
      "states of alerts": () => get("/api/v1/alerts/states"),
      notifications: () => get("/api/v1/notifications?limit=1000"),
      investigations: () => get("/api/v1/investigations"),
      metrics: () => get("/metrics"),
      "a sign-in": async () => {
        const { status: signedIn } = await server.call("POST", "/api/v1/session", { token: server.token });
        expect(signedIn).toBe(200);
      },
      "a new token": () => server.call("POST", "/api/v1/tokens", { name: "t", role: "viewer" }),
      "a new investigation": () =>
        server.call("POST", "/api/v1/investigations", { startTime: nowMs - 60_000, endTime: nowMs }),
    };
    const found: string[] = [];
    for (const [name, work] of Object.entries(works)) {
      let ms = await server.longestTurnMs(work);
      for (let again = 0; again < 2 && ms > turnMsMax && ms <= 2 * turnMsMax; again++)
        ms = await server.longestTurnMs(work);
      if (ms > turnMsMax) found.push(`${name}: ${ms} ms`);
    }
    let stopMs = 0;
    const stopping = await server.longestTurnMs(async () => {
      stopMs = await server.stop();
    });
    if (stopping > turnMsMax) found.push(`stop: ${stopping} ms`);
    expect(found).toEqual([]);
    expect(stopMs).toBeLessThan(stopMsMax);
  },
  120_000,
);
