/** A child process under test: its output lines, and how it ended. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";

export interface ExitStatus {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface ChildOptions {
  /** A program with arguments that starts the process, such as strace. */
  wrapper?: readonly string[];
}

export class Child {
  /** All lines of its standard output so far. */
  readonly lines: string[] = [];
  /** Resolves when the process has ended and its output was read to the end. */
  readonly ended: Promise<ExitStatus>;
  readonly #process: ChildProcess;
  readonly #listeners = new Set<() => void>();
  #stderr = "";
  #exit: ExitStatus | undefined;

  /** `script` is a file of this folder; `argument` is passed as JSON. */
  constructor(script: string, argument: unknown, options: ChildOptions = {}) {
    const command = [
      ...(options.wrapper ?? []),
      ...[process.execPath, "--import", join(import.meta.dirname, "../bundled-layers.ts")],
      join(import.meta.dirname, script),
      JSON.stringify(argument),
    ];
    // A process group of its own, so that a wrapper and its child are killed together.
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

  /**
   * Waits for the first wanted line, from index `from` on. Throws where the process ends or the time is over without
   * one.
   */
  async waitForLine(
    isWanted: (line: string) => boolean,
    options: { from?: number; timeoutMs: number },
  ): Promise<string> {
    let next = options.from ?? 0;
    const untilMs = Date.now() + options.timeoutMs;
    for (;;) {
      for (; next < this.lines.length; next++) if (isWanted(this.lines[next]!)) return this.lines[next]!;
      if (this.#exit !== undefined)
        throw new Error(`the process ended (${JSON.stringify(this.#exit)}): ${this.#stderr}`);
      if (Date.now() > untilMs) throw new Error(`no answer within ${options.timeoutMs} ms: ${this.#stderr}`);
      await this.#waitForChange(untilMs - Date.now() + 1);
    }
  }

  /** Sends SIGKILL to the process and its children, and waits until they are gone. */
  async kill(): Promise<ExitStatus> {
    if (this.#exit === undefined) {
      try {
        process.kill(-this.#process.pid!, "SIGKILL");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
    const ending = await this.ended;
    await this.#waitForGroupExit();
    return ending;
  }

  /** A killed wrapper's child may end later than the wrapper. */
  async #waitForGroupExit(): Promise<void> {
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

  async #watch(outputRead: Promise<unknown>): Promise<ExitStatus> {
    const [code, signal] = (await once(this.#process, "exit")) as [number | null, NodeJS.Signals | null];
    await outputRead;
    this.#exit = { code, signal };
    this.#wake();
    return this.#exit;
  }

  #waitForChange(waitMs: number): Promise<void> {
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
