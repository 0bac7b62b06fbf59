/** An API server and an exporter, each in a process of its own. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

const root = join(import.meta.dirname, "../..");
const startMsMax = 60_000;

export interface Started {
  child: ChildProcess;
  /** The first line that it printed. */
  line: string;
}

/** Starts a program of the project. Throws with its standard error where it does not print a line. */
export async function startProgram(path: string, words: readonly string[]): Promise<Started> {
  const child = spawn(process.execPath, [join(root, path), ...words], { stdio: ["ignore", "pipe", "pipe"] });
  // However this process ends, the program ends with it.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  const errors: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => errors.push(text));
  const timer = setTimeout(() => child.kill(), startMsMax);
  for await (const line of createInterface({ input: child.stdout })) {
    clearTimeout(timer);
    child.stdout.resume();
    return { child, line };
  }
  throw new Error(`${path} did not start: ${errors.join("").trim()}`);
}

export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

/** An API server on loopback, without TLS. */
export class ApiServerClient {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** Returns the JSON of the answer. Throws where it is an error. */
  async send<T>(method: string, path: string, body?: object, contentType = "application/json"): Promise<T> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { Authorization: "Bearer benchmark", "Content-Type": contentType },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`the API server answered ${response.status}: ${text.slice(0, 300)}`);
    return JSON.parse(text) as T;
  }
}
