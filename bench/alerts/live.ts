/** A server that ingests rows and evaluates alerts in real time, measured from outside. */
import { mkdtemp, rm } from "node:fs/promises";
import type { Agent } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { toJsonLine } from "../../fixtures/row.ts";
import { sendRows } from "../server/row-sender.ts";
import { openAgent, type ServerProcess, startServer } from "../server/server-process.ts";
import type { ShowProgress } from "../terminal/progress.ts";
import { bucketSeconds, generateAlertRows, generateUntimedBodies, makeBenchAlert } from "./workload.ts";

export interface LiveFigure {
  alerts: number;
  storedRows: number;
  minutes: number;
  rowsPerSecondAim: number;
  rowsPerSecond: number;
  /**
   * CPU of the server a round, with the alerts less without them, both while rows arrive. Null where there is no /proc.
   */
  cpuMsPerRound: number | null;
  /** Evaluations that were due. */
  evaluationsDue: number;
  /** Evaluations that took place. */
  evaluations: number;
  failed: number;
  missedBuckets: number;
  lagSecondsMax: number;
  scans: Record<string, number>;
}

export interface LivePlan {
  storesDir: string;
  root: string;
  rows: number;
  alerts: number;
  minutes: number;
}

const rowsPerSecondAim = 20_000;
const bodyRows = 1_000;
/** Bodies that are encoded beforehand and sent again and again: their rows have no time and get that of arrival. */
const bodies = 200;
const senders = 4;
const loadBatchRows = 10_000;
const writers = 16;

export async function measureLive(plan: LivePlan, show: ShowProgress): Promise<LiveFigure> {
  const dir = await mkdtemp(join(plan.storesDir, "alerts-"));
  const server = await startServer(dir, plan.root);
  const agent = openAgent(writers);
  try {
    await loadRows(server, plan.rows, agent, show);
    const sender = startSending(server, [...generateUntimedBodies(bodies, bodyRows)]);
    await wait(30, "rows come in", show);
    const aloneSeconds = Math.max(60, (plan.minutes * 60) / 4);
    const aloneCpuMs = await measureCpu(server, () => wait(aloneSeconds, "without alerts", show));
    await saveAlerts(server, plan.alerts, agent, show);
    // The first round plans every query and writes every state; after it evaluations are on their time grid.
    await wait(2 * bucketSeconds, "first rounds", show);
    const before = await readCounters(server);
    const sentBefore = sender.rows();
    let lagSecondsMax = 0;
    const seconds = plan.minutes * 60;
    const cpuMs = await measureCpu(server, () =>
      wait(seconds, "evaluate while rows come in", show, async () => {
        lagSecondsMax = Math.max(lagSecondsMax, (await readCounters(server)).lag);
      }),
    );
    const after = await readCounters(server);
    const rowsPerSecond = (sender.rows() - sentBefore) / seconds;
    await sender.close();
    const perRound = (total: number, overSeconds: number) => (total / overSeconds) * bucketSeconds;
    return {
      alerts: plan.alerts,
      storedRows: plan.rows,
      minutes: plan.minutes,
      rowsPerSecondAim,
      rowsPerSecond,
      cpuMsPerRound:
        cpuMs === null || aloneCpuMs === null
          ? null
          : perRound(cpuMs, seconds) - perRound(aloneCpuMs, aloneSeconds),
      evaluationsDue: plan.alerts * plan.minutes,
      evaluations: after.judged - before.judged,
      failed: after.failed - before.failed,
      missedBuckets: after.missed - before.missed,
      lagSecondsMax,
      scans: after.scans,
    };
  } finally {
    agent.destroy();
    await server.stop();
    await rm(dir, { recursive: true });
  }
}

/** Loads rows of the last twenty minutes. */
async function loadRows(
  server: ServerProcess,
  rows: number,
  agent: Agent,
  show: ShowProgress,
): Promise<void> {
  const fromMs = Date.now() - 20 * 60_000;
  const timeMsOf = (row: number) => fromMs + (row / rows) * 20 * 60_000;
  let done = 0;
  for (const batch of generateAlertRows(rows, loadBatchRows, timeMsOf)) {
    const lines = Buffer.from(`${batch.map((row) => toJsonLine(row)).join("\n")}\n`);
    await sendRows(server, lines, batch.length, agent);
    done += batch.length;
    show({ step: "load rows", done, total: rows, unit: "rows" });
  }
}

async function saveAlerts(
  server: ServerProcess,
  alerts: number,
  agent: Agent,
  show: ShowProgress,
): Promise<void> {
  let next = 0;
  const saveInTurn = async (): Promise<void> => {
    while (next < alerts) {
      const alert = makeBenchAlert(next++, rowsPerSecondAim * bucketSeconds);
      await server.post("/api/v1/alerts/update", Buffer.from(JSON.stringify({ alert })), agent);
      show({ step: "save alerts", done: next, total: alerts, unit: "alerts" });
    }
  };
  await Promise.all(Array.from({ length: writers }, saveInTurn));
}

async function wait(
  seconds: number,
  step: string,
  show: ShowProgress,
  everySecond = async (): Promise<void> => undefined,
) {
  const untilMs = performance.now() + seconds * 1000;
  for (let leftMs = seconds * 1000; leftMs > 0; leftMs = untilMs - performance.now()) {
    await everySecond();
    show({ step, done: Math.round(seconds - leftMs / 1000), total: seconds, unit: "seconds" });
    await sleep(Math.min(1000, leftMs));
  }
}

async function measureCpu(server: ServerProcess, act: () => Promise<void>): Promise<number | null> {
  const before = await server.readCpuMs();
  await act();
  const after = await server.readCpuMs();
  return before === null || after === null ? null : after - before;
}

/** Sends each body at its due time, until it is closed. */
function startSending(server: ServerProcess, bodiesToSend: readonly Buffer[]) {
  const agent = openAgent(senders);
  const begunMs = performance.now();
  let next = 0;
  let rows = 0;
  let isOpen = true;
  const sendInTurn = async (): Promise<void> => {
    while (isOpen) {
      const body = next++;
      const dueMs = begunMs + (body * bodyRows * 1000) / rowsPerSecondAim;
      await sleep(Math.max(0, dueMs - performance.now()));
      await sendRows(server, bodiesToSend[body % bodiesToSend.length]!, bodyRows, agent);
      rows += bodyRows;
    }
  };
  const ended = Promise.all(Array.from({ length: senders }, sendInTurn));
  // A failure is thrown by `close`; this handler only keeps it from counting as unhandled until then.
  ended.catch(() => undefined);
  return {
    rows: () => rows,
    close: async () => {
      isOpen = false;
      await ended;
      agent.destroy();
    },
  };
}

async function readCounters(server: ServerProcess) {
  const text = await server.get("/metrics");
  const value = (name: string): number => {
    const line = text.split("\n").find((each) => each.startsWith(`${name} `));
    return line === undefined ? 0 : Number(line.slice(name.length));
  };
  const scans = Object.fromEntries(
    Array.from(text.matchAll(/^svc_alert_scans_total\{run="(\w+)"\} (\d+)$/gm), ([, run, count]) => [
      run!,
      Number(count),
    ]),
  );
  return {
    judged: value('svc_alert_evaluations_total{outcome="judged"}'),
    failed: value('svc_alert_evaluations_total{outcome="failed"}'),
    missed: value("svc_alert_missed_buckets_total"),
    lag: value("svc_alert_lag_seconds"),
    scans,
  };
}
