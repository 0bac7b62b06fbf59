/**
 * Loads files of rows straight into a data folder that no server has open: decoded, journaled and sealed on all cores.
 */

import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure, openStore, type Signal, type StoreEvent } from "../../engine/index.ts";
import { Metrics } from "../metrics/metrics.ts";
import { Intake, type IntakeResult } from "./intake.ts";
import type { LogFieldNames } from "./loggers/field-names.ts";

export interface DirectLoad {
  /**
   * Resolves once the rows are on disk. `key` is the idempotency key of the lines: the second call with a key adds
   * nothing. Throws Failure, Refusal.
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

/** Shared memory for bodies, used again and again: a new buffer for each would be zeroed first, and freed by a collection. */
class SharedBodies {
  readonly #free: SharedArrayBuffer[] = [];

  /** A copy of the lines. */
  take(lines: Uint8Array): Uint8Array<SharedArrayBuffer> {
    let buffer = this.#free.pop();
    // A body is a few bytes longer or shorter than the one before.
    if (buffer === undefined || buffer.byteLength < lines.length)
      buffer = new SharedArrayBuffer(lines.length + (lines.length >> 3));
    const body = new Uint8Array(buffer, 0, lines.length);
    body.set(lines);
    return body;
  }

  giveBack({ buffer }: Uint8Array<SharedArrayBuffer>): void {
    this.#free.push(buffer);
  }
}

/** Opens a data folder for loading. Throws Failure "folder" where the folder is in use or cannot be used. */
export async function openDirectLoad(dataDir: string, log: (event: StoreEvent) => void): Promise<DirectLoad> {
  const store = await openStore({ dir: dataDir, log });
  const threads = availableParallelism();
  const intake = new Intake({
    store,
    metrics: new Metrics(),
    threads,
    now: Date.now,
    admission: {},
    rules: () => noRules,
    limitsOf: () => ({ rowsPerSecond: null, bytesPerSecond: null }),
  });
  const bodies = new SharedBodies();
  const take: DirectLoad["take"] = async (signal, lines, key, fieldNames) => {
    for (;;) {
      const body = bodies.take(lines);
      try {
        return await intake.take({ ...unstamped, signal, body, key, fieldNames });
      } catch (error) {
        if (!(error instanceof Failure) || error.kind !== "overload") throw error;
        await sleep(retryMs);
      } finally {
        bodies.giveBack(body);
      }
    }
  };
  return {
    take,
    close: async () => {
      await intake.close();
      await store.close();
    },
  };
}
