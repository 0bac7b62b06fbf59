import type { Route } from "./route.ts";

/** A part of the server. Making one starts nothing that would go on by itself: `run` does. */
export interface Part {
  readonly routes: readonly Route[];
  /** Starts what goes on by itself. Throws an Error of one sentence where that cannot be. */
  run(): Promise<void> | void;
  /** Ends what was started, if it was, and frees what is held. */
  close(): Promise<void> | void;
}

/** The parts of a server in their order: started from the first to the last, closed from the last to the first. */
export class PartList {
  readonly #parts: Part[] = [];

  add<Added extends Part>(part: Added): Added {
    this.#parts.push(part);
    return part;
  }

  get routes(): Route[] {
    return this.#parts.flatMap(({ routes }) => routes);
  }

  /** Where a part cannot be started, the caller closes all. */
  async run(): Promise<void> {
    for (const part of this.#parts) await part.run();
  }

  /** Closes every part, once, also behind one that fails to close. Throws what the first of these threw. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const part of this.#parts.splice(0).reverse()) {
      try {
        await part.close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
