/** A test's hand on the process under test. */
import { Failure } from "../../engine/index.ts";
import { Child, type ChildOptions, type Ending } from "./child.ts";
import type { Answer, Answers, Command } from "./command.ts";

/** Longer than any command takes on a busy machine: what passes it hangs. */
const commandTimeoutMs = 90_000;

export class Driver {
  readonly #child: Child;

  constructor(seed: number, options: ChildOptions = {}) {
    this.#child = new Child("subject.ts", seed, options);
  }

  /** Throws the Failure that the command ended with, or an Error where the process crashed or hangs. */
  async run<C extends Command>(command: C): Promise<Answers[C["do"]]> {
    const from = this.#child.lines.length;
    const beganMs = { clock: Date.now(), monotonic: performance.now() };
    this.#child.send(JSON.stringify(command));
    const line = await this.#child.line(() => true, { from, timeoutMs: commandTimeoutMs });
    const answer = JSON.parse(line) as Answer<Answers[C["do"]]>;
    if (answer.ok) return answer.value;
    if (answer.kind === "bug") throw new Error(`${command.do}: ${answer.message}`);
    const clockMs = Date.now() - beganMs.clock;
    const elapsedMs = Math.round(performance.now() - beganMs.monotonic);
    // A machine that was stopped for a while shows in the difference.
    const took = answer.kind === "deadline" ? ` (${elapsedMs} ms; by the clock ${clockMs} ms)` : "";
    throw new Failure(answer.kind, answer.message + took);
  }

  /** Sends a command whose answer nobody will see. */
  start(command: Command): void {
    this.#child.send(JSON.stringify(command));
  }

  kill(): Promise<Ending> {
    return this.#child.kill();
  }
}
