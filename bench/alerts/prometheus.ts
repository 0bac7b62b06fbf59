/** The peer: Debian's package of Prometheus, with as many rules over the same counts as metrics. */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "../server/free-port.ts";
import type { ShowProgress } from "../terminal/progress.ts";
import { bucketSeconds, selectorCount, selectors, thresholdOf } from "./workload.ts";

export interface PeerFigure {
  version: string;
  alerts: number;
  rounds: number;
  /** CPU of the process a round, less what it takes without rules. */
  cpuMsPerRound: number;
  /** The duration of the last round, as Prometheus reports it. */
  wallMs: number;
}

const program = "/usr/bin/prometheus";
/** The evaluation interval: short, so that a minute measures several rounds. */
const everySeconds = 10;
const scrapeSeconds = 15;

/** Returns why Prometheus cannot be measured; undefined where it can. */
export function explainMissingPeer(): string | undefined {
  return existsSync(program) ? undefined : `there is no ${program}: apt-get install prometheus`;
}

export async function measurePeer(
  { storesDir, alerts, rowsPerBucket }: { storesDir: string; alerts: number; rowsPerBucket: number },
  show: ShowProgress,
): Promise<PeerFigure> {
  const dir = await mkdtemp(join(storesDir, "prometheus-"));
  const exporter = await startExporter(rowsPerBucket);
  const port = await findFreePort();
  const rulesFile = join(dir, "rules.yml");
  await writeFile(rulesFile, "groups: []\n");
  await writeFile(join(dir, "prometheus.yml"), makeConfig(exporter.port, rulesFile));
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(
    program,
    [
      `--config.file=${join(dir, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(dir, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--web.enable-lifecycle",
    ],
    { stdio: "ignore", env: { ...process.env, GOMAXPROCS: "2" } },
  );
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const wait = async (seconds: number, step: string): Promise<void> => {
    for (let done = 0; done < seconds; done++) {
      show({ step, done, total: seconds, unit: "seconds" });
      await sleep(1000);
    }
  };
  try {
    // An increase over a minute needs samples of a minute and more.
    await wait(bucketSeconds + 2 * scrapeSeconds, "Prometheus takes samples");
    const alone = await readStatus(url);
    await wait(3 * scrapeSeconds, "Prometheus without rules");
    const idle = await readStatus(url);
    await writeFile(rulesFile, makeRules(alerts, rowsPerBucket));
    await fetch(`${url}/-/reload`, { method: "POST" });
    // The first rounds fill its caches.
    await wait(3 * everySeconds, "Prometheus takes up the rules");
    const before = await readStatus(url);
    await wait(6 * everySeconds, "Prometheus evaluates");
    const after = await readStatus(url);
    const rounds = after.rounds - before.rounds;
    const idleCpuSeconds =
      ((idle.cpuSeconds - alone.cpuSeconds) / (idle.atMs - alone.atMs)) * (after.atMs - before.atMs);
    const cpuSeconds = after.cpuSeconds - before.cpuSeconds - idleCpuSeconds;
    return {
      version: after.version,
      alerts,
      rounds,
      cpuMsPerRound: (cpuSeconds * 1000) / rounds,
      wallMs: after.lastSeconds * 1000,
    };
  } finally {
    child.kill();
    await exited;
    await exporter.close();
    await rm(dir, { recursive: true });
  }
}

function makeConfig(exporterPort: number, rulesFile: string): string {
  return `global: { scrape_interval: ${scrapeSeconds}s }
rule_files: ["${rulesFile}"]
scrape_configs:
  - job_name: rows
    static_configs: [{ targets: ["127.0.0.1:${exporterPort}"] }]
`;
}

/** Rules fire after three minutes above the threshold. Prometheus has no M of N, which would be dearer. */
function makeRules(alerts: number, rowsPerBucket: number): string {
  const rules = Array.from({ length: alerts }, (_, i) => {
    const labels = formatLabels(i % selectorCount);
    return `      - alert: alert-${i}
        expr: increase(log_rows_total${labels}[1m]) > ${thresholdOf(i, rowsPerBucket)}
        for: 3m
`;
  });
  return `groups:\n  - name: scene\n    interval: ${everySeconds}s\n    rules:\n${rules.join("")}`;
}

function formatLabels(selector: number): string {
  const { service, level, zone } = selectors[selector]!;
  return `{service="${service}",level="${level}",zone="${zone}"}`;
}

/** An exporter whose counters grow as if the rows of every selector arrived nearly evenly. */
async function startExporter(rowsPerBucket: number) {
  const begunMs = performance.now();
  const perMs = rowsPerBucket / selectorCount / (bucketSeconds * 1000);
  const server = createServer((_, response) => {
    const passedMs = performance.now() - begunMs;
    const lines = selectors.map((_, i) => {
      const variation = 1 + 0.2 * Math.sin(passedMs / 30_000 + i);
      return `log_rows_total${formatLabels(i)} ${Math.floor(passedMs * perMs * variation + i)}\n`;
    });
    response.end(lines.join(""));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

async function readStatus(url: string) {
  const text = await (await fetch(`${url}/metrics`)).text();
  const number = (pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0);
  return {
    atMs: performance.now(),
    version: /prometheus_build_info\{[^}]*version="([^"]+)"/.exec(text)?.[1] ?? "unknown",
    cpuSeconds: number(/^process_cpu_seconds_total (\S+)$/m),
    rounds: number(/^prometheus_rule_group_iterations_total\{[^}]*\} (\S+)$/m),
    lastSeconds: number(/^prometheus_rule_group_last_duration_seconds\{[^}]*\} (\S+)$/m),
  };
}
