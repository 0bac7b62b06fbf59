/** Cuts a stream of bytes into batches of whole lines. */

export interface Batch {
  bytes: Buffer;
  /** Position of its first byte in the decompressed input. */
  offset: number;
  /** Number of its first line in the input, from 1. */
  firstLine: number;
}

export interface BatchOptions {
  /** A batch holds as many whole lines as fit. The cuts depend on the input alone: a second run makes the same ones. */
  targetBytes: number;
  /** A longer line is skipped. */
  lineBytesMax: number;
  /** After this time without input, the lines that have come make a batch; null waits for a whole batch. */
  idleMs: number | null;
  onLongLine: (line: number) => void;
}

const newline = 0x0a;

/** The state between two chunks. */
interface Cutter {
  options: BatchOptions;
  /** Bytes that are in no batch yet. */
  pending: Buffer[];
  pendingBytes: number;
  offset: number;
  line: number;
  /** True inside a line that is skipped. */
  isSkipping: boolean;
}

export async function* batchesOf(
  chunks: AsyncIterable<Uint8Array>,
  options: BatchOptions,
): AsyncGenerator<Batch> {
  const cutter: Cutter = { options, pending: [], pendingBytes: 0, offset: 0, line: 1, isSkipping: false };
  for await (const chunk of options.idleMs === null ? chunks : markSilences(chunks, options.idleMs)) {
    if (chunk === null) {
      yield* cutBatches(cutter, 1);
      continue;
    }
    addChunk(cutter, Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
    if (cutter.pendingBytes >= options.targetBytes) yield* cutBatches(cutter, options.targetBytes);
  }
  yield* cutBatches(cutter, 1);
  if (cutter.pendingBytes > 0) yield takeBatch(cutter, joinPending(cutter), cutter.pendingBytes);
}

function addChunk(cutter: Cutter, chunk: Buffer): void {
  let bytes = chunk;
  if (cutter.isSkipping) {
    const end = bytes.indexOf(newline);
    const skipped = end < 0 ? bytes.length : end + 1;
    cutter.offset += skipped;
    bytes = bytes.subarray(skipped);
    if (end < 0) return;
    cutter.isSkipping = false;
    cutter.line++;
  }
  if (bytes.length === 0) return;
  cutter.pending.push(bytes);
  cutter.pendingBytes += bytes.length;
}

/** Makes batches while at least `bytesMin` bytes are pending; the beginning of an unfinished line stays pending. */
function* cutBatches(cutter: Cutter, bytesMin: number): Generator<Batch> {
  let bytes = joinPending(cutter);
  while (bytes.length >= bytesMin) {
    const end = findLineEnd(bytes, cutter.options.targetBytes);
    if (end === 0) break;
    if (end <= cutter.options.lineBytesMax) yield takeBatch(cutter, bytes, end);
    else skipLine(cutter, end);
    bytes = bytes.subarray(end);
  }
  setPending(cutter, bytes);
  if (bytes.length > cutter.options.lineBytesMax && bytes.indexOf(newline) < 0)
    skipUnfinishedLine(cutter, bytes);
}

/** Returns the end of the last line within `target` bytes, else of the first line after them; 0 without a newline. */
function findLineEnd(bytes: Buffer, target: number): number {
  const before = bytes.lastIndexOf(newline, target - 1) + 1;
  return before > 0 ? before : bytes.indexOf(newline, target) + 1;
}

function takeBatch(cutter: Cutter, bytes: Buffer, length: number): Batch {
  const batch = { bytes: bytes.subarray(0, length), offset: cutter.offset, firstLine: cutter.line };
  cutter.offset += length;
  cutter.line += countNewlines(batch.bytes);
  return batch;
}

/** Skips a whole line that is too long. */
function skipLine(cutter: Cutter, length: number): void {
  cutter.options.onLongLine(cutter.line);
  cutter.offset += length;
  cutter.line++;
}

/** Skips the beginning of a line that is too long already; `addChunk` skips the rest. */
function skipUnfinishedLine(cutter: Cutter, bytes: Buffer): void {
  cutter.options.onLongLine(cutter.line);
  cutter.offset += bytes.length;
  cutter.isSkipping = true;
  setPending(cutter, bytes.subarray(bytes.length));
}

function joinPending(cutter: Cutter): Buffer {
  return cutter.pending.length === 1 ? cutter.pending[0]! : Buffer.concat(cutter.pending);
}

function setPending(cutter: Cutter, bytes: Buffer): void {
  cutter.pending = bytes.length === 0 ? [] : [bytes];
  cutter.pendingBytes = bytes.length;
}

function countNewlines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count++;
  return count;
}

/** Yields the chunks, and null whenever none has come for `idleMs`. */
async function* markSilences(
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
