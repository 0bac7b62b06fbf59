/** A process under test: its lines, its end. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";

export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface ChildOptions {
  /** A program and its arguments that run the process, such as strace. */
  wrapper?: readonly string[];
}

export class Child {
  /** Every line that it wrote to its standard output so far. */
  readonly lines: string[] = [];
  /** Resolves when the process has gone and its output was read to the end. */
  readonly ended: Promise<Ending>;
  readonly #process: ChildProcess;
  readonly #listeners = new Set<() => void>();
  #stderr = "";
  #ending: Ending | undefined;

  /** `script`: a file of this folder; `argument` is handed over as JSON. */
  constructor(script: string, argument: unknown, options: ChildOptions = {}) {
    const command = [
      ...(options.wrapper ?? []),
      process.execPath,
      join(import.meta.dirname, script),
      JSON.stringify(argument),
    ];
    // A group of its own, so that a wrapper and what it runs are ended together.
    this.#process = spawn(command[0]!, command.slice(1), { stdio: "pipe", detached: true });
    this.#process.stdin!.on("error", () => this.#wake());
    this.#process.stderr!.on("data", (data: Buffer) => {
      this.#stderr = (this.#stderr + data.toString()).slice(-4_000);
    });
    const reader = createInterface({ input: this.#process.stdout! });
    reader.on("line", (line) => {
      this.lines.push(line);
      this.#wake();
    });
    this.ended = this.#watch(once(reader, "close"));
  }

  get stderr(): string {
    return this.#stderr;
  }

  send(line: string): void {
    this.#process.stdin!.write(`${line}\n`);
  }

  /** The first line from number `from` on that satisfies. Throws where the process ends or the time passes without one. */
  async line(
    satisfies: (line: string) => boolean,
    options: { from?: number; timeoutMs: number },
  ): Promise<string> {
    let next = options.from ?? 0;
    const untilMs = Date.now() + options.timeoutMs;
    for (;;) {
      for (; next < this.lines.length; next++) if (satisfies(this.lines[next]!)) return this.lines[next]!;
      if (this.#ending !== undefined)
        throw new Error(`the process ended (${JSON.stringify(this.#ending)}): ${this.#stderr}`);
      if (Date.now() > untilMs) throw new Error(`no answer within ${options.timeoutMs} ms: ${this.#stderr}`);
      await this.#change(untilMs - Date.now() + 1);
    }
  }

  /** SIGKILL to the process and what runs in it. */
  async kill(): Promise<Ending> {
    if (this.#ending === undefined) {
      try {
        process.kill(-this.#process.pid!, "SIGKILL");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
    const ending = await this.ended;
    await this.#groupGone();
    return ending;
  }

  /** What a killed wrapper ran is dying still when the wrapper has gone. */
  async #groupGone(): Promise<void> {
    const untilMs = Date.now() + 5_000;
    while (Date.now() < untilMs) {
      try {
        process.kill(-this.#process.pid!, 0);
      } catch {
        return;
      }
      await setTimeout(10);
    }
  }

  async #watch(outputRead: Promise<unknown>): Promise<Ending> {
    const [code, signal] = (await once(this.#process, "exit")) as [number | null, NodeJS.Signals | null];
    await outputRead;
    this.#ending = { code, signal };
    this.#wake();
    return this.#ending;
  }

  #change(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = globalThis.setTimeout(wake, waitMs);
      const listeners = this.#listeners;
      function wake() {
        clearTimeout(timer);
        listeners.delete(wake);
        resolve();
      }
      listeners.add(wake);
    });
  }

  #wake(): void {
    for (const wake of [...this.#listeners]) wake();
  }
}
