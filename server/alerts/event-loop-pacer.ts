import { setImmediate as nextTurn } from "node:timers/promises";

/** Lets so many through in one turn of the event loop; the others wait for the next. */
export class EventLoopPacer {
  readonly #atOnce: number;
  #through = 0;
  #turn: Promise<void> = Promise.resolve();

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  async wait(): Promise<void> {
    if (this.#through++ % this.#atOnce === 0) this.#turn = this.#turn.then(() => nextTurn());
    await this.#turn;
  }
}
