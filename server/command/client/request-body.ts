/** Which batches go together in the body of a request, and how a batch is divided that is too large for one. */

import { sumBytes } from "../../ingest/decode-task.ts";
import { countLines } from "../../text/newlines.ts";
import { type Batch, findLineEnd } from "./batches.ts";

/** What one body may have. */
interface BodyCap {
  bytesMax: number;
  batchesMax: number;
}

/** The first batches, for one body: at least one, and so many that all bodies of the batches are about equally large. */
export function takeBody(batches: readonly Batch[], { bytesMax, batchesMax }: BodyCap): readonly Batch[] {
  const total = sumBytes(batches);
  const each = total / Math.ceil(total / bytesMax);
  const body: Batch[] = [];
  let bytes = 0;
  for (const batch of batches) {
    const isFull = bytes >= each || bytes + batch.bytes.length > bytesMax || body.length === batchesMax;
    if (body.length > 0 && isFull) break;
    body.push(batch);
    bytes += batch.bytes.length;
  }
  return body;
}

/**
 * Sizes of the parts of batches that a proxy does not take. Parts have idempotency keys of their own, so that the sizes are
 * fixed: another run through the same proxy makes the same parts.
 */
const partBytes = [256 * 1024, 32 * 1024, 4 * 1024];

/** A smaller batch is not divided. */
export const dividedBytesMin = partBytes.at(-1)! + 1;

/**
 * Divides a batch of at least `bytesTooMany` bytes until each part has fewer, or cannot be divided. A smaller batch stays
 * whole: another run may send it before any body was refused, and the idempotency keys must be the same.
 */
export function divideBatch(batch: Batch, bytesTooMany: number): Batch[] {
  if (batch.bytes.length < bytesTooMany || !canDivide(batch)) return [batch];
  const size = partBytes.find((each) => each < batch.bytes.length)!;
  return cutBatch(batch, size).flatMap((part) => divideBatch(part, bytesTooMany));
}

export function canDivide({ bytes }: Batch): boolean {
  return bytes.length >= dividedBytesMin && countLines(bytes) > 1;
}

/** Parts of whole lines with at most so many bytes, or of one line that is longer. */
function cutBatch(batch: Batch, bytesMax: number): Batch[] {
  const parts: Batch[] = [];
  let { offset, firstLine } = batch;
  for (let from = 0; from < batch.bytes.length; ) {
    const left = batch.bytes.subarray(from);
    const end = left.length <= bytesMax ? 0 : findLineEnd(left, bytesMax);
    const bytes = end === 0 ? left : left.subarray(0, end);
    const lines = countLines(bytes);
    parts.push({ bytes, offset, firstLine, lines });
    from += bytes.length;
    offset += bytes.length;
    firstLine += lines;
  }
  return parts;
}
