/** A Prometheus server of this machine, over samples that it is given. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Sample } from "../../../../engine/index.ts";
import type { BucketedRange } from "../naive/data.ts";

/** Whether Debian's package `prometheus` is there, with `promtool`. */
export const hasPrometheus = ["prometheus", "promtool"].every(
  (name) => spawnSync(name, ["--version"]).status === 0,
);

interface PrometheusSeries {
  labels: Record<string, string>;
  /** Milliseconds of the step less its width, which is the start of a bucket; and the value. */
  points: [ms: number, value: number][];
}

export interface Prometheus {
  /** Evaluates a query at the end of each bucket. Points that are NaN or infinite are left out. */
  query: (query: string, range: BucketedRange) => Promise<PrometheusSeries[]>;
  stop: () => Promise<void>;
}

/** Starts a server in an empty folder, which must outlive it. */
export async function startPrometheus(dir: string, samples: readonly Sample[]): Promise<Prometheus> {
  const [file, config, blocks] = ["samples.txt", "prometheus.yml", "blocks"].map((name) => join(dir, name));
  writeFileSync(file!, toOpenMetrics(samples));
  writeFileSync(config!, "");
  execFileSync("promtool", ["tsdb", "create-blocks-from", "openmetrics", file!, blocks!], {
    stdio: "ignore",
  });
  const port = await findFreePort();
  const server = spawn(
    "prometheus",
    [
      ...[`--config.file=${config}`, `--storage.tsdb.path=${blocks}`, "--storage.tsdb.retention.time=100y"],
      ...[`--web.listen-address=127.0.0.1:${port}`, "--log.level=error"],
    ],
    { stdio: "ignore" },
  );
  const ended = new Promise<void>((resolve) => server.once("exit", () => resolve()));
  await waitUntilReady(`http://127.0.0.1:${port}/-/ready`, () => server.exitCode === null);
  return {
    query: (query, range) => queryRange(`http://127.0.0.1:${port}/api/v1/query_range`, query, range),
    stop: async () => {
      server.kill("SIGKILL");
      await ended;
    },
  };
}

/** Samples in OpenMetrics' text format. Samples of a series must be in order of time. */
function toOpenMetrics(samples: readonly Sample[]): string {
  const families = [...Map.groupBy(samples, ({ name }) => name)].map(([name, own]) => {
    const lines = own.map(({ labels, value, timeNs }) => {
      const texts = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
      return `${name}{${texts.join(",")}} ${value} ${Number(timeNs / 1_000_000n) / 1000}`;
    });
    return [`# TYPE ${name} unknown`, ...lines].join("\n");
  });
  return `${families.join("\n")}\n# EOF\n`;
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

async function waitUntilReady(url: string, isRunning: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 600 && isRunning(); attempt++) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("prometheus did not start");
}

async function queryRange(
  url: string,
  query: string,
  { startMs, endMs, bucketSeconds }: BucketedRange,
): Promise<PrometheusSeries[]> {
  const body = new URLSearchParams({
    query,
    start: String(startMs / 1000 + bucketSeconds),
    end: String((endMs + 1) / 1000),
    step: String(bucketSeconds),
  });
  const answer = (await (await fetch(url, { method: "POST", body })).json()) as {
    status: string;
    error?: string;
    data?: { result: { metric: Record<string, string>; values: [number, string][] }[] };
  };
  if (answer.status !== "success") throw new Error(`${query}: ${answer.error}`);
  return answer.data!.result.flatMap(({ metric: { __name__: _, ...labels }, values }) => {
    const points = values
      .map(([second, text]): [number, number] => [
        Math.round((second - bucketSeconds) * 1000),
        // `Number` knows no `+Inf`, so that infinities become NaN.
        Number(text),
      ])
      .filter(([, value]) => Number.isFinite(value));
    return points.length === 0 ? [] : [{ labels, points }];
  });
}
