/** A server that holds the rows of a data set, and questions to it over HTTP. */
import { mkdtemp, rm } from "node:fs/promises";
import type { Agent } from "node:http";
import { join } from "node:path";
import type { BenchDataset } from "../datasets/dataset.ts";
import { type BenchQuestion, newestRows, oneBucketSeconds } from "../datasets/question.ts";
import { sendFile } from "../server/row-sender.ts";
import { type ServerProcess, startServer } from "../server/server-process.ts";
import { toSvcql } from "../systems/svcql.ts";
import type { ShowProgress } from "../terminal/progress.ts";

const loadBatchRows = 10_000;

export interface LoadedServer {
  server: ServerProcess;
  dir: string;
}

/**
 * Runs `use` with a server that holds the data set, and removes both afterwards. `use` may replace `server` by a
 * restarted one.
 */
export async function runOnLoadedServer<T>(
  storesDir: string,
  dataset: BenchDataset,
  root: string,
  show: ShowProgress,
  use: (loaded: LoadedServer) => Promise<T>,
): Promise<T> {
  const dir = await mkdtemp(join(storesDir, "loaded-"));
  const loaded = { server: await startServer(dir, root), dir };
  try {
    await sendFile(loaded.server, dataset, loadBatchRows, (done) =>
      show({ step: "load rows to be searched", done, total: dataset.rows, unit: "rows" }),
    );
    // Stopping the server seals the rows in memory, so that every run begins with the same store.
    await loaded.server.stop();
    loaded.server = await startServer(dir, root);
    return await use(loaded);
  } finally {
    await loaded.server.stop();
    await rm(dir, { recursive: true });
  }
}

/** Returns the milliseconds until the whole answer has arrived. Throws where the server finds nothing and should. */
export async function askServer(
  server: ServerProcess,
  question: BenchQuestion,
  agent: Agent,
): Promise<number> {
  const { kind, startMs, endMs } = question;
  const query = toSvcql(question);
  const countsRows = query.startsWith("count(") || query.startsWith("topk(");
  const range = { query, startTime: startMs, endTime: endMs };
  const begunMs = performance.now();
  if (countsRows) {
    const body = Buffer.from(JSON.stringify({ ...range, bucketSize: oneBucketSeconds }));
    const { series } = await server.post("/api/v1/query/timeseries", body, agent);
    const isEmpty = (series as unknown[]).length === 0;
    if (isEmpty && kind !== "absent") throw new Error(`the server found nothing for ${query}`);
  } else {
    const body = Buffer.from(JSON.stringify({ ...range, limit: newestRows }));
    const { logs } = await server.post("/api/v1/query/logs", body, agent);
    if ((logs as unknown[]).length === 0) throw new Error(`the server found nothing for ${query}`);
  }
  return performance.now() - begunMs;
}
