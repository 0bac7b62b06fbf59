/** Drives the process under test: sends it commands and returns its answers. */
import { Failure } from "../../engine/index.ts";
import { Child, type ChildOptions, type ExitStatus } from "./child.ts";
import type { Answer, Answers, Command } from "./command.ts";

/** Longer than any command takes on a busy machine: a command that takes longer hangs. */
const commandTimeoutMs = 90_000;

export class Driver {
  readonly #child: Child;

  constructor(seed: number, options: ChildOptions = {}) {
    this.#child = new Child("subject.ts", seed, options);
  }

  /** Throws the Failure that the command ended with, or an Error where the process crashed or hangs. */
  async run<C extends Command>(command: C): Promise<Answers[C["do"]]> {
    const from = this.#child.lines.length;
    const startMs = { clock: Date.now(), monotonic: performance.now() };
    this.#child.send(JSON.stringify(command));
    const line = await this.#child.waitForLine(() => true, { from, timeoutMs: commandTimeoutMs });
    const answer = JSON.parse(line) as Answer<Answers[C["do"]]>;
    if (answer.ok) return answer.value;
    if (answer.kind === "bug") throw new Error(`${command.do}: ${answer.message}`);
    const clockMs = Date.now() - startMs.clock;
    const elapsedMs = Math.round(performance.now() - startMs.monotonic);
    // The difference shows whether the machine was suspended meanwhile.
    const duration = answer.kind === "deadline" ? ` (${elapsedMs} ms; by the clock ${clockMs} ms)` : "";
    throw new Failure(answer.kind, answer.message + duration);
  }

  /** Sends a command without waiting for its answer. */
  start(command: Command): void {
    this.#child.send(JSON.stringify(command));
  }

  kill(): Promise<ExitStatus> {
    return this.#child.kill();
  }
}
