#!/usr/bin/env node
/** Ten thousand alerts: what a round of evaluation takes, whether none is missed while rows come in, and what Prometheus takes for the same. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { openStore } from "../engine/index.ts";
import { type LiveFigure, measureLive } from "./alerts/live.ts";
import { measurePeer, type PeerFigure, peerMissing } from "./alerts/prometheus.ts";
import type { RoundsFigure, RoundsPlan } from "./alerts/rounds.ts";
import { sceneRows, selectorCount } from "./alerts/scene.ts";
import { type Spread, spreadOf } from "./figures.ts";
import { type Machine, machineFacts } from "./machine.ts";
import { ProgressLine } from "./progress.ts";
import { formatTable, grouped, rightColumns, shortMs } from "./table.ts";

const here = (path: string): string => new URL(path, import.meta.url).pathname;

const usage = `Usage: node bench/alerts.ts [--minutes 10] [--alerts 10000] [--rows 2000000] [--rounds 12] [--peers none]
                            [--json FILE] [--data DIR] [--check]
  --minutes N    how long a server evaluates while rows come in; 0 leaves that out
  --alerts N     alerts over ${grouped(selectorCount)} selectors; ten times as many are measured too
  --rows N       rows that are stored
  --rounds N     rounds of a process; two processes are measured of each
  --peers none   leaves Prometheus out
  --json FILE    where the figures go as JSON (bench/results/alerts.json)
  --data DIR     where stores lie meanwhile, on the disk to be measured (bench/data)
  --check        ends with 1 where an aim is missed
`;

interface RoundsSpread {
  alerts: number;
  startCpuMs: number;
  firstCpuMs: number;
  cpuMs: Spread;
  wallMs: Spread;
}

interface Report {
  /** ISO 8601. */
  at: string;
  machine: Machine;
  rows: number;
  rounds: RoundsSpread[];
  /** CPU of a round for one alert more over a selector that is read anyway, and for a selector without alerts, in microseconds. */
  idleAlertMicroseconds: number;
  selectorMicroseconds: number;
  live: LiveFigure | null;
  peer: PeerFigure | { missing: string };
}

const cpuMsMax = 3_000;
const tenfoldMax = 3;
const storedMinutes = 40;
const firstMinute = 10;

const text = { type: "string" } as const;
const flag = { type: "boolean", default: false } as const;
const { values } = parseArgs({
  options: {
    minutes: { ...text, default: "10" },
    alerts: { ...text, default: "10000" },
    rows: { ...text, default: "2000000" },
    rounds: { ...text, default: "12" },
    peers: { ...text, default: "prometheus" },
    json: { ...text, default: here("results/alerts.json") },
    data: { ...text, default: here("data") },
    check: flag,
    help: flag,
  },
});
const line = new ProgressLine();
const show = line.show.bind(line);

if (values.help) process.stdout.write(usage);
else await main();

async function main(): Promise<void> {
  const [minutes, alerts, rows, rounds] = [values.minutes, values.alerts, values.rows, values.rounds].map(
    (each) => Number(each.replaceAll(/[_,]/g, "")),
  ) as [number, number, number, number];
  const storesDir = join(values.data, "stores");
  await mkdir(storesDir, { recursive: true });
  let report: Report;
  try {
    const rowsPerBucket = rows / storedMinutes;
    const figures = await measureRounds(
      storesDir,
      rows,
      alerts,
      Math.min(rounds, storedMinutes - firstMinute),
    );
    const live =
      minutes === 0 ? null : await measureLive({ storesDir, root: here(".."), rows, alerts, minutes }, show);
    const missing = values.peers === "none" ? "left out" : peerMissing();
    const peer =
      missing === undefined ? await measurePeer({ storesDir, alerts, rowsPerBucket }, show) : { missing };
    const [few, many] = figures.map(({ cpuMs }) => cpuMs.median) as [number, number];
    const idleMs = (many - few) / (9 * alerts);
    report = {
      at: new Date().toISOString(),
      machine: machineFacts(),
      rows,
      rounds: figures,
      idleAlertMicroseconds: 1000 * idleMs,
      selectorMicroseconds: (1000 * (few - alerts * idleMs)) / selectorCount,
      live,
      peer,
    };
  } finally {
    line.end();
  }
  await mkdir(dirname(values.json), { recursive: true });
  await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`);
  process.stdout.write(`${formatReport(report)}\nkept in ${values.json}\n`);
  if (!values.check) return;
  const missed = missedAims(report);
  for (const miss of missed) process.stdout.write(`missed: ${miss}\n`);
  if (missed.length > 0) process.exitCode = 1;
}

/** By turns, each in a fresh process. */
async function measureRounds(
  storesDir: string,
  rows: number,
  alerts: number,
  rounds: number,
): Promise<RoundsSpread[]> {
  const storeDir = join(storesDir, "alert-rounds");
  await rm(storeDir, { recursive: true, force: true });
  const startMs = Math.floor(Date.now() / 60_000) * 60_000 - storedMinutes * 60_000;
  try {
    await fill(storeDir, rows, startMs);
    const plan = {
      storeDir,
      rounds,
      rowsPerBucket: rows / storedMinutes,
      firstMs: startMs + firstMinute * 60_000,
    };
    const counts = [alerts, 10 * alerts];
    const figures: RoundsFigure[] = [];
    for (const count of [...counts, ...counts.toReversed()]) {
      show({ step: "rounds of alerts", done: figures.length, total: 4, unit: "processes" });
      figures.push(await runRounds({ ...plan, alerts: count }));
    }
    return counts.map((count) => {
      const own = figures.filter((figure) => figure.alerts === count);
      return {
        alerts: count,
        startCpuMs: spreadOf(own.map(({ startCpuMs }) => startCpuMs)).min,
        firstCpuMs: spreadOf(own.map(({ firstCpuMs }) => firstCpuMs)).min,
        cpuMs: spreadOf(own.flatMap(({ cpuMs }) => cpuMs)),
        wallMs: spreadOf(own.flatMap(({ wallMs }) => wallMs)),
      };
    });
  } finally {
    await rm(storeDir, { recursive: true, force: true });
  }
}

async function fill(dir: string, rows: number, startMs: number): Promise<void> {
  const store = await openStore({ dir, threads: 2 });
  let done = 0;
  const timeMsOf = (row: number) => startMs + (row / rows) * storedMinutes * 60_000;
  for (const batch of sceneRows(rows, 10_000, timeMsOf)) {
    await store.append("logs", batch);
    done += batch.length;
    show({ step: "store rows", done, total: rows, unit: "rows" });
  }
  await store.close();
}

async function runRounds(plan: RoundsPlan): Promise<RoundsFigure> {
  const child = fork(new URL("alerts/rounds.ts", import.meta.url), [JSON.stringify(plan)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  let figure: RoundsFigure | undefined;
  child.on("message", (message: RoundsFigure) => {
    figure = message;
  });
  const [code] = await once(child, "exit");
  if (code !== 0 || figure === undefined) throw new Error(`the rounds ended with code ${code}`);
  return figure;
}

function formatReport({ machine, rows, rounds, live, peer, ...costs }: Report): string {
  const titles = ["CPU ms", "±", "wall ms", "rounds/s", "first CPU ms", "start CPU ms"];
  const own = rounds.map(({ alerts, cpuMs, wallMs, firstCpuMs, startCpuMs }) => [
    `svc, ${grouped(alerts)} alerts`,
    ...[shortMs(cpuMs.median), shortMs(cpuMs.deviation), shortMs(wallMs.median)],
    (1000 / wallMs.median).toFixed(2),
    ...[shortMs(firstCpuMs), shortMs(startCpuMs)],
  ]);
  const peers =
    "missing" in peer
      ? []
      : [
          [
            `Prometheus ${peer.version}, ${grouped(peer.alerts)} rules`,
            ...[shortMs(peer.cpuMsPerRound), "", shortMs(peer.wallMs), (1000 / peer.wallMs).toFixed(2)],
          ],
        ];
  const lines = [
    `${machine.cores} cores of ${machine.cpu}, Node ${machine.node}, revision ${machine.revision ?? "unknown"}; ${grouped(rows)} rows, ${grouped(selectorCount)} selectors`,
    "",
    formatTable([{ title: "a round", align: "left" }, ...rightColumns(titles)], [...own, ...peers]),
    `an idle alert ${costs.idleAlertMicroseconds.toFixed(1)} µs a round, a selector ${costs.selectorMicroseconds.toFixed(0)} µs; ten times the alerts cost ${tenfold(rounds).toFixed(2)} times`,
  ];
  if ("missing" in peer) lines.push(`Prometheus: ${peer.missing}`);
  if (live !== null) lines.push(liveLine(live));
  return `${lines.join("\n")}\n`;
}

function liveLine(live: LiveFigure): string {
  const cpu = live.cpuMsPerRound === null ? "unknown" : `${shortMs(live.cpuMsPerRound)} ms`;
  return `${live.minutes} minutes beside ${grouped(Math.round(live.rowsPerSecond))} rows/s: ${grouped(live.evaluations)} evaluations of ${grouped(live.evaluationsDue)} due, ${live.failed} failed, ${live.missedBuckets} buckets missed, lag ${live.lagSecondsMax.toFixed(1)} s at most, CPU a round ${cpu}`;
}

function tenfold([few, many]: readonly RoundsSpread[]): number {
  return many!.cpuMs.median / few!.cpuMs.median;
}

function missedAims({ rounds, live, peer }: Report): string[] {
  const missed: string[] = [];
  const [few] = rounds;
  const cpuMs = Math.max(few!.cpuMs.median, live?.cpuMsPerRound ?? 0);
  if (cpuMs > cpuMsMax) missed.push(`a round takes ${shortMs(cpuMs)} ms of CPU, ${cpuMsMax} at most`);
  if (tenfold(rounds) >= tenfoldMax)
    missed.push(`ten times the alerts cost ${tenfold(rounds).toFixed(2)} times`);
  if (live !== null && live.missedBuckets + live.failed > 0)
    missed.push("buckets were not judged in their time");
  if ("missing" in peer) return missed;
  if (few!.wallMs.median > peer.wallMs) missed.push("Prometheus evaluates more rounds a second");
  if (few!.cpuMs.median > peer.cpuMsPerRound) missed.push("Prometheus takes less CPU");
  return missed;
}
