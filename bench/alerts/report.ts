/** The figures of `alerts.ts`, as they are written as JSON, their table and their aims. */
import type { Machine } from "../measure/machine.ts";
import { formatCount, formatMs, formatTable, makeRightColumns } from "../terminal/table.ts";
import type { LiveFigure } from "./live.ts";
import type { PeerFigure } from "./prometheus.ts";
import type { RoundsSpread } from "./rounds.ts";
import { selectorCount } from "./workload.ts";

export interface AlertReport {
  /** ISO 8601. */
  at: string;
  machine: Machine;
  rows: number;
  rounds: RoundsSpread[];
  /** CPU microseconds of a round for one more alert over a selector that is read anyway. */
  idleAlertMicroseconds: number;
  /** CPU microseconds of a round for a selector without its alerts. */
  selectorMicroseconds: number;
  live: LiveFigure | null;
  peer: PeerFigure | { missing: string };
}

/** Aim: CPU milliseconds of a round. */
const cpuMsMax = 3_000;
/** Aim: the factor by which ten times the alerts raise the CPU of a round. */
const tenfoldCostMax = 3;

export function formatReport({ machine, rows, rounds, live, peer, ...costs }: AlertReport): string {
  const titles = ["CPU ms", "±", "wall ms", "rounds/s", "first CPU ms", "start CPU ms"];
  const own = rounds.map(({ alerts, cpuMs, wallMs, firstCpuMs, startCpuMs }) => [
    `svc, ${formatCount(alerts)} alerts`,
    ...[formatMs(cpuMs.median), formatMs(cpuMs.deviation), formatMs(wallMs.median)],
    (1000 / wallMs.median).toFixed(2),
    ...[formatMs(firstCpuMs), formatMs(startCpuMs)],
  ]);
  const peers =
    "missing" in peer
      ? []
      : [
          [
            `Prometheus ${peer.version}, ${formatCount(peer.alerts)} rules`,
            ...[formatMs(peer.cpuMsPerRound), "", formatMs(peer.wallMs), (1000 / peer.wallMs).toFixed(2)],
          ],
        ];
  const lines = [
    `${machine.cores} cores of ${machine.cpu}, Node ${machine.node}, revision ${machine.revision ?? "unknown"}; ${formatCount(rows)} rows, ${formatCount(selectorCount)} selectors`,
    "",
    formatTable([{ title: "a round", align: "left" }, ...makeRightColumns(titles)], [...own, ...peers]),
    `an idle alert ${costs.idleAlertMicroseconds.toFixed(1)} µs a round, a selector ${costs.selectorMicroseconds.toFixed(0)} µs; ten times the alerts cost ${tenfoldCostOf(rounds).toFixed(2)} times`,
  ];
  if ("missing" in peer) lines.push(`Prometheus: ${peer.missing}`);
  if (live !== null) lines.push(formatLive(live));
  return `${lines.join("\n")}\n`;
}

function formatLive(live: LiveFigure): string {
  const cpu = live.cpuMsPerRound === null ? "unknown" : `${formatMs(live.cpuMsPerRound)} ms`;
  return `${live.minutes} minutes beside ${formatCount(Math.round(live.rowsPerSecond))} rows/s: ${formatCount(live.evaluations)} evaluations of ${formatCount(live.evaluationsDue)} due, ${live.failed} failed, ${live.missedBuckets} buckets missed, lag ${live.lagSecondsMax.toFixed(1)} s at most, CPU a round ${cpu}`;
}

function tenfoldCostOf([few, many]: readonly RoundsSpread[]): number {
  return many!.cpuMs.median / few!.cpuMs.median;
}

export function listMissedAims({ rounds, live, peer }: AlertReport): string[] {
  const missed: string[] = [];
  const [few] = rounds;
  const cpuMs = Math.max(few!.cpuMs.median, live?.cpuMsPerRound ?? 0);
  if (cpuMs > cpuMsMax) missed.push(`a round takes ${formatMs(cpuMs)} ms of CPU, ${cpuMsMax} at most`);
  if (tenfoldCostOf(rounds) >= tenfoldCostMax)
    missed.push(`ten times the alerts cost ${tenfoldCostOf(rounds).toFixed(2)} times`);
  if (live !== null && live.missedBuckets + live.failed > 0)
    missed.push("buckets were not judged in their time");
  if ("missing" in peer) return missed;
  if (few!.wallMs.median > peer.wallMs) missed.push("Prometheus evaluates more rounds a second");
  if (few!.cpuMs.median > peer.cpuMsPerRound) missed.push("Prometheus takes less CPU");
  return missed;
}
