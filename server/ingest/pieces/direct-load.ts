/**
 * Loads files of rows straight into a data folder that no server has open, on all cores. Decoding threads make chunks of
 * logs and spans, which only have to be copied into their partition after they are in the journal.
 */

import { setTimeout as sleep } from "node:timers/promises";
import {
  divideMemory,
  Failure,
  type MemoryBudget,
  openStore,
  SharedGarbage,
  type Signal,
  type Store,
  type StoreEvent,
} from "../../../engine/index.ts";
import { Metrics } from "../../metrics/metrics.ts";
import { sumBytes } from "../decode-task.ts";
import { Intake, type IntakeBody, type IntakeResult, type IntakeStore } from "../intake.ts";
import type { LogFieldNames } from "../loggers/field-names.ts";
import { type GroupSize, groupSizeOf } from "./group-size.ts";
import { type InputPiece, PieceIntake, type TakenPieces } from "./piece-intake.ts";
import { SharedBodies } from "./shared-bodies.ts";

interface TakeOptions {
  fieldNames?: LogFieldNames | undefined;
  onRead?: () => void;
}

export interface DirectLoad {
  /** The size of one `take`, and how many calls may run at once. */
  groupSizeOf(signal: Signal): GroupSize;
  /** Memory for the lines of one piece. */
  takeMemory(bytes: number): Uint8Array<SharedArrayBuffer>;
  /**
   * Resolves once the rows are on disk. `onRead` is called as soon as the memory of all pieces is given back. Throws
   * Failure, Refusal.
   */
  take(signal: Signal, pieces: readonly InputPiece[], options?: TakeOptions): Promise<TakenPieces>;
  /** Closes the store: everything journaled stays, and a server can open the folder. */
  close(): Promise<void>;
}

/** No ingestion rules, like no stamps and no limits: whoever owns the data folder may load anything. */
const noRules = [] as const;
/** What all pieces have in common. No token can have the sender's name, since tokens have generated ids. */
const unstamped = {
  format: "json lines",
  encoding: "identity",
  sender: "direct",
  environment: null,
} as const;
/** Pause before a retry, when rows arrive faster than they can be sealed. */
const retryMs = 250;

/** Garbage is collected each time that lines of this share of the process's memory (a divisor) were taken. */
const collectShare = 8;

/** A semaphore that counts bytes: a call waits while it and those that run would exceed a limit. One alone may exceed it. */
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
 * themselves could not be read again: their memory may hold other lines by then.
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
  const store = await openStore({ dir: dataDir, memory, mergesLater: true, log });
  const intake = new Intake({
    store: waitForRoom(store),
    metrics: new Metrics(),
    memory,
    now: Date.now,
    admission: {},
    rules: () => noRules,
    limitsOf: () => ({ rowsPerSecond: null, bytesPerSecond: null }),
  });
  await intake.begun;
  return new FolderLoad(store, intake, memory);
}

class FolderLoad implements DirectLoad {
  readonly #store: Store;
  readonly #intake: Intake;
  readonly #pieces: PieceIntake;
  readonly #memory: MemoryBudget;
  readonly #bodies = new SharedBodies();
  readonly #decoded: BytesAtATime;
  /** Counts lines in place of the parts that they become, which are sealed soon. */
  readonly #garbage: SharedGarbage;

  constructor(store: Store, intake: Intake, memory: MemoryBudget) {
    this.#store = store;
    this.#intake = intake;
    this.#memory = memory;
    this.#garbage = new SharedGarbage(memory.bytes / collectShare);
    this.#pieces = new PieceIntake(store, { take: (body) => this.#takeBody(body) });
    // The decoding threads take from one sender half of what they may have waiting.
    this.#decoded = new BytesAtATime((memory.requestBytes + memory.socketBytes) / 2);
  }

  groupSizeOf(signal: Signal): GroupSize {
    return groupSizeOf(this.#memory, signal);
  }

  takeMemory(bytes: number): Uint8Array<SharedArrayBuffer> {
    return this.#bodies.take(bytes);
  }

  async take(
    signal: Signal,
    pieces: readonly InputPiece[],
    { fieldNames, onRead }: TakeOptions = {},
  ): Promise<TakenPieces> {
    const held = new Set(pieces.map(({ bytes }) => bytes));
    const giveBack = (): void => {
      if (held.size > 0) onRead?.();
      for (const bytes of held) this.#bodies.giveBack(bytes);
      held.clear();
    };
    try {
      return await this.#pieces.take({ ...unstamped, signal, fieldNames }, pieces, giveBack);
    } finally {
      giveBack();
      this.#garbage.add(sumBytes(pieces));
    }
  }

  async close(): Promise<void> {
    await this.#intake.close();
    await this.#store.close();
  }

  async #takeBody(body: IntakeBody): Promise<IntakeResult> {
    const bytes = body.body.length + sumBytes(body.pieces ?? []);
    await this.#decoded.take(bytes);
    try {
      return await this.#intake.take(body);
    } finally {
      this.#decoded.give(bytes);
    }
  }
}
