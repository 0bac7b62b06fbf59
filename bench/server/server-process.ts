/** svc as a server in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Cgroup, enterCgroup } from "../measure/cgroup.ts";
import { readCpuMs, readMemoryBytesPeak } from "../measure/process.ts";
import { prepareProgram } from "./program.ts";

const startMsMax = 60_000;

export interface ServerProcess {
  url: string;
  /** Where it takes OTLP over gRPC; undefined where it does not. */
  grpcPort: number | undefined;
  /** An admin's token. */
  token: string;
  /** Returns the JSON of the answer. Throws where the status is not 200. */
  post(path: string, body: Buffer, agent: Agent): Promise<Record<string, unknown>>;
  /** Returns the text at a path. Throws where the status is not 200. */
  get(path: string): Promise<string>;
  /** CPU time of all threads so far; null where there is no /proc. */
  readCpuMs(): Promise<number | null>;
  /** Largest resident set so far; null where there is no /proc. */
  readMemoryBytesPeak(): Promise<number | null>;
  stop(): Promise<void>;
  /** As `kill -9` does. */
  kill(): Promise<void>;
}

/**
 * Starts the working copy at `root` on the data folder `dir`, with more flags, in a cgroup where one is given. Throws
 * with its standard error where it does not start.
 */
export async function startServer(
  dir: string,
  root: string,
  flags: readonly string[] = [],
  cgroup?: Cgroup,
): Promise<ServerProcess> {
  const main = await prepareProgram(root);
  const words = [process.execPath, main, "serve", "--data", dir, "--listen", "127.0.0.1:0", ...flags];
  const [program, ...rest] = cgroup === undefined ? words : enterCgroup(cgroup, words);
  const child = spawn(program!, rest, { stdio: ["ignore", "pipe", "pipe"] });
  // However this process ends, the server ends with it.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  const errors: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => errors.push(text));
  const timer = setTimeout(() => child.kill(), startMsMax);
  let printed = "";
  for await (const line of createInterface({ input: child.stdout })) {
    printed += `${line}\n`;
    if (!line.startsWith("admin token:")) continue;
    clearTimeout(timer);
    child.stdout.resume();
    return makeServerProcess(child, {
      url: /^svc listens on (\S+)$/m.exec(printed)![1]!,
      grpcPort: Number(/^OTLP over gRPC: port (\d+)$/m.exec(printed)?.[1]) || undefined,
      token: (await readFile(join(dir, "admin-token"), "utf8")).trim(),
    });
  }
  throw new Error(`the server did not start: ${errors.join("").trim()}`);
}

function makeServerProcess(
  child: ChildProcess,
  { url, grpcPort, token }: Pick<ServerProcess, "url" | "grpcPort" | "token">,
): ServerProcess {
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  };
  return {
    ...{ url, grpcPort, token },
    post: (path, body, agent) => post(`${url}${path}`, token, body, agent),
    get: (path) => get(`${url}${path}`, token),
    readCpuMs: () => readCpuMs(child.pid!),
    readMemoryBytesPeak: () => readMemoryBytesPeak(child.pid!),
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
  // An error while the answer is waited for rejects below; one after it, as where the server refused a body early, is none.
  sent.on("error", () => undefined);
  sent.end(body);
  const [response] = await once(sent, "response");
  const text = Buffer.concat(await response.toArray()).toString();
  if (response.statusCode !== 200)
    throw new Error(`the server answered ${response.statusCode}: ${text.slice(0, 300)}`);
  return JSON.parse(text);
}

async function get(url: string, token: string): Promise<string> {
  const ask = () => fetch(url, { headers: { Authorization: `Bearer ${token}` } });
  // The server closes a connection that was idle for ten seconds, perhaps in the moment in which it is used again.
  const response = await ask().catch(ask);
  const text = await response.text();
  if (response.status !== 200)
    throw new Error(`the server answered ${response.status}: ${text.slice(0, 300)}`);
  return text;
}

export function openAgent(sockets: number): Agent {
  return new Agent({ keepAlive: true, maxSockets: sockets });
}
