/** Reads what a backup copies, on a thread of its own. */
import { readSync } from "node:fs";
import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import { Failure } from "../failure.ts";
import { frameChecksum, frameIsWhole } from "../files/frame.ts";
import { recordHeaderBytes, recordLength, scanSegment } from "../journal/journal-record.ts";
import { chunkKeys, headerKey, openChunk } from "../partition/chunk-store.ts";
import type { ChunkReaders } from "../scan/chunk-readers.ts";

/** The frames of a chunk's values, for a backup. */
export interface BackupChunkTask {
  kind: "backup-chunk";
  dir: string;
  entry: ChunkEntry;
}

/** So many bytes from the beginning of an open file, for a backup; of a segment of the journal its whole records. */
export interface BackupFileTask {
  kind: "backup-file" | "backup-records";
  fd: number;
  bytes: number;
}

export type BackupReadTask = BackupChunkTask | BackupFileTask;

/** The frames of a chunk's values, one behind the other. Throws Failure "damage" where one is not what was written. */
export function readChunkFrames({ dir, entry }: BackupChunkTask, readers: ChunkReaders): Uint8Array {
  const environment = readers.environment(dir);
  const { header } = openChunk(environment, entry, dir);
  const keys = [{ key: headerKey(entry.id), checksum: entry.checksum }, ...chunkKeys(entry.id, header)];
  const frames = keys.map(({ key, checksum }) => {
    const frame = environment.get(key);
    if (frame === undefined || !frameIsWhole(frame) || frameChecksum(frame) !== checksum) {
      throw new Failure("damage", `${dir} chunk ${entry.id}: a value is not what was written`);
    }
    return frame;
  });
  return joined(frames);
}

/** Bytes from the beginning of an open file. */
export function readFilePrefix({ fd, bytes }: BackupFileTask): Uint8Array {
  const content = Buffer.allocUnsafeSlow(bytes);
  let done = 0;
  while (done < bytes) {
    const read = readSync(fd, content, done, bytes - done, done);
    if (read === 0) break;
    done += read;
  }
  return new Uint8Array(content.buffer, 0, done);
}

/** The whole records of a segment; what a crash left of one that was never acknowledged stays behind. */
export function readWholeRecords(task: BackupFileTask): Uint8Array {
  const file = readFilePrefix(task);
  const { records } = scanSegment(Buffer.from(file.buffer, file.byteOffset, file.byteLength));
  return joined(
    records.map(({ frame }) => {
      const at = frame.byteOffset - file.byteOffset - recordHeaderBytes;
      return file.subarray(at, at + recordLength(frame.byteLength));
    }),
  );
}

/** In memory of its own, so that it can change threads. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.byteLength;
  }
  return all;
}
