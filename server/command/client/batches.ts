/** Cuts a stream of bytes into batches of whole lines. */

export interface Batch {
  bytes: Buffer;
  /** Place of its first byte in the unpacked input. */
  offset: number;
  /** Number of its first line in the input, from 1. */
  firstLine: number;
}

export interface BatchOptions {
  /** A batch is as many whole lines as fit in this, so the cuts depend on the input alone: a second run makes the same ones. */
  targetBytes: number;
  /** A longer line is left out. */
  lineBytesMax: number;
  /** Sends what has come after this time of silence; null waits for a whole batch. */
  idleMs: number | null;
  onLongLine: (line: number) => void;
}

const newline = 0x0a;

interface Cutter {
  options: BatchOptions;
  held: Buffer[];
  heldBytes: number;
  offset: number;
  line: number;
  /** Inside a line that is left out. */
  skipping: boolean;
}

export async function* batchesOf(
  chunks: AsyncIterable<Uint8Array>,
  options: BatchOptions,
): AsyncGenerator<Batch> {
  const cutter: Cutter = { options, held: [], heldBytes: 0, offset: 0, line: 1, skipping: false };
  for await (const chunk of options.idleMs === null ? chunks : withSilences(chunks, options.idleMs)) {
    if (chunk === null) {
      yield* cut(cutter, 1);
      continue;
    }
    hold(cutter, Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
    if (cutter.heldBytes >= options.targetBytes) yield* cut(cutter, options.targetBytes);
  }
  yield* cut(cutter, 1);
  if (cutter.heldBytes > 0) yield take(cutter, joined(cutter), cutter.heldBytes);
}

function hold(cutter: Cutter, chunk: Buffer): void {
  let bytes = chunk;
  if (cutter.skipping) {
    const end = bytes.indexOf(newline);
    const skipped = end < 0 ? bytes.length : end + 1;
    cutter.offset += skipped;
    bytes = bytes.subarray(skipped);
    if (end < 0) return;
    cutter.skipping = false;
    cutter.line++;
  }
  if (bytes.length === 0) return;
  cutter.held.push(bytes);
  cutter.heldBytes += bytes.length;
}

/** Batches from what is held, as long as at least `bytesMin` of it are left; the rest of a line stays held. */
function* cut(cutter: Cutter, bytesMin: number): Generator<Batch> {
  let bytes = joined(cutter);
  while (bytes.length >= bytesMin) {
    const end = lineEnd(bytes, cutter.options.targetBytes);
    if (end === 0) break;
    if (end <= cutter.options.lineBytesMax) yield take(cutter, bytes, end);
    else passOver(cutter, end);
    bytes = bytes.subarray(end);
  }
  setHeld(cutter, bytes);
  if (bytes.length > cutter.options.lineBytesMax && bytes.indexOf(newline) < 0) leaveOut(cutter, bytes);
}

/** Behind the last newline among the first `target` bytes, else behind the first newline after them; 0 without one. */
function lineEnd(bytes: Buffer, target: number): number {
  const before = bytes.lastIndexOf(newline, target - 1) + 1;
  return before > 0 ? before : bytes.indexOf(newline, target) + 1;
}

function take(cutter: Cutter, bytes: Buffer, length: number): Batch {
  const batch = { bytes: bytes.subarray(0, length), offset: cutter.offset, firstLine: cutter.line };
  cutter.offset += length;
  cutter.line += countNewlines(batch.bytes);
  return batch;
}

/** A whole line that is too long. */
function passOver(cutter: Cutter, length: number): void {
  cutter.options.onLongLine(cutter.line);
  cutter.offset += length;
  cutter.line++;
}

/** The beginning of a line that is too long already; `hold` passes over the rest. */
function leaveOut(cutter: Cutter, bytes: Buffer): void {
  cutter.options.onLongLine(cutter.line);
  cutter.offset += bytes.length;
  cutter.skipping = true;
  setHeld(cutter, bytes.subarray(bytes.length));
}

function joined(cutter: Cutter): Buffer {
  return cutter.held.length === 1 ? cutter.held[0]! : Buffer.concat(cutter.held);
}

function setHeld(cutter: Cutter, bytes: Buffer): void {
  cutter.held = bytes.length === 0 ? [] : [bytes];
  cutter.heldBytes = bytes.length;
}

function countNewlines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count++;
  return count;
}

/** The chunks, and null whenever none has come for `idleMs`. */
async function* withSilences(
  chunks: AsyncIterable<Uint8Array>,
  idleMs: number,
): AsyncGenerator<Uint8Array | null> {
  const iterator = chunks[Symbol.asyncIterator]();
  let next = iterator.next();
  while (true) {
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, idleMs, null);
    });
    const result = await Promise.race([next, silence]);
    clearTimeout(timer);
    if (result === null) {
      yield null;
      continue;
    }
    if (result.done) return;
    yield result.value;
    next = iterator.next();
  }
}
