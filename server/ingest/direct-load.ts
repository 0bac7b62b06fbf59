/** Stores files of rows straight into a data folder that no server has open: read, journaled and sealed on all cores. */

import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure, openStore, type Signal, type StoreEvent } from "../../engine/index.ts";
import { Metrics } from "../metrics/metrics.ts";
import { Intake, type Taken } from "./intake.ts";

export interface DirectLoad {
  /** Resolves once the rows are on disk. `key` names the lines: a second time they add nothing. Throws Failure, Refusal. */
  take(signal: Signal, lines: Uint8Array, key: string): Promise<Taken>;
  /** What is journaled is kept; the folder is free for a server again. */
  close(): Promise<void>;
}

/** Whose data folder it is may put in what they like: rules, stamps and limits are the server's. */
const noRules = [] as const;
/** As names of senders go, nobody's: tokens have ids of their own. */
const unstamped = {
  format: "json lines",
  encoding: "identity",
  sender: "direct",
  environment: null,
} as const;
/** Rows come faster than they are sealed: another try after this. */
const retryMs = 250;

/** Throws Failure "folder" where the folder is in use or cannot be used. */
export async function openDirectLoad(dataDir: string, log: (event: StoreEvent) => void): Promise<DirectLoad> {
  const store = await openStore({ dir: dataDir, log });
  const threads = availableParallelism();
  const intake = new Intake({
    store,
    metrics: new Metrics(),
    threads,
    now: Date.now,
    entry: {},
    rules: () => noRules,
    limitsOf: () => ({ rowsPerSecond: null, bytesPerSecond: null }),
  });
  const take: DirectLoad["take"] = async (signal, lines, key) => {
    for (;;) {
      // The body is handed to another thread, so each try has its own.
      const body = new Uint8Array(lines);
      try {
        return await intake.take({ ...unstamped, signal, body, key });
      } catch (error) {
        if (!(error instanceof Failure) || error.kind !== "overload") throw error;
        await sleep(retryMs);
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
