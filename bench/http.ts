import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Dataset } from "./dataset.ts";
import { readLines } from "./lines.ts";

/** Requests under way at a time, each on a connection of its own. */
const connections = 4;
const startMsMax = 60_000;

/** svc as a server, in a process of its own. */
export interface Server {
  url: string;
  /** Of an admin. */
  token: string;
  /** Answers the JSON of a request. Throws where the status is not 200. */
  post(path: string, body: Buffer, agent: Agent): Promise<Record<string, unknown>>;
  /** The text at a path. Throws where the status is not 200. */
  get(path: string): Promise<string>;
  /** CPU that all threads have taken; null where there is no /proc. */
  cpuMs(): Promise<number | null>;
  /** Largest resident set so far; null where there is no /proc. */
  memoryBytesPeak(): Promise<number | null>;
  stop(): Promise<void>;
  /** kill -9 */
  kill(): Promise<void>;
}

/** Starts the server of the working copy at `root` on the data folder `dir`. Throws with what it said where it does not start. */
export async function startServer(dir: string, root: string): Promise<Server> {
  const main = join(root, "server/main.ts");
  const child = spawn(process.execPath, [main, "serve", "--data", dir, "--listen", "127.0.0.1:0"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  // Whatever ends this process, the server does not outlive it.
  const killed = () => child.kill("SIGKILL");
  process.once("exit", killed);
  child.once("exit", () => process.off("exit", killed));
  const complaints: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => complaints.push(text));
  const timer = setTimeout(() => child.kill(), startMsMax);
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^svc listens on (\S+)$/.exec(line)?.[1];
    if (url === undefined) continue;
    clearTimeout(timer);
    child.stdout.resume();
    return serverAt(child, url, (await readFile(join(dir, "admin-token"), "utf8")).trim());
  }
  throw new Error(`the server did not start: ${complaints.join("").trim()}`);
}

function serverAt(child: ChildProcess, url: string, token: string): Server {
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  };
  return {
    url,
    token,
    post: (path, body, agent) => post(`${url}${path}`, token, body, agent),
    get: (path) => get(`${url}${path}`, token),
    cpuMs: () => cpuMs(child.pid!),
    memoryBytesPeak: () => memoryBytesPeak(child.pid!),
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
  };
}

async function post(
  url: string,
  token: string,
  body: Buffer,
  agent: Agent,
): Promise<Record<string, unknown>> {
  const headers = {
    Authorization: `Bearer ${token}`,
    "Content-Type": url.includes("/ingest/") ? "application/x-ndjson" : "application/json",
    "Content-Length": body.length,
  };
  const sent = request(url, { method: "POST", agent, headers });
  sent.end(body);
  const [response] = await once(sent, "response");
  const text = Buffer.concat(await response.toArray()).toString();
  if (response.statusCode !== 200)
    throw new Error(`the server answered ${response.statusCode}: ${text.slice(0, 300)}`);
  return JSON.parse(text);
}

async function get(url: string, token: string): Promise<string> {
  const response = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
  const text = await response.text();
  if (response.status !== 200)
    throw new Error(`the server answered ${response.status}: ${text.slice(0, 300)}`);
  return text;
}

/** Of a clock tick, as Linux counts the time of processes wherever Node runs. */
const tickMs = 10;

async function cpuMs(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // Behind the name, which may hold spaces: the 14th and 15th field are the time of the process and of the system for it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.length < 13 ? null : (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** Null where there is no /proc, or no such process. */
export async function memoryBytesPeak(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
}

/** Sends some lines. Throws where not every row was taken. */
export async function sendRows(
  server: Server,
  bytes: Buffer,
  rows: number,
  agent: Agent,
  signal: Dataset["signal"] = "logs",
): Promise<void> {
  const { accepted } = await server.post(`/api/v1/ingest/${signal}`, bytes, agent);
  if (accepted !== rows) throw new Error(`the server took ${accepted} rows of ${rows}`);
}

/** Sends a data set's lines as they stand in its file. Gives the time of every request, in milliseconds. */
export async function sendFile(
  server: Server,
  { file, rows: total, signal }: Pick<Dataset, "file" | "rows" | "signal">,
  batchRows: number,
  sent: (rows: number) => void,
): Promise<number[]> {
  const bodies = readLines(file, total, batchRows);
  const agent = keepAliveAgent(connections);
  const samplesMs: number[] = [];
  let done = 0;
  const sendInTurn = async (): Promise<void> => {
    for await (const { bytes, rows } of bodies) {
      const begunMs = performance.now();
      await sendRows(server, bytes, rows, agent, signal);
      samplesMs.push(performance.now() - begunMs);
      done += rows;
      sent(done);
    }
  };
  await Promise.all(Array.from({ length: connections }, sendInTurn));
  agent.destroy();
  return samplesMs;
}

export function keepAliveAgent(sockets: number): Agent {
  return new Agent({ keepAlive: true, maxSockets: sockets });
}
