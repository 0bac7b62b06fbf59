/** Cuts a stream of bytes into batches of whole lines. */

import { type GroupSize, piecesMax } from "../../ingest/pieces/group-size.ts";
import { countNewlines } from "../../text/newlines.ts";
import type { Chunks } from "./input.ts";

export interface Batch {
  /** In memory that `BatchOptions.takeMemory` gave, and that no other batch has. */
  bytes: Buffer;
  /** Position of its first byte in the decompressed input. */
  offset: number;
  /** Number of its first line in the input, from 1. */
  firstLine: number;
  /** Number of its lines. */
  lines: number;
}

export interface BatchOptions {
  /** A batch holds as many whole lines as fit. The cuts depend on the input alone: a second run makes the same ones. */
  targetBytes: number;
  /** A longer line is skipped. */
  lineBytesMax: number;
  /** After this time without input, the lines that have come make a batch; null waits for a whole batch. */
  idleMs: number | null;
  onLongLine: (line: number) => void;
  /** Gives memory of at least so many bytes; new memory by default. */
  takeMemory?: (bytes: number) => Uint8Array;
}

const newline = 0x0a;

/** The state between two chunks. */
interface Cutter {
  options: BatchOptions;
  takeMemory: (bytes: number) => Uint8Array;
  /** Begins with the bytes that are in no batch yet. */
  memory: Buffer;
  pendingBytes: number;
  offset: number;
  line: number;
  /** True inside a line that is skipped. */
  isSkipping: boolean;
}

export async function* batchesOf(chunks: Chunks, options: BatchOptions): AsyncGenerator<Batch> {
  const takeMemory = options.takeMemory ?? ((bytes) => new Uint8Array(bytes));
  const cutter: Cutter = {
    ...{ options, takeMemory, memory: Buffer.alloc(0), pendingBytes: 0 },
    ...{ offset: 0, line: 1, isSkipping: false },
  };
  for await (const chunk of options.idleMs === null
    ? offerRoom(chunks, cutter)
    : markSilences(chunks, options.idleMs)) {
    if (chunk === null) {
      yield* cutBatches(cutter, 1);
      continue;
    }
    addChunk(cutter, toBuffer(chunk));
    if (cutter.pendingBytes >= options.targetBytes) yield* cutBatches(cutter, options.targetBytes);
  }
  yield* cutBatches(cutter, 1);
  if (cutter.pendingBytes > 0) yield takeBatch(cutter, cutter.pendingBytes);
}

/** Offers what is free after the pending bytes, up to the end of a batch, for each next chunk. */
async function* offerRoom(chunks: Chunks, cutter: Cutter): AsyncGenerator<Uint8Array> {
  try {
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next(roomOf(cutter)))
      yield next.value;
  } finally {
    await chunks.return();
  }
}

function roomOf({ memory, pendingBytes, isSkipping, options }: Cutter): Uint8Array | undefined {
  return isSkipping ? undefined : memory.subarray(pendingBytes, Math.max(pendingBytes, options.targetBytes));
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
  const pendingBytes = cutter.pendingBytes + bytes.length;
  // Where lines are long the memory doubles, so that it is not copied for each chunk.
  if (pendingBytes > cutter.memory.length)
    setPending(cutter, 0, Math.max(pendingBytes, cutter.pendingBytes * 2));
  const { memory } = cutter;
  const isInPlace =
    bytes.buffer === memory.buffer && bytes.byteOffset === memory.byteOffset + cutter.pendingBytes;
  if (!isInPlace) bytes.copy(memory, cutter.pendingBytes);
  cutter.pendingBytes = pendingBytes;
}

/** Makes batches while at least `bytesMin` bytes are pending; the beginning of an unfinished line stays pending. */
function* cutBatches(cutter: Cutter, bytesMin: number): Generator<Batch> {
  const { targetBytes, lineBytesMax } = cutter.options;
  while (cutter.pendingBytes >= bytesMin) {
    const end = findLineEnd(pendingOf(cutter), targetBytes);
    if (end === 0) break;
    if (end <= lineBytesMax) yield takeBatch(cutter, end);
    else skipLine(cutter, end);
  }
  if (cutter.pendingBytes > lineBytesMax && pendingOf(cutter).indexOf(newline) < 0)
    skipUnfinishedLine(cutter);
}

function pendingOf({ memory, pendingBytes }: Cutter): Buffer {
  return memory.subarray(0, pendingBytes);
}

/** Returns the end of the last line within `target` bytes, else of the first line after them; 0 without a newline. */
export function findLineEnd(bytes: Buffer, target: number): number {
  const before = bytes.lastIndexOf(newline, target - 1) + 1;
  return before > 0 ? before : bytes.indexOf(newline, target) + 1;
}

function takeBatch(cutter: Cutter, length: number): Batch {
  const bytes = cutter.memory.subarray(0, length);
  const batch = { bytes, offset: cutter.offset, firstLine: cutter.line, lines: countNewlines(bytes) };
  cutter.offset += length;
  cutter.line += batch.lines;
  setPending(cutter, length, cutter.pendingBytes - length);
  return batch;
}

/** Skips a whole line that is too long. */
function skipLine(cutter: Cutter, length: number): void {
  cutter.options.onLongLine(cutter.line);
  cutter.offset += length;
  cutter.line++;
  setPending(cutter, length, cutter.pendingBytes - length);
}

/** Skips the beginning of a line that is too long already; `addChunk` skips the rest. */
function skipUnfinishedLine(cutter: Cutter): void {
  cutter.options.onLongLine(cutter.line);
  cutter.offset += cutter.pendingBytes;
  cutter.isSkipping = true;
  cutter.pendingBytes = 0;
}

/** Moves the pending bytes from `from` on to new memory of at least `bytes` bytes, with room for a batch. */
function setPending(cutter: Cutter, from: number, bytes: number): void {
  const rest = cutter.memory.subarray(from, cutter.pendingBytes);
  cutter.memory = toBuffer(cutter.takeMemory(Math.max(bytes, cutter.options.targetBytes)));
  cutter.pendingBytes = rest.copy(cutter.memory);
}

function toBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

export interface GroupOptions {
  size: GroupSize;
  /** When nothing has come for so long, what has come makes a group; null waits for a whole group. */
  idleMs: number | null;
  /** Bytes of the whole input, once the first batch was read; 0 where it is not known. */
  bytesTotal: () => number;
}

/** Yields batches in groups of at most a size, or of one batch. */
export async function* groupsOf(
  batches: AsyncGenerator<Batch>,
  { size, idleMs, bytesTotal }: GroupOptions,
): AsyncGenerator<Batch[]> {
  let group: Batch[] = [];
  let [bytes, lines] = [0, 0];
  let bytesMax: number | undefined;
  for await (const batch of idleMs === null ? batches : markSilences(batches, idleMs)) {
    if (batch !== null) bytesMax ??= chooseGroupBytes(size, batch, bytesTotal());
    const isFull =
      batch === null ||
      bytes + batch.bytes.length > bytesMax! ||
      lines + batch.lines > size.linesMax ||
      group.length === piecesMax;
    if (isFull && group.length > 0) {
      yield group;
      group = [];
      [bytes, lines] = [0, 0];
    }
    if (batch === null) continue;
    group.push(batch);
    bytes += batch.bytes.length;
    lines += batch.lines;
  }
  if (group.length > 0) yield group;
}

/** Bytes of a group, so that all groups of an input become about as large as each other, where its first batch is typical. */
function chooseGroupBytes({ bytesMax, linesMax, atATime }: GroupSize, first: Batch, total: number): number {
  if (total === 0) return bytesMax;
  const usual = Math.min(bytesMax, (linesMax * first.bytes.length) / Math.max(1, first.lines));
  const rounds = Math.ceil(total / (usual * atATime));
  // Groups end with a batch, so that they are half a batch smaller.
  return Math.min(bytesMax, total / (rounds * atATime) + first.bytes.length / 2);
}

/** Yields what comes, and null whenever nothing has come for `idleMs`. */
async function* markSilences<T>(coming: AsyncIterable<T>, idleMs: number): AsyncGenerator<T | null> {
  const iterator = coming[Symbol.asyncIterator]();
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
