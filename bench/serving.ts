/** svc as a server with rows in it, and what its clients ask. */
import { mkdtemp, rm } from "node:fs/promises";
import type { Agent } from "node:http";
import { join } from "node:path";
import type { Dataset } from "./dataset.ts";
import { type Server, sendFile, startServer } from "./http.ts";
import type { StepProgress } from "./progress.ts";
import { newestRows, oneBucketSeconds, type Question } from "./question.ts";
import { queryText } from "./svcql.ts";

type Show = (progress: StepProgress) => void;

const loadBatchRows = 10_000;

export interface Serving {
  server: Server;
  dir: string;
}

/** Runs `use` with a server that holds the data set; removes it afterwards. `use` may put another server into its place. */
export async function withLoadedServer<T>(
  storesDir: string,
  dataset: Dataset,
  root: string,
  show: Show,
  use: (serving: Serving) => Promise<T>,
): Promise<T> {
  const dir = await mkdtemp(join(storesDir, "serving-"));
  const serving = { server: await startServer(dir, root), dir };
  try {
    await sendFile(serving.server, dataset, loadBatchRows, (done) =>
      show({ step: "load rows to be searched", done, total: dataset.rows, unit: "rows" }),
    );
    // Rows in memory are sealed as the server ends, so that every run begins with the same store.
    await serving.server.stop();
    serving.server = await startServer(dir, root);
    return await use(serving);
  } finally {
    await serving.server.stop();
    await rm(dir, { recursive: true });
  }
}

/** Asks over HTTP; gives the milliseconds until the whole answer is there. */
export async function askServer(server: Server, question: Question, agent: Agent): Promise<number> {
  const { kind, startMs, endMs } = question;
  const query = queryText(question);
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
