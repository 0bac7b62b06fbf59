/** kill -9 in the middle of firing and delivery: no transition is lost, and none is sent under two ids. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { openState } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import type { AlertState } from "../../../server/alerts/state/alert-state.ts";
import type { Fire } from "../../../server/alerts/state/fire.ts";
import type { Window } from "../../../server/alerts/state/window.ts";
import { openReceiver } from "../notify/receiver.ts";
import {
  type KilledArguments,
  minute,
  sceneAlerts,
  sceneNames,
  sceneStartMs,
  sceneValue,
} from "./kill-scene.ts";
import { byTime, naiveFires, type Told } from "./naive.ts";

const bundled = ["--import", join(import.meta.dirname, "../../bundled-layers.ts")];
const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const kills = process.env.SVC_SOAK === "1" ? 50 : 3;

/** Runs until the end, or kills it after so many signs of life and so many milliseconds. Returns the last time it knew. */
async function run(
  plan: KilledArguments,
  kill: { afterLines: number; thenMs: number } | null,
): Promise<number> {
  const child = spawn(
    process.execPath,
    [...bundled, join(import.meta.dirname, "killed.ts"), JSON.stringify(plan)],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  let lines = 0;
  let nowMs = plan.nowMs;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === "done") break;
    nowMs = Number(line);
    if (++lines === kill?.afterLines) setTimeout(() => child.kill("SIGKILL"), kill.thenMs);
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return nowMs;
}

test(`kill -9 loses no transition and sends none under two ids (SVC_SEED=${seed})`, {
  timeout: 600_000,
}, async () => {
  const random = new Random(seed);
  const dir = mkdtempSync(join(tmpdir(), "svc-kill-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const receiver = await openReceiver(200);
  receiver.behaviours = Array.from({ length: 40 }, () => random.pick([200, 200, 200, 500, "reset"] as const));
  // The last one stays.
  receiver.behaviours.push(200);
  let nowMs = sceneStartMs;
  const untilMs = sceneStartMs + (kills * 5 + 10) * minute;
  for (let i = 0; i < kills; i++) {
    const kill = { afterLines: random.between(1, 40), thenMs: random.below(60) };
    nowMs =
      (await run({ dir, url: receiver.url, nowMs, untilMs }, kill)) +
      random.pick([1, 1_000, 20_000, 3 * minute]);
  }
  await run({ dir, url: receiver.url, nowMs, untilMs: Math.max(nowMs + 10 * minute, untilMs) }, null);

  const state = await openState(dir);
  onTestFinished(() => state.close());
  const fires = state.list("alert-fires").map(({ value }) => value as unknown as Fire);
  const { gaps } = state.get("alert-clock", "alive") as unknown as { gaps: [number, number][] };
  // Where the server was away for three seconds of a minute at most, nothing counts as missing.
  const isLost = (ms: number) =>
    gaps.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(to, ms + minute) - Math.max(from, ms)), 0) >
    3_000;
  for (const alert of sceneAlerts) {
    const { window } = state.get("alert-states", alert.metadata.id) as unknown as AlertState;
    const { throughMs } = state.get("alert-windows", window!) as unknown as Window;
    const { query } = alert.timeseries.expression.svcQLTimeseries;
    // The first evaluation judges the bucket that was the newest then, whichever the spread made that.
    const expected = sceneNames.flatMap((name) => {
      const series = { labels: { name }, valueAt: (atMs: number) => sceneValue(query, name, atMs) };
      return naiveFires(alert, series, sceneStartMs - minute, throughMs, isLost).fires;
    });
    const got = fires
      .filter(({ alertId }) => alertId === alert.metadata.id)
      .map(({ rule, labels, firedAtMs, resolvedAtMs, reason }): Told => {
        return { rule, instance: JSON.stringify(labels), firedAtMs, resolvedAtMs, reason };
      });
    expect(got.sort(byTime), alert.metadata.id).toEqual(expected.sort(byTime));
  }
  expect(fires.length).toBeGreaterThan(sceneAlerts.length * 2);

  const ids = new Map<string, Set<string>>();
  for (const { path, headers, body } of receiver.received) {
    const { type, data } = JSON.parse(body) as { type: string; data: { fireId: string } };
    const key = `${path} ${type} ${data.fireId}`;
    ids.set(key, (ids.get(key) ?? new Set()).add(String(headers["webhook-id"])));
  }
  const wanted = fires.flatMap(({ id, told, resolvedAtMs }) => {
    expect(told).toBe("yes");
    const types = resolvedAtMs === null ? ["alertFired"] : ["alertFired", "alertResolved"];
    return types.flatMap((type) => ["/one", "/two"].map((path) => `${path} ${type} ${id}`));
  });
  expect([...ids.keys()].sort()).toEqual(wanted.sort());
  expect([...ids.values()].filter((each) => each.size !== 1)).toEqual([]);
});
