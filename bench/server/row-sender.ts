/** Sends rows to a server over HTTP. */
import type { Agent } from "node:http";
import type { BenchDataset } from "../datasets/dataset.ts";
import { readLineBlocks } from "../datasets/line-blocks.ts";
import { openAgent, type ServerProcess } from "./server-process.ts";

/** Requests in flight at a time, each on a connection of its own. */
const connections = 4;

/** Sends one body of lines. Throws where the server did not accept every row. */
export async function sendRows(
  server: ServerProcess,
  bytes: Buffer,
  rows: number,
  agent: Agent,
  signal: BenchDataset["signal"] = "logs",
): Promise<void> {
  const { accepted } = await server.post(`/api/v1/ingest/${signal}`, bytes, agent);
  if (accepted !== rows) throw new Error(`the server took ${accepted} rows of ${rows}`);
}

/** Sends a data set's file, `batchRows` lines a request. Returns the milliseconds of each request. */
export async function sendFile(
  server: ServerProcess,
  { file, rows: total, signal }: Pick<BenchDataset, "file" | "rows" | "signal">,
  batchRows: number,
  onSent: (rows: number) => void,
): Promise<number[]> {
  const bodies = readLineBlocks(file, total, batchRows);
  const agent = openAgent(connections);
  const samplesMs: number[] = [];
  let done = 0;
  const sendInTurn = async (): Promise<void> => {
    for await (const { bytes, rows } of bodies) {
      const begunMs = performance.now();
      await sendRows(server, bytes, rows, agent, signal);
      samplesMs.push(performance.now() - begunMs);
      done += rows;
      onSent(done);
    }
  };
  await Promise.all(Array.from({ length: connections }, sendInTurn));
  agent.destroy();
  return samplesMs;
}
