/** Evaluates and tells with a real state on disk, through virtual time as fast as it can, until it is killed. */
import { openState } from "../../../engine/index.ts";
import { Evaluator } from "../../../server/alerts/evaluator.ts";
import { Metrics } from "../../../server/metrics/metrics.ts";
import { Outbox } from "../../../server/notify/outbox.ts";
import { AddressGuard } from "../../../server/notify/senders/address-guard.ts";
import type { Outcome } from "../../../server/notify/senders/sender.ts";
import { webhookSender } from "../../../server/notify/senders/webhook.ts";
import { type KilledArguments, minute, sceneAlerts, sceneNames, sceneValue } from "./kill-scene.ts";

const { dir, url, nowMs, untilMs } = JSON.parse(process.argv[2]!) as KilledArguments;
const clock = { nowMs };
const state = await openState(dir);
const metrics = new Metrics();
const unused = async (): Promise<Outcome> => ({ kind: "final", problem: "not in this test" });
const webhook = webhookSender({
  webhookOf: (uuid) => ({ value: { url: `${url}/${uuid}` } }),
  mayReceive: () => true,
  readSecret: async () => ({ problem: "there are no Secrets here" }),
  onGone: () => undefined,
  isOff: () => false,
  guard: new AddressGuard(["127.0.0.0/8"]),
  publicUrl: "https://svc.example",
});
const shared = { state, now: () => clock.nowMs, metrics, log: () => undefined };
const outbox = new Outbox({
  ...shared,
  findHold: () => undefined,
  elapsed: shared.now,
  random: Math.random,
  onGivenUp: () => undefined,
  senders: { webhook, slack: unused, email: unused, pagerDuty: unused },
  isGroupedWebhook: () => false,
  routeOf: () => undefined,
});
const evaluator = new Evaluator({
  ...shared,
  silencedBy: () => undefined,
  subscribers: [outbox],
  actionsFor: (_fire, own) => [...own],
  delayMs: 30_000,
  signalDelaysMs: {},
  historyAgeMs: 30 * 24 * 3_600_000,
  lateRowsMs: 0,
  retryWaitMs: 0,
  aliveMark: undefined,
  bucketsWithRows: async () => [],
  shapeOf: (query) => ({
    unlabelled: false,
    selector: query,
    signals: ["logs"],
    missing: { effect: "change", spillsOver: false, windowMs: 0, offsetMs: 0 },
  }),
  arrivals: { position: () => clock.nowMs, oldestMs: () => undefined },
  query: async ({ query, startMs, endMs }) =>
    sceneNames.map((name) => {
      const points: [number, number][] = [];
      for (let atMs = startMs; atMs <= endMs; atMs += minute) {
        const value = sceneValue(query, name, atMs);
        if (value !== null) points.push([atMs, value]);
      }
      return { labels: { name }, points };
    }),
});
for (const alert of sceneAlerts) await evaluator.upsert(alert);
await evaluator.begin();
while (clock.nowMs < untilMs) {
  process.stdout.write(`${clock.nowMs}\n`);
  await evaluator.evaluateDue();
  await outbox.sendDue();
  const dueMs = Math.min(evaluator.nextDueMs(), outbox.nextDueMs(), clock.nowMs + 30_000);
  clock.nowMs = Math.max(clock.nowMs + 1, dueMs);
}
while (outbox.nextDueMs() < Number.POSITIVE_INFINITY) {
  clock.nowMs = Math.max(clock.nowMs, outbox.nextDueMs());
  await outbox.sendDue();
}
await state.close();
process.stdout.write("done\n");
