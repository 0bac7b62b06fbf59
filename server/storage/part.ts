/** The data folder: the store of telemetry, and the state of what is configured. */

import { availableParallelism } from "node:os";
import { join } from "node:path";
import {
  openState,
  openStore,
  readRestoredMark,
  removeRestoredMark,
  type Store,
  type StoredState,
  type StoreEvent,
} from "../../engine/index.ts";
import type { Part } from "../api/part.ts";

export interface StorageSettings {
  dataDir: string;
  /** Undefined keeps everything. */
  retentionAgeMs?: number;
  retentionBytes?: number;
  /** Memory for decoded columns, over all scan threads; filters may take a sixteenth more. */
  columnCacheBytes?: number;
  /** Series of metrics that may be active. */
  metricSeriesMax?: number;
  scanThreads?: number;
  /** A folder that was made of a backup sends notifications from now on. */
  notifiesRestored?: boolean;
  log: (level: StoreEvent["level"], message: string) => void;
}

export interface StoragePart extends Part {
  store: Store;
  state: StoredState;
  /** The server that a backup was made of may still be sending what this one would send. */
  holdsNotifications: boolean;
}

/** Throws Failure or Error, one sentence for people, where the folder cannot be used; nothing is left open then. */
export async function openStorage(settings: StorageSettings): Promise<StoragePart> {
  const store = await openStoreOf(settings);
  let state: StoredState | undefined;
  try {
    state = await openState(join(settings.dataDir, "control"));
    for (const { where, problem } of state.damage) settings.log("error", `damage: ${where}: ${problem}`);
    const holdsNotifications = await findHold(settings);
    return {
      routes: [],
      run: () => undefined,
      close: closing(store, state),
      store,
      state,
      holdsNotifications,
    };
  } catch (error) {
    await state?.close();
    await store.close();
    throw error;
  }
}

function closing(store: Store, state: StoredState): () => Promise<void> {
  return async () => {
    await state.close();
    await store.close();
  };
}

async function openStoreOf(settings: StorageSettings): Promise<Store> {
  const { dataDir, retentionAgeMs, retentionBytes, columnCacheBytes, metricSeriesMax, scanThreads } =
    settings;
  try {
    return await openStore({
      dir: dataDir,
      threads: scanThreads ?? availableParallelism(),
      ...(retentionAgeMs === undefined ? {} : { retentionAgeMs }),
      ...(retentionBytes === undefined ? {} : { retentionBytes }),
      ...(columnCacheBytes === undefined ? {} : { columnCacheBytes }),
      ...(metricSeriesMax === undefined ? {} : { seriesMax: metricSeriesMax }),
      log: (event) => settings.log(event.level, event.message),
    });
  } catch (error) {
    const reason = folderProblems[(error as NodeJS.ErrnoException).code ?? ""];
    throw reason === undefined ? error : new Error(`the data folder ${dataDir} cannot be used: ${reason}`);
  }
}

/** What the operating system's refusals mean to whoever chose the folder. */
const folderProblems: Readonly<Record<string, string>> = {
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "the file system is read-only",
  ENOTDIR: "a part of its path is a file",
  EEXIST: "it is a file",
  ENOSPC: "the disk is full",
};

async function findHold({ dataDir, notifiesRestored = false, log }: StorageSettings): Promise<boolean> {
  const restored = await readRestoredMark(dataDir);
  if (restored === undefined) return false;
  if (notifiesRestored) await removeRestoredMark(dataDir);
  else {
    const taken = new Date(restored.takenAtMs).toISOString();
    log(
      "warn",
      `the data folder was made of a backup of ${taken}: notifications wait until the server is started with --notify-restored`,
    );
  }
  return !notifiesRestored;
}
