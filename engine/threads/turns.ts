/** Divides long work into turns, so that the thread's other work runs in between. */
import { setImmediate } from "node:timers/promises";

/** Milliseconds of one turn by default. */
const turnMsMax = 8;

/** The turns of one piece of work: `if (turns.isOver) await turns.next()` in its loops. */
export class Turns {
  readonly #turnMs: number;
  #endMs: number;

  constructor(turnMs = turnMsMax) {
    this.#turnMs = turnMs;
    this.#endMs = performance.now() + turnMs;
  }

  /** True where the turn has lasted long enough. */
  get isOver(): boolean {
    return performance.now() >= this.#endMs;
  }

  /** Ends the turn; resolves when the next one begins. */
  async next(): Promise<void> {
    await setImmediate();
    this.#endMs = performance.now() + this.#turnMs;
  }
}
