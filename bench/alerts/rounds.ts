/**
 * Rounds of evaluation in a process of their own, one minute of virtual time after the other, over a store that is there: what the
 * process takes is what the round takes. Its argument says what; its figures go to the process that started it.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { openState, openStore } from "../../engine/index.ts";
import { Alerting, type Caller, Metrics } from "../../server/index.ts";
import { bucketSeconds, sceneAlert } from "./scene.ts";

export interface RoundsPlan {
  storeDir: string;
  alerts: number;
  rounds: number;
  /** End of the newest bucket at the first round. */
  firstMs: number;
  rowsPerBucket: number;
}

export interface RoundsFigure {
  alerts: number;
  /** From a start until all alerts are taken up; of the first round, in which queries are planned and states written. */
  startCpuMs: number;
  firstCpuMs: number;
  cpuMs: number[];
  wallMs: number[];
}

const plan = JSON.parse(process.argv[2]!) as RoundsPlan;
/** Behind the end of a bucket: later than the delay for late rows and the spread. */
const behindMs = 50_000;
const clock = { nowMs: plan.firstMs + behindMs };

const store = await openStore({ dir: plan.storeDir, threads: 2 });
const stateDir = join(plan.storeDir, "..", "alert-rounds-state");
rmSync(stateDir, { recursive: true, force: true });
const state = await openState(stateDir);
const admin: Caller = { role: "admin", groups: [] } as unknown as Caller;
const alerts = Array.from({ length: plan.alerts }, (_, i) => {
  return [`a${i}`, { value: sceneAlert(i, plan.rowsPerBucket), revision: "1", updatedBy: admin }] as const;
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
  silencedBy: () => undefined,
  metrics: new Metrics(),
  now: () => clock.nowMs,
  storeFor: (whole) => whole,
  queryMemoryBytes: 2 ** 30,
  log: (level, message) => process.stderr.write(`${level}: ${message}\n`),
});
const { evaluator } = alerting;

async function settle(): Promise<void> {
  do await evaluator.evaluateDue();
  while (evaluator.nextDueMs() <= clock.nowMs);
}

async function timed(act: () => Promise<unknown>): Promise<{ cpuMs: number; wallMs: number }> {
  const cpu = process.cpuUsage();
  const begunMs = performance.now();
  await act();
  const { user, system } = process.cpuUsage(cpu);
  return { cpuMs: (user + system) / 1000, wallMs: performance.now() - begunMs };
}

const start = await timed(() => alerting.syncAlerts());
const first = await timed(settle);
const figure: RoundsFigure = {
  alerts: plan.alerts,
  startCpuMs: start.cpuMs,
  firstCpuMs: first.cpuMs,
  cpuMs: [],
  wallMs: [],
};
for (let round = 0; round < plan.rounds; round++) {
  clock.nowMs += bucketSeconds * 1000;
  const { cpuMs, wallMs } = await timed(settle);
  figure.cpuMs.push(cpuMs);
  figure.wallMs.push(wallMs);
}
await evaluator.close();
await state.close();
await store.close();
rmSync(stateDir, { recursive: true, force: true });
process.send?.(figure);
