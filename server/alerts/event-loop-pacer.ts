/** Spreads work over turns of the event loop. */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Lets at most `atOnce` callers continue in one turn of the event loop. The others wait for later turns. */
export class EventLoopPacer {
  readonly #atOnce: number;
  #waits = 0;
  #turn: Promise<void> = Promise.resolve();

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  async wait(): Promise<void> {
    if (this.#waits++ % this.#atOnce === 0) this.#turn = this.#turn.then(() => nextTurn());
    await this.#turn;
  }
}
