/**
 * Columns of long texts, whose bytes are compressed in blocks and decompressed when a row in them is read. The first block
 * has what says where each text lies; the others have the texts of some thousand rows each.
 */
import { Failure } from "../failure.ts";
import {
  locateBuffers,
  type PayloadOutline,
  payloadHeadBytes,
  readPayload,
  uint32Of,
} from "../files/column-payload.ts";
import type { ValueBlocks } from "../files/value-blocks.ts";
import type { Heap } from "../kernels/heap.ts";
import type { TextVector } from "../vector/text.ts";
import type { Column } from "./column.ts";

/** Shorter payloads are compressed as a whole. */
const blockedBytesMin = 4 * 2 ** 20;
/** A block ends with a row of this number or a multiple of it, as blocks of their n-gram filter do. */
const cutRows = 4096;
/** Blocks have at least so many bytes, but for the last: shorter ones compress less well. */
const blockBytesMin = 2 * 2 ** 20;
/** Longer blocks are cut anywhere. */
const blockBytesMax = 8 * 2 ** 20;

/** Where the blocks of a payload of encoding "text" begin; none where it is too short for blocks. */
export function findTextCuts(stored: Uint8Array): number[] {
  if (stored.byteLength < blockedBytesMin) return [];
  const outline = locateBuffers(stored, stored.byteLength);
  const offsets = uint32Of(readPayload(stored).buffers[outline.hasValidity ? 1 : 0]!);
  const start = textRange(outline).from;
  const cuts = [start];
  for (let row = cutRows; ; row += cutRows) {
    const isLast = row >= outline.rows;
    const end = start + offsets[isLast ? outline.rows : row]!;
    while (end - cuts.at(-1)! > blockBytesMax) cuts.push(cuts.at(-1)! + blockBytesMax);
    if (isLast) return cuts;
    if (end - cuts.at(-1)! >= blockBytesMin) cuts.push(end);
  }
}

function textRange({ ranges, hasValidity }: PayloadOutline): { from: number; to: number } {
  const range = ranges[hasValidity ? 2 : 1];
  if (range === undefined) throw new Failure("damage", "column: no texts");
  return range;
}

/**
 * Opens a payload of encoding "text": a text is decompressed, onto the heap, when it is read first. Throws Failure "damage",
 * then and now.
 */
export function openTextBlocks(blocks: ValueBlocks, heap: Heap): Column {
  const head = new Uint8Array(blocks.ranges[0]?.to ?? 0);
  blocks.readInto(head, 0);
  const outline = locateBuffers(head, blocks.byteLength);
  const { rows, ranges, hasValidity } = outline;
  const place = (i: number) => heap.place(head.subarray(ranges[i]!.from, ranges[i]!.to));
  const valid = hasValidity ? place(0) : null;
  const range = textRange(outline);
  const offsets = uint32Of(place(hasValidity ? 1 : 0));
  if (range.from < payloadHeadBytes(ranges.length) || offsets[rows] !== range.to - range.from)
    throw new Failure("damage", "column: texts are not as long as their offsets say");
  const vector: TextVector = { offsets, bytes: heap.unfilled(range.to - range.from) };
  const texts = new TextBlocks(vector, blocks, range.from);
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
