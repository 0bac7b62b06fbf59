/** A backup as a folder: a data folder as after a clean shutdown, plus a list of its files with their checksums. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { readCheckedFile, writeCheckedFile } from "../files/checked-file.ts";
import { syncFolder } from "../files/folder.ts";
import { backupMarker, checkFormat } from "../files/format-version.ts";
import { decodeFrame, frameBytesAt } from "../files/frame.ts";
import {
  type FieldChecks,
  findWrongField,
  isCount,
  isListOf,
  isNumber,
  isObjectOf,
  isText,
} from "../files/json-shape.ts";
import { checkFreeSpace, fillStagedFolder, listFiles } from "../files/staged-folder.ts";
import { verifyStore } from "../inspect/verify.ts";
import { keyFilePattern, segmentPattern } from "../journal/journal-reader.ts";
import { SegmentList } from "../journal/segment-list.ts";
import { writeShutdownRecord } from "../journal/shutdown-record.ts";
import { journalSegmentBytes } from "../limits.ts";
import { fillEnvironment, openEnvironment } from "../lmdb/environment.ts";
import { dayName } from "../model/day.ts";
import { type Signal, signals } from "../model/signal.ts";
import { writeManifest } from "../partition/manifest.ts";
import { addLosses } from "../partition/repair.ts";
import { copyNames } from "../state/state-copy.ts";
import { type BackupItem, BackupStreamReader } from "./backup-stream.ts";

/**
 * Content of the file that marks a folder as a complete backup. It is written last. It is not signed: its checksums find
 * damage, not forgery.
 */
export interface BackupMarker {
  name: "svc-backup";
  version: 1;
  /** Milliseconds since the epoch. */
  takenAtMs: number;
  /** Length of the values, records and files in it; holes in files do not count. */
  bytes: number;
  /** Rows of its chunks; rows in its journal do not count. */
  rows: number;
  /** Every other file: its path relative to the folder, and the SHA-256 of its content in hexadecimal. */
  files: { path: string; bytes: number; sha256: string }[];
  /** Damage and losses that the store already had, as `verifyStore` reports them in the backup. */
  losses: string[];
}

const markerChecks: FieldChecks<Omit<BackupMarker, "name" | "version">> = {
  takenAtMs: isNumber,
  bytes: isCount,
  rows: isCount,
  files: isListOf(
    isObjectOf<BackupMarker["files"][number]>({
      path: isText,
      bytes: isCount,
      sha256: (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value),
    }),
  ),
  losses: isListOf(isText),
};

/** What every version of the marker has. */
const isAnyMarker = isObjectOf<{ name: string; version: number }>({
  name: (value) => value === "svc-backup",
  version: isCount,
});

/** Progress of a backup or a restore: first all bytes are copied, then all are checked. */
export interface CopyProgress {
  phase: "copied" | "checked";
  bytes: number;
  bytesTotal: number;
}

type OnProgress = (progress: CopyProgress) => void;

/**
 * Writes the stream of `Backup.pieces` as a backup into the new folder `dir`, and verifies it. Throws Failure "folder"
 * where the folder is not empty, "disk-full" where the disk has too little space, and "damage" where the stream is
 * damaged or incomplete; nothing is left over in any of these cases.
 */
export function writeBackup(
  pieces: AsyncIterable<Uint8Array>,
  dir: string,
  onProgress: OnProgress,
): Promise<BackupMarker> {
  return fillStagedFolder(dir, async (staging) => {
    const folder = new BackupFolder(new BackupStreamReader(pieces), staging, onProgress);
    try {
      return await folder.write();
    } finally {
      await folder.close();
    }
  });
}

/**
 * Throws Failure "folder" where `dir` is no backup or not complete, and "damage" where the marker is no regular file,
 * its checksum does not match, or it is no marker.
 */
export async function readBackupMarker(dir: string): Promise<BackupMarker> {
  const path = join(dir, backupMarker);
  const marker = await readCheckedFile(path, isAnyMarker);
  if (marker === "damaged") {
    throw new Failure("damage", `${path}: the checksum does not match, or it is no backup's list of files`);
  }
  if (marker === undefined) {
    throw new Failure("folder", `${dir} is no backup, or one that was not finished: it has no file "backup"`);
  }
  if (marker.version !== 1) {
    throw new Failure(
      "folder",
      `${dir} is a backup of version ${marker.version}; this build reads version 1`,
    );
  }
  const wrong = findWrongField(marker, markerChecks);
  if (wrong !== undefined) {
    throw new Failure("damage", `${path}: the field ${wrong} is not what a backup's list of files holds`);
  }
  return marker as BackupMarker;
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest("hex");
}

/** Writes the items of a backup stream as files of a folder. */
class BackupFolder {
  readonly #reader: BackupStreamReader;
  readonly #dir: string;
  readonly #onProgress: OnProgress;
  #bytes = 0;
  #bytesTotal = 0;

  constructor(reader: BackupStreamReader, dir: string, onProgress: OnProgress) {
    this.#reader = reader;
    this.#dir = dir;
    this.#onProgress = onProgress;
  }

  async write(): Promise<BackupMarker> {
    const { takenAtMs, bytesTotal } = (await this.#expect("start")).item;
    this.#bytesTotal = bytesTotal;
    await checkFreeSpace(this.#dir, bytesTotal);
    await checkFormat(this.#dir, { create: true });
    await this.#writeJournal();
    await this.#writeState();
    while (await this.#isNext("partition")) await this.#writePartition();
    while (await this.#isNext("file")) await this.#writeFile();
    await this.#expect("end");
    return this.#complete(takenAtMs);
  }

  close(): Promise<void> {
    return this.#reader.close();
  }

  async #complete(takenAtMs: number): Promise<BackupMarker> {
    const report = await verifyStore(this.#dir, ({ bytes, bytesTotal }) =>
      this.#onProgress({ phase: "checked", bytes, bytesTotal }),
    );
    const files: BackupMarker["files"] = [];
    for (const path of await listFiles(this.#dir)) {
      const { size } = await stat(join(this.#dir, path));
      files.push({ path, bytes: size, sha256: await hashFile(join(this.#dir, path)) });
    }
    const losses = report.damage.map(({ where, problem }) => `${where}: ${problem}`);
    const marker: BackupMarker = {
      ...{ name: "svc-backup", version: 1, takenAtMs, bytes: this.#bytes },
      ...{ rows: report.rows, files, losses },
    };
    await writeCheckedFile(join(this.#dir, backupMarker), marker);
    return marker;
  }

  async #writeJournal(): Promise<void> {
    const { seqNext, arrivalNext, segments, keys } = (await this.#expect("journal")).item;
    const dir = join(this.#dir, "journal");
    await mkdir(dir);
    await new SegmentList(dir, 0).write({ segments, keys });
    while (await this.#isNext("segment")) {
      const { item, payload } = await this.#expect("segment");
      const bytesMin = Math.max(journalSegmentBytes, payload.byteLength);
      await writeDurably(join(dir, checkName(item.name, segmentPattern)), payload, bytesMin);
    }
    while (await this.#isNext("keys")) {
      const { item, payload } = await this.#expect("keys");
      await writeDurably(join(dir, checkName(item.name, keyFilePattern)), payload, payload.byteLength);
    }
    await writeShutdownRecord(dir, { seqNext, arrivalNext });
    await syncFolder(this.#dir);
  }

  async #writeState(): Promise<void> {
    await this.#expect("state");
    const [first, ...others] = copyNames.map((name) => join(this.#dir, "control", name));
    await fillEnvironment(first!, this.#readValues("records"));
    const filled = openEnvironment(first!, { readOnly: true });
    for (const other of others) await filled.compactInto(other);
    await filled.close();
  }

  async #writePartition(): Promise<void> {
    const { signal, day, manifest } = (await this.#expect("partition")).item;
    const dir = join(this.#dir, checkName(signal, signalPattern), dayName(day));
    const losses: string[] = [];
    const receivedChunks = new Set<number>();
    const onItem = (item: BackupItem) => {
      if (item.kind === "chunk") receivedChunks.add(item.id);
      else if (item.kind === "lost") losses.push(item.problem);
    };
    await mkdir(dir, { recursive: true });
    // A partition without chunks, such as one that retention emptied, has no data file.
    if (manifest.chunks.length > 0 || (await this.#isNext("lost"))) {
      await fillEnvironment(dir, this.#readValues("chunk", onItem));
    }
    const chunks = manifest.chunks.filter(({ id }) => receivedChunks.has(id));
    await writeManifest(dir, { ...addLosses(manifest, losses), chunks });
  }

  async #writeFile(): Promise<void> {
    const { item, payload } = await this.#expect("file");
    await writeDurably(join(this.#dir, checkName(item.name, /^[a-z][a-z-]*$/)), payload, payload.byteLength);
  }

  /**
   * Keys and frames of all values in the next items of a kind; among chunks there may be items that report lost ones.
   */
  async *#readValues(
    kind: "chunk" | "records",
    onItem: (item: BackupItem) => void = () => undefined,
  ): AsyncGenerator<[Uint8Array, Uint8Array]> {
    while ((await this.#isNext(kind)) || (kind === "chunk" && (await this.#isNext("lost")))) {
      const { item, payload } = await this.#reader.take();
      onItem(item);
      for (let at = 0; at < payload.byteLength; ) {
        const bytes = frameBytesAt(payload, at);
        const frame = payload.subarray(at, at + (bytes ?? 0));
        const opened = decodeFrame(frame);
        if (bytes === undefined || opened === undefined) throw new Failure("damage", "a value came damaged");
        yield [Buffer.from(opened.key), frame];
        at += bytes;
      }
      this.#advance(payload.byteLength);
    }
  }

  async #isNext(kind: BackupItem["kind"]): Promise<boolean> {
    return (await this.#reader.peek()).item.kind === kind;
  }

  async #expect<K extends BackupItem["kind"]>(kind: K) {
    const { item, payload } = await this.#reader.take();
    if (item.kind !== kind) throw new Failure("damage", `the backup is out of order at ${item.kind}`);
    this.#advance(payload.byteLength);
    return { item: item as Extract<BackupItem, { kind: K }>, payload };
  }

  #advance(bytes: number): void {
    this.#bytes += bytes;
    const bytesTotal = Math.max(this.#bytesTotal, this.#bytes);
    this.#onProgress({ phase: "copied", bytes: this.#bytes, bytesTotal });
  }
}

const signalPattern = new RegExp(`^(?:${signals.join("|")})$`);

/** Checks a name that came from the stream, so that it can never lead to a file outside the folder. */
function checkName<T extends string | Signal>(name: T, pattern: RegExp): T {
  if (!pattern.test(name)) throw new Failure("damage", `the backup names ${JSON.stringify(name)}`);
  return name;
}

/**
 * Writes a file of length `bytesMin`; what its content does not fill is a hole. It is on disk when the promise
 * resolves.
 */
async function writeDurably(path: string, content: Uint8Array, bytesMin: number): Promise<void> {
  await writeFile(path, content);
  const file = await open(path, "r+");
  try {
    await file.truncate(bytesMin);
    await file.sync();
  } finally {
    await file.close();
  }
}
