/** The storage part of the server: opens the data folder with the store of telemetry and the control-plane state. */

import { join } from "node:path";
import {
  divideMemory,
  type MemoryBudget,
  openState,
  openStore,
  readRestoredMark,
  removeRestoredMark,
  type Store,
  type StoredState,
  type StoreEvent,
} from "../../engine/index.ts";
import { warmUp } from "../../query/index.ts";
import type { Part } from "../api/part.ts";

export interface StorageSettings {
  dataDir: string;
  /** Rows older than this are removed; undefined keeps them. */
  retentionAgeMs?: number | undefined;
  /** Days that ended before it (Unix milliseconds) are removed by age however many they are. */
  retentionBeforeMs?: number | undefined;
  retentionBytes?: number | undefined;
  /** Bytes of the cache of decoded columns, over all scan threads; filters may take a sixteenth more. */
  columnCacheBytes?: number | undefined;
  /** Largest number of active series of metrics. */
  metricSeriesMax?: number;
  /** Bytes that the process may take; by default half of what the machine or the container gives. */
  memoryBytes?: number | undefined;
  scanThreads?: number | undefined;
  /** Decoding threads of one sender. */
  ingestThreads?: number | undefined;
  /** True: a data folder that was restored from a backup sends notifications from now on. */
  notifiesRestored?: boolean;
  log: (level: StoreEvent["level"], message: string) => void;
}

export interface StoragePart extends Part {
  /** The division of the process's memory, by which every part bounds what it holds. */
  memory: MemoryBudget;
  store: Store;
  state: StoredState;
  /** True in a restored folder: the server that the backup was made of may still send the same notifications. */
  holdsNotifications: boolean;
}

/** Throws Failure or Error, one sentence for people, where the folder cannot be used; then nothing is left open. */
export async function openStorage(settings: StorageSettings): Promise<StoragePart> {
  const { memoryBytes, scanThreads, columnCacheBytes, ingestThreads } = settings;
  const fixed = { scanThreads, columnCacheBytes, decodeThreads: ingestThreads };
  const memory = divideMemory({ use: "server", bytes: memoryBytes, ...fixed });
  const store = await openStoreOf(settings, memory);
  const closing = new AbortController();
  let warming: Promise<void> | undefined;
  const run = () => {
    // Where there is no memory for columns nobody is expected to ask.
    if (memory.parts.columns > 0) warming = warmUpInBackground(store, closing.signal, settings);
  };
  let state: StoredState | undefined;
  const close = async () => {
    closing.abort();
    await warming;
    await state?.close();
    await store.close();
  };
  try {
    state = await openState(join(settings.dataDir, "control"), { checkFolder: () => store.checkFolder() });
    for (const { where, problem } of state.damage) settings.log("error", `damage: ${where}: ${problem}`);
    const holdsNotifications = await checkRestored(settings);
    return { memory, store, state, holdsNotifications, run, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Warms up the threads, so that the first search of a person is as fast as later ones. */
async function warmUpInBackground(
  store: Store,
  abort: AbortSignal,
  { log }: Pick<StorageSettings, "log">,
): Promise<void> {
  try {
    await warmUp(store, abort);
  } catch (error) {
    log("error", `warming up: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function openStoreOf(settings: StorageSettings, memory: MemoryBudget): Promise<Store> {
  const { dataDir, retentionAgeMs, retentionBeforeMs, retentionBytes } = settings;
  const { metricSeriesMax } = settings;
  try {
    return await openStore({
      dir: dataDir,
      memory,
      ...(retentionAgeMs === undefined ? {} : { retentionAgeMs }),
      ...(retentionBeforeMs === undefined ? {} : { retentionBeforeMs }),
      ...(retentionBytes === undefined ? {} : { retentionBytes }),
      ...(metricSeriesMax === undefined ? {} : { seriesMax: metricSeriesMax }),
      log: (event) => settings.log(event.level, event.message),
    });
  } catch (error) {
    const reason = folderProblems[(error as NodeJS.ErrnoException).code ?? ""];
    throw reason === undefined ? error : new Error(`the data folder ${dataDir} cannot be used: ${reason}`);
  }
}

/** What error codes of the operating system mean to whoever chose the folder. */
const folderProblems: Readonly<Record<string, string>> = {
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "the file system is read-only",
  ENOTDIR: "a part of its path is a file",
  EEXIST: "it is a file",
  ENOSPC: "the disk is full",
};

async function checkRestored({ dataDir, notifiesRestored = false, log }: StorageSettings): Promise<boolean> {
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
