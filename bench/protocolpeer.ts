/** What ClickHouse spends on the rows that `protocols.ts` sends: read from JSON lines into the table of the main benchmark. */
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { type Dataset, noQuestions, ValueCensus } from "./dataset.ts";
import { runOrder } from "./order.ts";
import { installPeers } from "./peers.ts";
import { ProgressLine } from "./progress.ts";

/** As many as svc has to itself. */
const threads = 2;

/** Bodies of JSON lines, in order of time, with whole milliseconds as times of their first and last row. */
export interface SentLines {
  bodies: Iterable<Uint8Array>;
  rows: number;
  startMs: number;
  endMs: number;
}

/** CPU seconds until the rows are durable, of a fresh process. Installs the peers where they are missing. */
export async function clickHouseCpuSeconds(sent: SentLines): Promise<number> {
  const progress = new ProgressLine();
  const show = progress.show.bind(progress);
  const dir = await mkdtemp(join(tmpdir(), "svc-protocols-peer-"));
  try {
    await installPeers(["clickhouse"], show);
    const dataset = await datasetOf(sent, join(dir, "rows.jsonl"));
    const root = new URL("..", import.meta.url).pathname;
    const place = { system: "clickhouse", dir: join(dir, "store"), dataset, threads, root } as const;
    const { cpuSeconds } = await runOrder(place, { do: "load" }, show);
    if (cpuSeconds === undefined) throw new Error("clickhouse: its load tells no CPU time");
    return cpuSeconds;
  } finally {
    progress.end();
    await rm(dir, { recursive: true, force: true });
  }
}

async function datasetOf({ bodies, rows, startMs, endMs }: SentLines, file: string): Promise<Dataset> {
  const values = new ValueCensus();
  const out = createWriteStream(file);
  for (const body of bodies) {
    for (const line of Buffer.from(body).toString().trimEnd().split("\n")) {
      values.see((JSON.parse(line) as { attributes: Record<string, string> }).attributes);
    }
    out.write(body);
  }
  out.end();
  await finished(out);
  return {
    name: "system",
    signal: "logs",
    rows,
    file,
    fileBytes: out.bytesWritten,
    textFile: "",
    startMs,
    endMs,
    attributes: values.counts(),
    questions: noQuestions(),
  };
}
