#!/usr/bin/env node
/**
 * `node bench/alerts.ts`: what a round of evaluating ten thousand alerts costs, whether any evaluation is missed while
 * rows arrive, and what Prometheus takes for the same.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { measureLive } from "./alerts/live.ts";
import { explainMissingPeer, measurePeer } from "./alerts/prometheus.ts";
import { type AlertReport, formatReport, listMissedAims } from "./alerts/report.ts";
import { measureRounds, storedMinutes } from "./alerts/rounds.ts";
import { selectorCount } from "./alerts/workload.ts";
import { readMachine } from "./measure/machine.ts";
import { benchPath, projectRoot } from "./paths.ts";
import { ProgressLine } from "./terminal/progress.ts";
import { formatCount } from "./terminal/table.ts";

const usage = `Usage: node bench/alerts.ts [--minutes 10] [--alerts 10000] [--rows 2000000] [--rounds 12] [--peers none]
                            [--json FILE] [--data DIR] [--check]
  --minutes N    how long a server evaluates while rows come in; 0 leaves that out
  --alerts N     alerts over ${formatCount(selectorCount)} selectors; ten times as many are measured too
  --rows N       rows that are stored
  --rounds N     rounds of a process; two processes are measured of each
  --peers none   leaves Prometheus out
  --json FILE    where the figures go as JSON (bench/results/alerts.json)
  --data DIR     where stores lie meanwhile, on the disk to be measured (bench/data)
  --check        ends with 1 where an aim is missed
`;

const text = { type: "string" } as const;
const flag = { type: "boolean", default: false } as const;
const { values } = parseArgs({
  options: {
    minutes: { ...text, default: "10" },
    alerts: { ...text, default: "10000" },
    rows: { ...text, default: "2000000" },
    rounds: { ...text, default: "12" },
    peers: { ...text, default: "prometheus" },
    json: { ...text, default: benchPath("results/alerts.json") },
    data: { ...text, default: benchPath("data") },
    check: flag,
    help: flag,
  },
});
const line = new ProgressLine();
const show = line.show.bind(line);

if (values.help) process.stdout.write(usage);
else await run();

async function run(): Promise<void> {
  const [minutes, alerts, rows, rounds] = [values.minutes, values.alerts, values.rows, values.rounds].map(
    (each) => Number(each.replaceAll(/[_,]/g, "")),
  ) as [number, number, number, number];
  const storesDir = join(values.data, "stores");
  await mkdir(storesDir, { recursive: true });
  let report: AlertReport;
  try {
    const rowsPerBucket = rows / storedMinutes;
    const figures = await measureRounds({ storesDir, rows, alerts, rounds }, show);
    const live =
      minutes === 0 ? null : await measureLive({ storesDir, root: projectRoot, rows, alerts, minutes }, show);
    const missing = values.peers === "none" ? "left out" : explainMissingPeer();
    const peer =
      missing === undefined ? await measurePeer({ storesDir, alerts, rowsPerBucket }, show) : { missing };
    const [few, many] = figures.map(({ cpuMs }) => cpuMs.median) as [number, number];
    const idleMs = (many - few) / (9 * alerts);
    report = {
      at: new Date().toISOString(),
      machine: readMachine(),
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
  const missed = listMissedAims(report);
  for (const miss of missed) process.stdout.write(`missed: ${miss}\n`);
  if (missed.length > 0) process.exitCode = 1;
}
