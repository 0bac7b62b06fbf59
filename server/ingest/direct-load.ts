/**
 * Loads files of rows straight into a data folder that no server has open, on all cores. Decoding threads make chunks of
 * logs and spans, which only have to be copied into their partition after they are in the journal.
 */

import { setTimeout as sleep } from "node:timers/promises";
import {
  divideMemory,
  Failure,
  hashKey,
  type MemoryBudget,
  openStore,
  type Signal,
  type Store,
  type StoreEvent,
} from "../../engine/index.ts";
import { Metrics } from "../metrics/metrics.ts";
import { Refusal } from "../throttle/refusal.ts";
import { type BodyPiece, type RefusedLine, sumBytes } from "./decode-task.ts";
import { Intake, type IntakeBody, type IntakeResult, type IntakeStore, namedStoreKey } from "./intake.ts";
import type { LogFieldNames } from "./loggers/field-names.ts";

/** Whole lines of an input, in memory that `takeMemory` gave and that is given back. */
interface InputPiece {
  bytes: Uint8Array;
  /** Its idempotency key: a second piece with the key adds nothing. */
  key: string;
  /** Number of its first line, from 1. */
  firstLine: number;
  /** Number of its lines. */
  lines: number;
}

/** What became of pieces. Refused lines are numbered as in the input. */
interface LoadedPieces {
  accepted: number;
  /** Rows that the same pieces had added before. */
  duplicates: number;
  refused: number;
  /** The first refused lines. */
  errors: RefusedLine[];
}

interface TakeOptions {
  fieldNames?: LogFieldNames | undefined;
  onRead?: () => void;
}

export interface DirectLoad {
  /** The size of one `take`, whose logs or spans become one chunk, and how many calls may run at once. */
  groupSizeOf(signal: Signal): { bytesMax: number; linesMax: number; atATime: number };
  /** Memory for the lines of one piece. */
  takeMemory(bytes: number): Uint8Array<SharedArrayBuffer>;
  /**
   * Resolves once the rows are on disk. `onRead` is called as soon as the memory of all pieces is given back. Throws
   * Failure, Refusal.
   */
  take(signal: Signal, pieces: readonly InputPiece[], options?: TakeOptions): Promise<LoadedPieces>;
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
  key: null,
  // Shared: what is not would be gone with the first task that has it.
  body: new Uint8Array(new SharedArrayBuffer(0)),
} as const;
/** Pause before a retry, when rows arrive faster than they can be sealed. */
const retryMs = 250;

/** Garbage is collected after so many bytes, as a share of what the process may take (a divisor): it takes some 10 ms. */
const collectShare = 8;

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

function hashOf(signal: Signal, { key }: InputPiece): string {
  return hashKey(namedStoreKey({ signal, sender: unstamped.sender, key }));
}

const nothing: LoadedPieces = { accepted: 0, duplicates: 0, refused: 0, errors: [] };

function addUp(taken: readonly LoadedPieces[]): LoadedPieces {
  return taken.reduce(
    (sum, each) => ({
      accepted: sum.accepted + each.accepted,
      duplicates: sum.duplicates + each.duplicates,
      refused: sum.refused + each.refused,
      errors: [...sum.errors, ...each.errors],
    }),
    nothing,
  );
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
    packedCaps: memory.chunkCaps,
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
  readonly #memory: MemoryBudget;
  readonly #bodies = new SharedBodies();
  readonly #decoded: BytesAtATime;
  /** Bytes that were taken since garbage was last collected. */
  #bytesTaken = 0;

  constructor(store: Store, intake: Intake, memory: MemoryBudget) {
    this.#store = store;
    this.#intake = intake;
    this.#memory = memory;
    // The decoding threads take from one sender half of what they may have waiting.
    this.#decoded = new BytesAtATime((memory.requestBytes + memory.socketBytes) / 2);
  }

  groupSizeOf(signal: Signal) {
    const { chunkCaps, loadBytes, decodeThreads } = this.#memory;
    const linesMax = signal === "metrics" ? chunkCaps.samplesMax / 4 : chunkCaps.rowsMax;
    return { bytesMax: loadBytes, linesMax, atATime: decodeThreads };
  }

  takeMemory(bytes: number): Uint8Array<SharedArrayBuffer> {
    return this.#bodies.take(bytes);
  }

  async take(
    signal: Signal,
    pieces: readonly InputPiece[],
    { fieldNames, onRead }: TakeOptions = {},
  ): Promise<LoadedPieces> {
    const keyed = pieces.map((piece) => ({ ...piece, keyHash: hashOf(signal, piece) }));
    const rows = this.#store.findKeyRows(keyed.map(({ keyHash }) => keyHash));
    const held = new Set(pieces.map(({ bytes }) => bytes));
    const giveBack = (): void => {
      if (held.size > 0) onRead?.();
      for (const bytes of held) this.#bodies.giveBack(bytes);
      held.clear();
    };
    try {
      const again: LoadedPieces[] = [];
      for (const [i, piece] of pieces.entries()) {
        const duplicates = rows[i];
        if (duplicates === undefined) continue;
        // A line of metrics may be several samples, so that their number says nothing of refused lines.
        const isWhole = signal !== "metrics" && duplicates === piece.lines;
        again.push(isWhole ? { ...nothing, duplicates } : await this.#takeAgain(signal, piece, fieldNames));
      }
      const fresh = keyed.filter((_, i) => rows[i] === undefined);
      if (fresh.length === 0) return addUp(again);
      const taken = await this.#takeGroup(signal, fresh, { fieldNames, onRead: giveBack });
      return addUp([taken, ...again]);
    } finally {
      giveBack();
      this.#collectGarbage(sumBytes(pieces));
    }
  }

  async close(): Promise<void> {
    await this.#intake.close();
    await this.#store.close();
  }

  /**
   * Collects garbage, which frees the memory of parts that are sealed. V8 by itself would do so late, since it does not
   * count shared memory.
   */
  #collectGarbage(bytesTaken: number): void {
    this.#bytesTaken += bytesTaken;
    if (this.#bytesTaken < this.#memory.bytes / collectShare) return;
    this.#bytesTaken = 0;
    globalThis.gc?.();
  }

  /** Takes new pieces as one body, or in smaller groups where they do not go together. */
  async #takeGroup(
    signal: Signal,
    pieces: readonly BodyPiece[],
    { fieldNames, onRead }: TakeOptions,
  ): Promise<LoadedPieces> {
    let isRead = false;
    const noteRead = (): void => {
      isRead = true;
      onRead?.();
    };
    try {
      const taken = await this.#takeBody(signal, pieces, { pieces, fieldNames, onRead: noteRead });
      return { accepted: taken.accepted, duplicates: 0, refused: taken.refused, errors: taken.errors };
    } catch (error) {
      const isTooLarge = error instanceof Refusal && error.status === 413 && pieces.length > 1;
      // Once they are read their memory may hold other pieces.
      if (!isTooLarge || isRead) throw error;
      const middle = pieces.length >> 1;
      const first = await this.#takeGroup(signal, pieces.slice(0, middle), { fieldNames });
      return addUp([first, await this.#takeGroup(signal, pieces.slice(middle), { fieldNames })]);
    }
  }

  /** Reads a piece that was taken before once more, for the lines that were refused. */
  async #takeAgain(
    signal: Signal,
    piece: InputPiece,
    fieldNames: LogFieldNames | undefined,
  ): Promise<LoadedPieces> {
    const { bytes: body, key, firstLine } = piece;
    const { accepted, duplicate, ...taken } = await this.#takeBody(signal, [piece], {
      body,
      key,
      fieldNames,
    });
    const errors = taken.errors.map(({ line, reason }) => ({ line: firstLine - 1 + line, reason }));
    const counts = duplicate ? { accepted: 0, duplicates: accepted } : { accepted, duplicates: 0 };
    return { ...counts, refused: taken.refused, errors };
  }

  async #takeBody(
    signal: Signal,
    pieces: readonly Pick<BodyPiece, "bytes">[],
    body: Partial<IntakeBody>,
  ): Promise<IntakeResult> {
    const bytes = sumBytes(pieces);
    await this.#decoded.take(bytes);
    try {
      return await this.#intake.take({ ...unstamped, signal, ...body });
    } finally {
      this.#decoded.give(bytes);
    }
  }
}
