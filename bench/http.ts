import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type LoadFigure, spreadOf } from "./figures.ts";
import type { StepProgress } from "./progress.ts";
import { type Lines, readLines, type Workload } from "./workload.ts";

/** Requests under way at a time, each on a connection of its own. */
const connections = 4;
/** Enough for a steady rate. */
const rowsMax = 1_000_000;
const startMsMax = 30_000;

/** Sends the workload's lines to a server in a process of its own, bodies as they stand in the file. */
export async function measureHttpLoad(
  workload: Workload,
  batchRows: number,
  show: (progress: StepProgress) => void,
): Promise<LoadFigure> {
  const dir = await mkdtemp(join(workload.dataFolder, "http-"));
  const server = await startServer(dir);
  try {
    return await sendAll(server, workload, batchRows, show);
  } finally {
    server.process.kill("SIGTERM");
    if (server.process.exitCode === null) await once(server.process, "exit");
    await rm(dir, { recursive: true });
  }
}

interface Server {
  process: ChildProcess;
  url: string;
  token: string;
}

async function startServer(dir: string): Promise<Server> {
  const main = new URL("../server/main.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [main, "serve", "--data", dir, "--listen", "127.0.0.1:0"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const complaints: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => complaints.push(text));
  const timer = setTimeout(() => child.kill(), startMsMax);
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^svc listens on (\S+)$/.exec(line)?.[1];
    if (url === undefined) continue;
    clearTimeout(timer);
    child.stdout.resume();
    return { process: child, url, token: (await readFile(join(dir, "admin-token"), "utf8")).trim() };
  }
  throw new Error(`the server did not start: ${complaints.join("").trim()}`);
}

async function sendAll(
  server: Server,
  { file, options }: Workload,
  batchRows: number,
  show: (progress: StepProgress) => void,
): Promise<LoadFigure> {
  const total = Math.min(options.rows, rowsMax);
  const bodies = readLines(file, total, batchRows);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const samplesMs: number[] = [];
  let rows = 0;
  let bytes = 0;
  const sendInTurn = async (): Promise<void> => {
    for await (const body of bodies) {
      const begunMs = performance.now();
      await post(server, agent, body);
      samplesMs.push(performance.now() - begunMs);
      rows += body.rows;
      bytes += body.bytes.length;
      show({ step: `load over HTTP, ${batchRows} lines a request`, done: rows, total, unit: "rows" });
    }
  };
  const begunMs = performance.now();
  await Promise.all(Array.from({ length: connections }, sendInTurn));
  const seconds = (performance.now() - begunMs) / 1000;
  agent.destroy();
  return {
    name: "HTTP, JSON lines",
    rows,
    batchRows,
    rowsPerSecond: rows / seconds,
    bytesPerSecond: bytes / seconds,
    batchMs: spreadOf(samplesMs),
    memoryBytesPeak: await memoryBytesPeak(server.process.pid!),
  };
}

/** Resolves once the server has acknowledged every row. */
async function post({ url, token }: Server, agent: Agent, body: Lines): Promise<void> {
  const headers = {
    Authorization: `Bearer ${token}`,
    "Content-Type": "application/x-ndjson",
    "Content-Length": body.bytes.length,
  };
  const sent = request(`${url}/api/v1/ingest/logs`, { method: "POST", agent, headers });
  sent.end(body.bytes);
  const [response] = await once(sent, "response");
  const text = Buffer.concat(await response.toArray()).toString();
  const { accepted } = response.statusCode === 200 ? JSON.parse(text) : { accepted: 0 };
  if (accepted !== body.rows)
    throw new Error(`the server answered ${response.statusCode}: ${text.slice(0, 300)}`);
}

/** Largest resident set of a process so far; null where there is no /proc. */
async function memoryBytesPeak(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
}
