/** Reads the chunks and files that a backup copies; runs on a thread of its own. */
import { readSync } from "node:fs";
import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import { Failure } from "../failure.ts";
import { isIntactFrame, readFrameChecksum } from "../files/frame.ts";
import { recordHeaderBytes, recordLength, scanSegment } from "../journal/journal-record.ts";
import { chunkKeys, headerKey, openChunk } from "../partition/chunk-store.ts";
import type { ChunkReaders } from "../scan/chunk-readers.ts";

/** Asks for the frames of a chunk's values. */
export interface BackupChunkTask {
  kind: "backup-chunk";
  dir: string;
  entry: ChunkEntry;
}

/**
 * Asks for the first `bytes` of an open file. The kind "backup-records" asks only for the intact records in these bytes
 * of a journal segment.
 */
export interface BackupFileTask {
  kind: "backup-file" | "backup-records";
  fd: number;
  bytes: number;
}

export type BackupReadTask = BackupChunkTask | BackupFileTask;

/** Returns the frames of a chunk's values, concatenated. Throws Failure "damage" where one is not what was written. */
export function readChunkFrames({ dir, entry }: BackupChunkTask, readers: ChunkReaders): Uint8Array {
  const environment = readers.environment(dir);
  const { header } = openChunk(environment, entry, dir);
  const keys = [
    { key: headerKey(entry.id), checksum: entry.checksum },
    ...chunkKeys(entry.id, header.columns.all()),
  ];
  const frames = keys.map(({ key, checksum }) => {
    const frame = environment.get(key);
    if (frame === undefined || !isIntactFrame(frame) || readFrameChecksum(frame) !== checksum) {
      throw new Failure("damage", `${dir} chunk ${entry.id}: a value is not what was written`);
    }
    return frame;
  });
  return concatenate(frames);
}

/** Reads the first bytes of an open file; fewer where the file is shorter. */
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

/** Reads the intact records of a segment. The remains of an unacknowledged record that a crash cut off are left out. */
export function readWholeRecords(task: BackupFileTask): Uint8Array {
  const file = readFilePrefix(task);
  const { records } = scanSegment(Buffer.from(file.buffer, file.byteOffset, file.byteLength));
  return concatenate(
    records.map(({ frame }) => {
      const at = frame.byteOffset - file.byteOffset - recordHeaderBytes;
      return file.subarray(at, at + recordLength(frame.byteLength));
    }),
  );
}

/** The result has a buffer of its own, so that it can be transferred to another thread. */
function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.byteLength;
  }
  return all;
}
