/**
 * Columns of long texts, which are compressed in blocks. The first block holds the offsets of the texts; each of the others
 * holds the texts of some thousand rows, and is decompressed when one of these rows is read. The first time it is
 * decompressed into a window that all columns of a thread share, so that a search takes no new memory. A block that is asked
 * for again and again stays in the column's own memory. Where a query read one block here and one there, the thread reads
 * ahead: it decompresses the column's other blocks into the column's memory when it has no task (`loadNextBlock`).
 */
import { Failure, isDamage } from "../failure.ts";
import { locateBuffers, type PayloadOutline, uint32Of } from "../files/column-payload.ts";
import type { ValueBlocks } from "../files/value-blocks.ts";
import type { ByteRange } from "../files/value-pages.ts";
import type { ColumnMemory } from "../kernels/heap.ts";
import { ngramBlockRows } from "../template/plain-text-filter.ts";
import type { TextVector } from "../vector/text.ts";
import type { Column } from "./column.ts";

/** Shorter payloads are compressed as a whole. */
const blockedBytesMin = 4 * 2 ** 20;
/** Blocks of texts but the last have at least so many bytes: shorter ones compress less well. */
const blockBytesMin = 2 * 2 ** 20;
/** Longer blocks are divided, also within a text. */
const blockBytesMax = 8 * 2 ** 20;

/**
 * Returns where each block but the first begins in a payload of encoding "text"; none where it is too short for blocks. Blocks
 * end at multiples of the rows of a block of the n-gram filter, so that a search that the filter sends to a block of rows
 * decompresses few others.
 */
export function findTextCuts(stored: Uint8Array): number[] {
  if (stored.byteLength < blockedBytesMin) return [];
  const outline = locateBuffers(stored, stored.byteLength);
  const view = new DataView(stored.buffer, stored.byteOffset, stored.byteLength);
  const { offsets, texts } = textRanges(outline);
  const start = texts.from;
  const cuts = [start];
  for (let row = ngramBlockRows; ; row += ngramBlockRows) {
    const isLast = row >= outline.rows;
    const end = start + view.getUint32(offsets.from + 4 * (isLast ? outline.rows : row), true);
    while (end - cuts.at(-1)! > blockBytesMax) cuts.push(cuts.at(-1)! + blockBytesMax);
    if (isLast) return cuts;
    if (end - cuts.at(-1)! >= blockBytesMin) cuts.push(end);
  }
}

/** Where the buffers of such a payload are that follow the validity bitmap. */
function textRanges({ ranges, hasValidity }: PayloadOutline): { offsets: ByteRange; texts: ByteRange } {
  const [offsets, texts] = hasValidity ? ranges.slice(1) : ranges;
  if (offsets === undefined || texts === undefined) throw new Failure("damage", "column: no texts");
  return { offsets, texts };
}

/**
 * Opens a payload of encoding "text". The block of a text is decompressed onto the heap when the text is first read. Throws
 * Failure "damage", here and when a text is read.
 */
export function openTextBlocks(blocks: ValueBlocks, heap: ColumnMemory): Column {
  const head = new Uint8Array(blocks.ranges[0]?.to ?? 0);
  blocks.readInto(head, 0);
  const outline = locateBuffers(head, blocks.byteLength);
  const { rows, ranges, hasValidity } = outline;
  const place = ({ from, to }: ByteRange) => heap.place(head.subarray(from, to));
  const valid = hasValidity ? place(ranges[0]!) : null;
  const located = textRanges(outline);
  const offsets = uint32Of(place(located.offsets));
  const textBytes = located.texts.to - located.texts.from;
  if (offsets[rows] !== textBytes)
    throw new Failure("damage", "column: texts are not as long as their offsets say");
  const vector: TextVector = { offsets, bytes: heap.unfilled(textBytes) };
  const texts = new TextBlocks(vector, blocks, located.texts.from, heap);
  return {
    kind: "text",
    rows,
    valid,
    get text() {
      return texts.of(0, rows);
    },
    textOf: (from, to) => texts.of(from, to),
  };
}

/** The blocks [first, end) of a column, and the texts with which they can be read in the window. */
interface WindowContent {
  texts: TextBlocks;
  first: number;
  end: number;
  vector: TextVector;
}

/** The blocks that were last decompressed into a window. */
let windowContent: WindowContent | undefined;

/**
 * How often a block is decompressed into the window before it goes to the column's memory. Writing new memory takes longer
 * than decompressing, so the number differs: of the searches that follow, each moves a third of the blocks.
 */
const windowReadsOf = (block: number): number => 1 + (block % 3);
/** In place of the number of reads, where a block is in the column's memory. */
const kept = 255;

/**
 * Columns of which a query read one block here and one there, oldest first. The next query is likely to read others, so the
 * thread loads them ahead of it.
 */
const toLoad = new Set<TextBlocks>();
/** Of more columns the one that has waited longest is left out: these take some 400 MB. */
const toLoadMax = 16;

/**
 * Decompresses a block that is likely to be asked for into the memory of its column. Returns whether there are more such
 * blocks. A thread calls it between its tasks.
 */
export function loadNextBlock(): boolean {
  const newest = [...toLoad].at(-1);
  if (newest !== undefined && !newest.loadNext()) toLoad.delete(newest);
  return toLoad.size > 0;
}

function loadLater(texts: TextBlocks): void {
  toLoad.delete(texts);
  toLoad.add(texts);
  const [oldest] = toLoad;
  if (toLoad.size > toLoadMax) toLoad.delete(oldest!);
}

/** Texts of which blocks are decompressed when they are needed. */
class TextBlocks {
  readonly #text: TextVector;
  readonly #blocks: ValueBlocks;
  /** Where in the payload the texts begin. */
  readonly #start: number;
  readonly #heap: ColumnMemory;
  /** How often each block was decompressed into the window, or `kept`. */
  readonly #windowReads: Uint8Array;
  /** Blocks that are not in the column's memory. */
  #missing: number;
  /** The block after those that were last read. */
  #next = 1;

  constructor(text: TextVector, blocks: ValueBlocks, start: number, heap: ColumnMemory) {
    this.#text = text;
    this.#blocks = blocks;
    this.#start = start;
    this.#heap = heap;
    this.#windowReads = new Uint8Array(blocks.ranges.length);
    // The first block has no texts.
    this.#missing = this.#windowReads.length - 1;
  }

  /** All texts; those of the rows [from, to) are in memory until texts of another block are asked for. */
  of(from: number, to: number): TextVector {
    if (this.#missing === 0) return this.#text;
    const { first, end } = this.#blocksOf(this.#text.offsets[from]!, this.#text.offsets[to]!);
    const reads = this.#windowReads.subarray(first, end);
    if (reads.every((count) => count === kept)) return this.#text;
    const shown = windowContent?.texts === this ? windowContent : undefined;
    if (shown !== undefined && shown.first <= first && end <= shown.end) return shown.vector;
    // A search of all texts begins with block 1.
    const isSingle = first > 1 && (this.#next < first || this.#next > end);
    this.#next = end;
    const areForWindow = reads.every((count, i) => count < windowReadsOf(first + i));
    const vector = areForWindow ? this.#show(first, end) : undefined;
    if (vector !== undefined && isSingle) loadLater(this);
    if (vector !== undefined) return vector;
    for (let block = first; block < end; block++) this.#keep(block);
    return this.#text;
  }

  /** Decompresses a block into the column's memory. Returns false where all are there, or the memory was evicted. */
  loadNext(): boolean {
    const isEvicted = this.#heap.byteLength === 0;
    if (isEvicted || this.#missing === 0) return false;
    try {
      this.#keep(this.#windowReads.findIndex((count, block) => block > 0 && count !== kept));
    } catch (error) {
      // Whoever asks for the block is told.
      if (isDamage(error)) return false;
      throw error;
    }
    return this.#missing > 0;
  }

  /** The blocks that have the bytes [from, to) of the texts. */
  #blocksOf(from: number, to: number): { first: number; end: number } {
    const { ranges } = this.#blocks;
    let first = 0;
    while (first < ranges.length && ranges[first]!.to - this.#start <= from) first++;
    let end = first;
    while (end < ranges.length && this.#beginOf(end) < to) end++;
    return { first, end };
  }

  /** Where the texts of a block begin. */
  #beginOf(block: number): number {
    return Math.max(this.#blocks.ranges[block]!.from - this.#start, 0);
  }

  /** Decompresses blocks into the window. Undefined where they do not fit. */
  #show(first: number, end: number): TextVector | undefined {
    const begin = this.#beginOf(first);
    const bytes = this.#heap.window(begin, this.#blocks.ranges[end - 1]!.to - this.#start - begin);
    if (bytes === undefined) return undefined;
    windowContent = undefined;
    this.#blocks.readInto(bytes.subarray(begin), this.#start + begin);
    for (let block = first; block < end; block++) this.#windowReads[block]!++;
    const vector = { offsets: this.#text.offsets, bytes };
    windowContent = { texts: this, first, end, vector };
    return vector;
  }

  #keep(block: number): void {
    if (this.#windowReads[block] === kept) return;
    const begin = this.#beginOf(block);
    const end = this.#blocks.ranges[block]!.to - this.#start;
    this.#blocks.readInto(this.#text.bytes.subarray(begin, end), this.#start + begin);
    this.#windowReads[block] = kept;
    this.#missing--;
  }
}
