/** The contract of a part of the server, and the list of all parts. */

import type { Route } from "./route.ts";

/** A part of the server. Making one starts no timers, threads or sockets of its own: `run` does. */
export interface Part {
  readonly routes?: readonly Route[];
  /** Starts the background work. Throws an Error of one sentence where that fails. */
  run?(): Promise<void> | void;
  /** Ends the background work if it was started, and frees resources. */
  close?(): Promise<void> | void;
}

/** The parts of a server in their order: started from the first to the last, closed from the last to the first. */
export class PartList {
  readonly #parts: Part[] = [];

  add<Added extends Part>(part: Added): Added {
    this.#parts.push(part);
    return part;
  }

  get routes(): Route[] {
    return this.#parts.flatMap(({ routes = [] }) => routes);
  }

  /** Runs the parts in order. Where one throws, the caller closes all. */
  async run(): Promise<void> {
    for (const part of this.#parts) await part.run?.();
  }

  /** Closes every part once, even after one fails to close. Throws the first failure. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const part of this.#parts.splice(0).reverse()) {
      try {
        await part.close?.();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
