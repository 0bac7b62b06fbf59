/**
 * The idempotency keys of the pieces that a batch was read from. They stand at the end of the batch's payload, each as 32
 * bytes of SHA-256, u32 rows, u32 zero; the payload's second u32 is their number.
 */
import { readTrustedPayload } from "./frame.ts";

/** The idempotency key of a piece of a body. */
export interface PieceKey {
  /** SHA-256 of the key, hexadecimal. */
  hash: string;
  /** Rows that the piece added. */
  rows: number;
}

/** Bytes of a key in a batch. */
export const pieceKeyBytes = 40;

/** Writes keys one after the other, into zeroed bytes. */
export function writePieceKeys(keys: readonly PieceKey[], target: Uint8Array, offset: number): void {
  const bytes = Buffer.from(target.buffer, target.byteOffset, target.byteLength);
  for (const [i, { hash, rows }] of keys.entries()) {
    bytes.write(hash, offset + i * pieceKeyBytes, 32, "hex");
    bytes.writeUInt32LE(rows, offset + i * pieceKeyBytes + 32);
  }
}

/** The keys of a batch. The checksum of its frame must have been verified. */
export function readPieceKeys(frame: Uint8Array): PieceKey[] {
  const { buffer, byteOffset, byteLength } = readTrustedPayload(frame);
  const payload = Buffer.from(buffer, byteOffset, byteLength);
  const count = payload.readUInt32LE(4);
  return Array.from({ length: count }, (_, i) => {
    const at = byteLength - (count - i) * pieceKeyBytes;
    return { hash: payload.toString("hex", at, at + 32), rows: payload.readUInt32LE(at + 32) };
  });
}
