/** Work that is done again and again, a fixed time after the last one has ended, until it is closed. */
export class PeriodicTask {
  readonly #everyMs: number;
  readonly #act: () => Promise<void>;
  readonly #onError: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  /** Where `act` fails, `onError` gets the error, and `act` is called again after the usual time. */
  constructor(everyMs: number, act: () => Promise<void>, onError: (error: unknown) => void) {
    this.#everyMs = everyMs;
    this.#act = act;
    this.#onError = onError;
  }

  run(): void {
    this.#timer = setTimeout(() => {
      this.#running = this.#act()
        .catch(this.#onError)
        .then(() => {
          if (this.#timer !== undefined) this.run();
        });
    }, this.#everyMs);
  }

  /** Waits for the turn that is under way. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#running;
  }
}
