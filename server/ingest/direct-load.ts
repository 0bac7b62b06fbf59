/**
 * Loads files of rows straight into a data folder that no server has open: decoded, journaled and sealed on all cores.
 */

import { setTimeout as sleep } from "node:timers/promises";
import {
  divideMemory,
  Failure,
  openStore,
  type Signal,
  type Store,
  type StoreEvent,
} from "../../engine/index.ts";
import { Metrics } from "../metrics/metrics.ts";
import { Intake, type IntakeResult, type IntakeStore } from "./intake.ts";
import type { LogFieldNames } from "./loggers/field-names.ts";

export interface DirectLoad {
  /** Memory for the lines of one `take`. */
  takeMemory(bytes: number): Uint8Array<SharedArrayBuffer>;
  /**
   * Resolves once the rows are on disk. `lines` are in memory that `takeMemory` gave and that is given back. `key` is
   * the idempotency key of the lines: the second call with a key adds nothing. Throws Failure, Refusal.
   */
  take(signal: Signal, lines: Uint8Array, key: string, fieldNames?: LogFieldNames): Promise<IntakeResult>;
  /** Closes the store: everything journaled stays, and a server can open the folder. */
  close(): Promise<void>;
}

/** No ingestion rules, like no stamps and no limits: whoever owns the data folder may load anything. */
const noRules = [] as const;
/** What every body has in common. No token can have the sender's name, since tokens have generated ids. */
const unstamped = {
  format: "json lines",
  encoding: "identity",
  sender: "direct",
  environment: null,
} as const;
/** Pause before a retry, when rows arrive faster than they can be sealed. */
const retryMs = 250;

/**
 * Shared memory for bodies, used again and again: a new buffer for each would be zeroed first, and freed by a
 * collection.
 */
class SharedBodies {
  readonly #free: SharedArrayBuffer[] = [];

  take(bytes: number): Uint8Array<SharedArrayBuffer> {
    const free = this.#free.pop();
    // A body is a few bytes longer or shorter than the one before.
    const isEnough = free !== undefined && free.byteLength >= bytes;
    return new Uint8Array(isEnough ? free : new SharedArrayBuffer(bytes + (bytes >> 3)));
  }

  giveBack({ buffer }: Uint8Array): void {
    if (buffer instanceof SharedArrayBuffer) this.#free.push(buffer);
  }
}

/** Lets calls go on while they have at most so many bytes together; a single call may have more. */
class BytesAtATime {
  readonly #bytesMax: number;
  #bytes = 0;
  /** Calls that wait, in their order. */
  readonly #waiting: (() => void)[] = [];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  async take(bytes: number): Promise<void> {
    while (this.#bytes > 0 && this.#bytes + bytes > this.#bytesMax)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#bytes += bytes;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
    for (const goOn of this.#waiting.splice(0)) goOn();
  }
}

/**
 * The store, which waits where it would refuse a batch because rows arrive faster than they can be sealed. The lines
 * themselves could not be taken again: they are decoded in place.
 */
function waitForRoom(store: Store): IntakeStore {
  return {
    appendEncoded: async (batch, options) => {
      for (;;) {
        try {
          return await store.appendEncoded(batch, options);
        } catch (error) {
          if (!(error instanceof Failure) || error.kind !== "overload") throw error;
          await sleep(retryMs);
        }
      }
    },
    seriesCensus: () => store.seriesCensus(),
    arrived: (query, limits) => store.arrived(query, limits),
    get arrivalMax() {
      return store.arrivalMax;
    },
  };
}

/**
 * Opens a data folder for loading, within so many bytes of memory. Throws Failure "folder" where the folder is in use or
 * cannot be used, "input" where the memory is too little.
 */
export async function openDirectLoad(
  dataDir: string,
  memoryBytes: number | undefined,
  log: (event: StoreEvent) => void,
): Promise<DirectLoad> {
  const memory = divideMemory({ use: "load", bytes: memoryBytes });
  const store = await openStore({ dir: dataDir, memory, log });
  const intake = new Intake({
    store: waitForRoom(store),
    metrics: new Metrics(),
    memory,
    now: Date.now,
    admission: {},
    rules: () => noRules,
    limitsOf: () => ({ rowsPerSecond: null, bytesPerSecond: null }),
  });
  const bodies = new SharedBodies();
  // The decoding threads take from one sender half of what they may have waiting.
  const decoded = new BytesAtATime((memory.requestBytes + memory.socketBytes) / 2);
  return {
    takeMemory: (bytes) => bodies.take(bytes),
    take: async (signal, lines, key, fieldNames) => {
      const { byteLength } = lines;
      await decoded.take(byteLength);
      try {
        return await intake.take({ ...unstamped, signal, body: lines, key, fieldNames });
      } finally {
        decoded.give(byteLength);
        bodies.giveBack(lines);
      }
    },
    close: async () => {
      await intake.close();
      await store.close();
    },
  };
}
