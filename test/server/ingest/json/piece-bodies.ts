/** Bodies in pieces, and what a batch of them holds. */
import { hashKey, type PieceKey } from "../../../../engine/index.ts";
import type { BodyPiece } from "../../../../server/ingest/decode-task.ts";

/** Of the frame around a batch. */
const frameHeaderBytes = 24;
/** Of a key: its hash, the number of rows, and zeros. */
const keyBytes = 40;

/**
 * Groups of lines as pieces, which lie anywhere in shared memory that is longer than they are. Every third one says with which
 * line it begins.
 */
export function toPieces(groups: readonly (readonly Buffer[])[]): BodyPiece[] {
  let firstLine = 1;
  return groups.map((lines, i) => {
    const text = Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")]));
    const memory = new SharedArrayBuffer(text.length + (text.length >> 3) + 16);
    const bytes = new Uint8Array(memory, i % 16, text.length);
    bytes.set(text);
    const piece = { bytes, keyHash: hashKey(`piece ${i}`), firstLine: i % 3 === 2 ? firstLine : undefined };
    firstLine += lines.length;
    return piece;
  });
}

/** What a batch holds, and the keys of its pieces after it. */
export function splitBatch(frame: Uint8Array): { rest: Buffer; keys: PieceKey[] } {
  const payload = Buffer.from(frame.subarray(frameHeaderBytes));
  const end = payload.length - payload.readUInt32LE(4) * keyBytes;
  const keys: PieceKey[] = [];
  for (let at = end; at < payload.length; at += keyBytes)
    keys.push({ hash: payload.toString("hex", at, at + 32), rows: payload.readUInt32LE(at + 32) });
  payload.writeUInt32LE(0, 4);
  return { rest: payload.subarray(0, end), keys };
}
