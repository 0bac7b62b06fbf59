/**
 * Columns of long texts, which are compressed in blocks. The first block holds the offsets of the texts; each of the others
 * holds the texts of some thousand rows, and is decompressed when one of these rows is read.
 */
import { Failure } from "../failure.ts";
import { locateBuffers, type PayloadOutline, uint32Of } from "../files/column-payload.ts";
import type { ValueBlocks } from "../files/value-blocks.ts";
import type { ByteRange } from "../files/value-pages.ts";
import type { Heap } from "../kernels/heap.ts";
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
export function openTextBlocks(blocks: ValueBlocks, heap: Heap): Column {
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
  const texts = new TextBlocks(vector, blocks, located.texts.from);
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

/** Texts of which blocks are decompressed when they are needed. */
class TextBlocks {
  readonly #text: TextVector;
  readonly #blocks: ValueBlocks;
  /** Where in the payload the texts begin. */
  readonly #start: number;
  /** 1 for each block whose texts are in memory. */
  readonly #loaded: Uint8Array;
  #missing: number;

  constructor(text: TextVector, blocks: ValueBlocks, start: number) {
    this.#text = text;
    this.#blocks = blocks;
    this.#start = start;
    this.#loaded = new Uint8Array(blocks.ranges.length);
    this.#missing = this.#loaded.length;
  }

  /** All texts; those of the rows [from, to) are in memory. */
  of(from: number, to: number): TextVector {
    if (this.#missing > 0) this.#load(this.#text.offsets[from]!, this.#text.offsets[to]!);
    return this.#text;
  }

  #load(from: number, to: number): void {
    const { bytes } = this.#text;
    for (const [i, range] of this.#blocks.ranges.entries()) {
      const begin = Math.max(range.from - this.#start, 0);
      const end = range.to - this.#start;
      if (this.#loaded[i] === 1 || begin >= to || end <= from) continue;
      this.#blocks.readInto(bytes.subarray(begin, end), this.#start + begin);
      this.#loaded[i] = 1;
      this.#missing--;
    }
  }
}
