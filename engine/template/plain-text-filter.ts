/**
 * The filter of messages that are stored as plain text: which letter n-grams and which long tokens occur in the chunk,
 * and in which blocks of its rows. A search reads only the blocks that may contain its text.
 */
import { align8 } from "../files/column-payload.ts";
import { BlockMemory } from "../kernels/block-memory.ts";
import type { Kernels } from "../kernels/contract.ts";
import { type TextVector, textCount } from "../vector/text.ts";
import { findNgrams, mayContainNgrams, NgramFilterBuilder, NgramLength } from "./ngram-filter.ts";
import { findLongTokens, type LongToken, TokenFilter, TokenFilterBuilder } from "./token-filter.ts";
import { keptBytesMax } from "./tokenizer.ts";

/** Rows of a block of the n-gram filter; the last block may have fewer. Part of the format. */
export const ngramBlockRows = 4096;
/** Rows of a block of the token filter; the last block may have fewer. Part of the format. */
const tokenBlockRows = 1024;
/** Fewer bytes of messages are searched as fast as a filter is read. Chosen, not measured. */
const filteredBytesMin = 256 * 1024;

/** Bytes of one bitmap of n-grams, padded. */
const bitmapBytes = align8(NgramFilterBuilder.byteLength(NgramLength.messages));
const headBytes = bitmapBytes + 8;

/** What assembly/messages/plaintext.ts and variables.ts export; all parameters but `rows` are addresses. */
interface FilterKernels {
  makePlainTextFilter(rows: number, offsets: number, bytes: number): number;
  streamAt(stream: number): number;
  streamLength(stream: number): number;
}

/** Undefined where there are too few messages for a filter. */
export function buildPlainTextFilter(text: TextVector): Uint8Array | undefined {
  const { offsets } = text;
  if (offsets[textCount(text)]! - offsets[0]! < filteredBytesMin) return undefined;
  return BlockMemory.work(
    keptBytesMax,
    (memory) => buildFilterIn(memory, text),
    () => buildFilterPlainly(text),
  );
}

/** Throws where the memory has no room for the messages; see `isTrap`. */
function buildFilterIn(memory: BlockMemory, text: TextVector): Uint8Array {
  const kernels = memory.kernels<FilterKernels>();
  const [offsets, bytes] = [memory.placeVector(text.offsets), memory.placeVector(text.bytes)];
  const filter = kernels.makePlainTextFilter(textCount(text), offsets, bytes);
  return memory.uint8(kernels.streamAt(filter), kernels.streamLength(filter)).slice();
}

/** The same in TypeScript: where a memory is full, and as the reference that the kernel is tested against. */
export function buildFilterPlainly(text: TextVector): Uint8Array {
  const { offsets, bytes } = text;
  const rows = textCount(text);
  const blocks = rows <= ngramBlockRows ? 0 : Math.ceil(rows / ngramBlockRows);
  const head = new Uint8Array(headBytes + blocks * bitmapBytes);
  new DataView(head.buffer).setUint32(bitmapBytes, blocks, true);
  const all = new NgramFilterBuilder(NgramLength.messages);
  const tokens = new TokenFilterBuilder(tokenBlockRows);
  const own = new NgramFilterBuilder(NgramLength.messages);
  for (let from = 0; from < rows; from += ngramBlockRows) {
    const to = Math.min(rows, from + ngramBlockRows);
    for (let row = from; row < to; row++) {
      own.add(bytes, offsets[row]!, offsets[row + 1]!);
      tokens.add(bytes, offsets[row]!, offsets[row + 1]!);
    }
    if (blocks > 0) head.set(own.bits, headBytes + (from / ngramBlockRows) * bitmapBytes);
    all.addAll(own);
    own.clear();
  }
  head.set(all.bits, 0);
  return Buffer.concat([head, tokens.finish()]);
}

/** What a filter is probed for when a text is searched: the n-grams of the text and the pieces of its long tokens. */
export interface FilteredText {
  ngrams: readonly number[];
  pieces: LongToken;
}

/** Prepares the probes for the bytes of a text, also for a search that ignores case. */
export function toFilteredText(needle: Uint8Array): FilteredText {
  return { ngrams: findNgrams(needle, NgramLength.messages), pieces: findLongTokens(needle).flat() };
}

/** Rows [from, to). */
export interface RowRange {
  from: number;
  to: number;
}

/** Reads a filter that `buildPlainTextFilter` made. */
export class PlainTextFilter {
  /** N-grams of all messages. */
  readonly #ngrams: Uint8Array;
  readonly #ngramBlocks: readonly Uint8Array[];
  readonly #tokens: TokenFilter;

  /** @param bytes on the kernels' heap, at a multiple of eight bytes of their buffer */
  constructor(bytes: Uint8Array, kernels: Kernels<ArrayBufferLike>) {
    const { buffer, byteOffset } = bytes;
    const blocks = new DataView(buffer, byteOffset + bitmapBytes, 4).getUint32(0, true);
    this.#ngrams = bytes.subarray(0, bitmapBytes);
    this.#ngramBlocks = Array.from({ length: blocks }, (_, block) => {
      const from = headBytes + block * bitmapBytes;
      return bytes.subarray(from, from + bitmapBytes);
    });
    this.#tokens = new TokenFilter(bytes.subarray(headBytes + blocks * bitmapBytes), kernels);
  }

  /** Returns false where no message contains the text. */
  mayContain({ ngrams, pieces }: FilteredText): boolean {
    if (!mayContainNgrams(this.#ngrams, ngrams)) return false;
    return pieces.length === 0 || this.#tokens.mayContain(pieces);
  }

  /** The ranges of a chunk's rows that may contain the text, ascending; each begins at a multiple of eight. */
  findRanges(text: FilteredText, rows: number): RowRange[] {
    if (!this.mayContain(text)) return [];
    const { ngrams, pieces } = text;
    const blockRows = pieces.length === 0 ? ngramBlockRows : tokenBlockRows;
    const blocks =
      pieces.length === 0
        ? Array.from({ length: Math.ceil(rows / ngramBlockRows) }, (_, block) => block)
        : this.#tokens.findBlocks(pieces);
    const ranges: RowRange[] = [];
    for (const block of blocks) {
      const from = block * blockRows;
      const bits = this.#ngramBlocks[Math.floor(from / ngramBlockRows)];
      if (bits !== undefined && !mayContainNgrams(bits, ngrams)) continue;
      const last = ranges.at(-1);
      const to = Math.min(rows, from + blockRows);
      if (last?.to === from) last.to = to;
      else ranges.push({ from, to });
    }
    return ranges;
  }
}
