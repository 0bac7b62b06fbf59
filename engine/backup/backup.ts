/**
 * A backup of an open store, as it stood at one point in the order of acknowledged writes. Rows come in and are sealed
 * meanwhile as ever; chunks are neither merged nor removed until the backup is closed.
 */

import { closeSync } from "node:fs";
import { Failure } from "../failure.ts";
import type { Journal, JournalFile } from "../journal/journal.ts";
import type { MaintenanceScheduler } from "../maintenance/maintenance-scheduler.ts";
import type { Catalog, Partition } from "../partition/catalog.ts";
import { type Manifest, readManifest } from "../partition/manifest.ts";
import type { StateSnapshot, StoredState } from "../state/state.ts";
import { WorkerThread } from "../threads/worker-thread.ts";
import type { BackupReadTask } from "./backup-reader.ts";
import { type BackupItem, toPieces } from "./backup-stream.ts";

/** What is copied: plain data of one moment. */
interface Snapshot {
  takenAtMs: number;
  partitions: Pick<Partition, "signal" | "day" | "dir" | "manifest">[];
  journal: ReturnType<Journal["snapshot"]>;
  state: StateSnapshot;
}

export interface BackedUpParts {
  catalog: Catalog;
  journal: Journal;
  upkeep: MaintenanceScheduler;
  state: StoredState;
  now: () => number;
}

/** A file that is to stand beside the store's own. */
export interface BackupFile {
  name: string;
  bytes: Uint8Array;
}

/** Frames of the state's records that go in one item. */
const recordsBytes = 1024 * 1024;

/** Close it. Throws Failure "overload" while another one is open. */
export async function openBackup(parts: BackedUpParts): Promise<Backup> {
  const { catalog, journal, upkeep, state, now } = parts;
  const snapshot = await upkeep.hold((): Snapshot => {
    const partitions = catalog.partitions().filter(({ manifest }) => manifest.version > 0);
    return {
      takenAtMs: now(),
      partitions: partitions.map(({ signal, day, dir, manifest }) => ({ signal, day, dir, manifest })),
      journal: journal.snapshot(),
      state: state.snapshot(),
    };
  });
  return new Backup(snapshot, () => upkeep.release());
}

export class Backup {
  readonly #snapshot: Snapshot;
  readonly #release: () => void;
  /** It reads what is copied, so that nobody waits for the disk who answers requests. */
  readonly #reader = new WorkerThread<BackupReadTask>({ concurrent: false, columnCacheBytes: 0 });
  #isClosed = false;

  constructor(snapshot: Snapshot, release: () => void) {
    this.#snapshot = snapshot;
    this.#release = release;
  }

  get takenAtMs(): number {
    return this.#snapshot.takenAtMs;
  }

  get bytesTotal(): number {
    const { partitions, journal, state } = this.#snapshot;
    const chunks = partitions.flatMap(({ manifest }) => manifest.chunks);
    const files = [...journal.segments, ...journal.keys];
    return [...chunks, ...files, state].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The whole of it; see backupstream.ts. Throws Failure "folder" where it was closed. */
  async *pieces(files: readonly BackupFile[]): AsyncGenerator<Uint8Array, void, undefined> {
    const { takenAtMs, partitions } = this.#snapshot;
    yield* toPieces({ kind: "start", version: 1, takenAtMs, bytesTotal: this.bytesTotal });
    yield* this.#journalPieces();
    yield* this.#statePieces();
    for (const partition of partitions) yield* this.#partitionPieces(partition);
    for (const { name, bytes } of files) yield* toPieces({ kind: "file", name }, bytes);
    yield* toPieces({ kind: "end" });
  }

  /** Lets the store merge and remove again. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#release();
    // Its thread may be reading one of the files.
    await this.#reader.close();
    const { segments, keys } = this.#snapshot.journal;
    for (const { fd } of [...segments, ...keys]) closeSync(fd);
  }

  async *#journalPieces() {
    const { seqNext, arrivalNext, segments, keys } = this.#snapshot.journal;
    const names = (files: readonly JournalFile[]) => files.map(({ name }) => name);
    yield* toPieces({
      ...{ kind: "journal", seqNext, arrivalNext },
      ...{ segments: names(segments), keys: names(keys) },
    });
    for (const { name, fd, bytes } of segments) {
      const records = await this.#read({ kind: "backup-records", fd, bytes });
      yield* toPieces({ kind: "segment", name }, records);
    }
    for (const { name, fd, bytes } of keys) {
      yield* toPieces({ kind: "keys", name }, await this.#read({ kind: "backup-file", fd, bytes }));
    }
  }

  async *#statePieces() {
    yield* toPieces({ kind: "state" });
    let frames: Uint8Array[] = [];
    let bytes = 0;
    for (const [, frame] of this.#snapshot.state.values()) {
      frames.push(frame);
      bytes += frame.byteLength;
      if (bytes < recordsBytes) continue;
      yield* toPieces({ kind: "records" }, Buffer.concat(frames));
      frames = [];
      bytes = 0;
    }
    yield* toPieces({ kind: "records" }, Buffer.concat(frames));
  }

  async *#partitionPieces({ signal, day, dir, manifest }: Snapshot["partitions"][number]) {
    yield* toPieces({ kind: "partition", signal, day, manifest });
    for (const problem of await setAsideBefore(dir, manifest)) yield* toPieces({ kind: "lost", problem });
    for (const entry of manifest.chunks) {
      const item: BackupItem = { kind: "chunk", id: entry.id };
      try {
        yield* toPieces(item, await this.#read({ kind: "backup-chunk", dir, entry }));
      } catch (error) {
        if (!(error instanceof Failure) || error.kind !== "damage") throw error;
        yield* toPieces({ kind: "lost", problem: `${error.message}; its ${entry.rows} rows are lost` });
      }
    }
  }

  #read(task: BackupReadTask): Promise<Uint8Array> {
    if (this.#isClosed) throw new Failure("folder", "the backup was closed");
    return this.#reader.run<Uint8Array>(task);
  }
}

/** Chunks that the manifest on disk still names and the store serves no more, for they are damaged. */
async function setAsideBefore(dir: string, { chunks, chunkNext }: Manifest): Promise<string[]> {
  const served = new Set(chunks.map(({ id }) => id));
  const { manifest } = await readManifest(dir);
  const lost = (manifest?.chunks ?? []).filter(({ id }) => id < chunkNext && !served.has(id));
  return lost.map(({ id, rows }) => `chunk ${id} (${rows} rows) was damaged and set aside before the backup`);
}
