/**
 * Evaluates alerts over an existing store, one minute of virtual time a round. The process does nothing else, so all
 * its CPU time is that of the rounds. Its argument is a plan as JSON; it sends its figures to the process that started
 * it.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { openState, openStore } from "../../engine/index.ts";
import { Alerting, type Caller, Metrics } from "../../server/index.ts";
import type { RoundsFigure, RoundsPlan } from "./rounds-plan.ts";
import { bucketSeconds, makeBenchAlert } from "./workload.ts";

const plan = JSON.parse(process.argv[2]!) as RoundsPlan;
/** A bucket is evaluated so long after its end: more than the delay for late rows plus the spread of the alerts. */
const evaluatedAfterMs = 50_000;
const clock = { nowMs: plan.firstMs + evaluatedAfterMs };

const store = await openStore({ dir: plan.storeDir, threads: 2 });
const stateDir = join(plan.storeDir, "..", "alert-rounds-state");
rmSync(stateDir, { recursive: true, force: true });
const state = await openState(stateDir);
const admin: Caller = { role: "admin", groups: [] } as unknown as Caller;
const alerts = Array.from({ length: plan.alerts }, (_, i) => {
  const value = { value: makeBenchAlert(i, plan.rowsPerBucket), revision: "1", updatedBy: admin };
  return { id: `a${i}`, value };
});
const alerting = new Alerting({
  store,
  state,
  sources: {
    alerts: () => alerts,
    alertCount: () => alerts.length,
  },
  // None of these alerts has actions: nothing would be sent.
  subscribers: [],
  repeats: {
    outbox: { prepare: () => ({ changes: [], stored: () => undefined }) },
    routeOf: () => undefined,
  },
  holds: {
    silencedBy: () => undefined,
    actionsFor: (_fire, own) => [...own],
    actionsForEvent: (_event, own) => [...own],
  },
  metrics: new Metrics(),
  now: () => clock.nowMs,
  storeFor: (whole) => whole,
  queryMemoryBytes: 2 ** 30,
  log: (level, message) => process.stderr.write(`${level}: ${message}\n`),
});
const { evaluator } = alerting;

async function evaluateAllDue(): Promise<void> {
  do await evaluator.evaluateDue();
  while (evaluator.nextDueMs() <= clock.nowMs);
}

async function measureTime(act: () => Promise<unknown>): Promise<{ cpuMs: number; wallMs: number }> {
  const cpu = process.cpuUsage();
  const begunMs = performance.now();
  await act();
  const { user, system } = process.cpuUsage(cpu);
  return { cpuMs: (user + system) / 1000, wallMs: performance.now() - begunMs };
}

const start = await measureTime(() => alerting.syncAlerts());
const first = await measureTime(evaluateAllDue);
const figure: RoundsFigure = {
  alerts: plan.alerts,
  startCpuMs: start.cpuMs,
  firstCpuMs: first.cpuMs,
  cpuMs: [],
  wallMs: [],
};
for (let round = 0; round < plan.rounds; round++) {
  clock.nowMs += bucketSeconds * 1000;
  const { cpuMs, wallMs } = await measureTime(evaluateAllDue);
  figure.cpuMs.push(cpuMs);
  figure.wallMs.push(wallMs);
}
await evaluator.close();
await state.close();
await store.close();
rmSync(stateDir, { recursive: true, force: true });
process.send?.(figure);
