/**
 * A backup of an open store: its content at one point in the order of acknowledged writes. Meanwhile the store takes
 * and seals rows as usual, but it neither merges nor removes chunks until the backup is closed.
 */

import { closeSync } from "node:fs";
import { Failure, isDamage } from "../failure.ts";
import type { Journal, JournalFile } from "../journal/journal.ts";
import type { MaintenanceScheduler } from "../maintenance/maintenance-scheduler.ts";
import type { Catalog, Partition } from "../partition/catalog.ts";
import { type Manifest, readManifest } from "../partition/manifest.ts";
import type { StateSnapshot, StoredState } from "../state/state.ts";
import { Turns } from "../threads/turns.ts";
import { WorkerThread } from "../threads/worker-thread.ts";
import type { BackupReadTask } from "./backup-reader.ts";
import { type BackupItem, encodeItem } from "./backup-stream.ts";

/** Plain data that names everything to be copied, as of one moment. */
interface Snapshot {
  takenAtMs: number;
  partitions: Pick<Partition, "signal" | "day" | "dir" | "manifest">[];
  journal: ReturnType<Journal["snapshot"]>;
  state: StateSnapshot;
}

/** The parts of an open store that a backup needs. */
export interface BackedUpParts {
  catalog: Catalog;
  journal: Journal;
  maintenance: MaintenanceScheduler;
  state: StoredState;
  now: () => number;
}

/** A file to be placed beside the store's own files, such as the admin token. `name`: lower-case letters and dashes. */
export interface BackupFile {
  name: string;
  bytes: Uint8Array;
}

/** Frames of the state's records are collected up to this length for one item of the stream. */
const recordsBytes = 1024 * 1024;

/** Opens a backup; the caller must close it. Throws Failure "overload" while another one is open. */
export async function openBackup(parts: BackedUpParts): Promise<Backup> {
  const { catalog, journal, maintenance, state, now } = parts;
  const snapshot = await maintenance.pauseRemoval((): Snapshot => {
    const partitions = catalog.partitions().filter(({ manifest }) => manifest.version > 0);
    return {
      takenAtMs: now(),
      partitions: partitions.map(({ signal, day, dir, manifest }) => ({ signal, day, dir, manifest })),
      journal: journal.snapshot(),
      state: state.snapshot(),
    };
  });
  return new Backup(snapshot, () => maintenance.resumeRemoval());
}

/** An open backup. It holds file descriptors and a thread until it is closed. */
export class Backup {
  readonly #snapshot: Snapshot;
  readonly #release: () => void;
  /** Reads what is copied, so that the thread that answers requests never waits for the disk. */
  readonly #reader = new WorkerThread<BackupReadTask>({ concurrent: false, columnCacheBytes: 0 });
  #isClosed = false;

  constructor(snapshot: Snapshot, release: () => void) {
    this.#snapshot = snapshot;
    this.#release = release;
  }

  /** The moment that the backup shows, milliseconds since the epoch. */
  get takenAtMs(): number {
    return this.#snapshot.takenAtMs;
  }

  /** Approximate length of the stream. */
  get bytesTotal(): number {
    const { partitions, journal, state } = this.#snapshot;
    const chunks = partitions.flatMap(({ manifest }) => manifest.chunks);
    const files = [...journal.segments, ...journal.keys];
    return [...chunks, ...files, state].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /**
   * The whole backup as a stream of bytes; see backup-stream.ts. `files` are added to it. Throws Failure "folder" where
   * the backup was closed meanwhile.
   */
  async *pieces(files: readonly BackupFile[]): AsyncGenerator<Uint8Array, void, undefined> {
    const { takenAtMs, partitions } = this.#snapshot;
    yield* encodeItem({ kind: "start", version: 1, takenAtMs, bytesTotal: this.bytesTotal });
    yield* this.#encodeJournal();
    yield* this.#encodeState();
    for (const partition of partitions) yield* this.#encodePartition(partition);
    for (const { name, bytes } of files) yield* encodeItem({ kind: "file", name }, bytes);
    yield* encodeItem({ kind: "end" });
  }

  /** Lets the store merge and remove chunks again, and closes the files. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#release();
    // The thread must end first: it may be reading one of the files.
    await this.#reader.close();
    const { segments, keys } = this.#snapshot.journal;
    for (const { fd } of [...segments, ...keys]) closeSync(fd);
  }

  async *#encodeJournal() {
    const { seqNext, arrivalNext, segments, keys } = this.#snapshot.journal;
    const names = (files: readonly JournalFile[]) => files.map(({ name }) => name);
    yield* encodeItem({
      ...{ kind: "journal", seqNext, arrivalNext },
      ...{ segments: names(segments), keys: names(keys) },
    });
    for (const { name, fd, bytes } of segments) {
      const records = await this.#read({ kind: "backup-records", fd, bytes });
      yield* encodeItem({ kind: "segment", name }, records);
    }
    for (const { name, fd, bytes } of keys) {
      yield* encodeItem({ kind: "keys", name }, await this.#read({ kind: "backup-file", fd, bytes }));
    }
  }

  async *#encodeState() {
    yield* encodeItem({ kind: "state" });
    let frames: Uint8Array[] = [];
    let bytes = 0;
    const turns = new Turns();
    for (const [, frame] of this.#snapshot.state.values()) {
      if (turns.isOver) await turns.next();
      frames.push(frame);
      bytes += frame.byteLength;
      if (bytes < recordsBytes) continue;
      yield* encodeItem({ kind: "records" }, Buffer.concat(frames));
      frames = [];
      bytes = 0;
    }
    yield* encodeItem({ kind: "records" }, Buffer.concat(frames));
  }

  async *#encodePartition({ signal, day, dir, manifest }: Snapshot["partitions"][number]) {
    yield* encodeItem({ kind: "partition", signal, day, manifest });
    for (const problem of await findQuarantinedChunks(dir, manifest))
      yield* encodeItem({ kind: "lost", problem });
    for (const entry of manifest.chunks) {
      const item: BackupItem = { kind: "chunk", id: entry.id };
      try {
        yield* encodeItem(item, await this.#read({ kind: "backup-chunk", dir, entry }));
      } catch (error) {
        if (!isDamage(error)) throw error;
        yield* encodeItem({ kind: "lost", problem: `${error.message}; its ${entry.rows} rows are lost` });
      }
    }
  }

  #read(task: BackupReadTask): Promise<Uint8Array> {
    if (this.#isClosed) throw new Failure("folder", "the backup was closed");
    return this.#reader.run<Uint8Array>(task);
  }
}

/**
 * Describes the chunks that the manifest on disk still names, but that the store has quarantined because they are
 * damaged.
 */
async function findQuarantinedChunks(dir: string, { chunks, chunkNext }: Manifest): Promise<string[]> {
  const served = new Set(chunks.map(({ id }) => id));
  const { manifest } = await readManifest(dir);
  const lost = (manifest?.chunks ?? []).filter(({ id }) => id < chunkNext && !served.has(id));
  return lost.map(
    ({ id, rows }) => `chunk ${id} (${rows} rows) was damaged and quarantined before the backup`,
  );
}
