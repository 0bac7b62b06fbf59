/** Templates of many chunks, each once, found by the words of their static text: an inverted index. */
import { lastAtMost } from "../vector/binary-search.ts";
import { foldedByte } from "../vector/case-folding.ts";
import { type ByteSource, byteSource, TextTable } from "../vector/text-table.ts";
import { equalsAt, isLoneSlot } from "./text-search.ts";
import { byteClass, slotByte } from "./tokenizer.ts";

/** A run of a text's token characters; at the text's beginning and end the word that it stands for may be longer. */
interface Piece {
  from: number;
  to: number;
}

/** A template's text, in place, and the classes of its slots. */
interface TemplateText {
  bytes: Uint8Array;
  from: number;
  to: number;
  classes: Uint8Array;
}

/** Templates of the words that fit a piece of a text: a list each, and their lengths together. */
interface Holders {
  lists: number[][];
  count: number;
}

/** Pieces of a text that are looked up among the words. */
const piecesMax = 3;
const space = 0x20;
/** Bytes of a list of few numbers, as it grows, and of each number of a long one. */
export const listBytes = 200;
export const entryBytes = 8;

export class TemplateTable {
  /** Of each template the text and, behind it, the classes of its slots. */
  readonly #keys = new TextTable();
  readonly #slotCounts: number[] = [];
  /** Each between two spaces, so that one search tells whether a word holds, begins or ends with a text. */
  readonly #words = new TextTable();
  /** Of each word the templates that hold it, ascending. */
  readonly #holders: number[][] = [];
  #holdersCount = 0;
  #folded: { words: number; bytes: Buffer } = { words: 0, bytes: Buffer.alloc(0) };
  /** Templates of one slot, whose messages may be of any characters. */
  readonly lone: number[] = [];

  /** Templates. */
  get size(): number {
    return this.#slotCounts.length;
  }

  /** Bytes that it takes up, about. */
  get byteLength(): number {
    const texts = this.#keys.byteLength + this.#words.byteLength * 2;
    return texts + this.#holders.length * listBytes + (this.size + this.#holdersCount) * entryBytes;
  }

  /** The number of a template, from 0 on. Its key is source[from, to): its text, and behind it the classes of its slots. */
  add(source: ByteSource, from: number, to: number): number {
    const template = this.#keys.codeOf(source, from, to);
    if (template < this.size) return template;
    const { bytes } = source;
    let slots = 0;
    for (let at = from; at < to; at++) if (bytes[at] === slotByte) slots++;
    this.#slotCounts.push(slots);
    if (isLoneSlot(bytes, from, to - slots)) this.lone.push(template);
    for (const piece of piecesOf(bytes, from, to - slots)) this.#addWord(bytes, piece, template);
    return template;
  }

  /** A template's text, good until the next one is added. */
  textOf(template: number): TemplateText {
    const { bytes, offsets } = this.#keys.texts();
    const end = offsets[template + 1]!;
    const to = end - this.#slotCounts[template]!;
    return { bytes, from: offsets[template]!, to, classes: bytes.subarray(to, end) };
  }

  /** Templates whose text holds another, with slots in it or not; undefined where it has no word that tells. */
  holding(text: Uint8Array, ignoreCase: boolean): readonly number[] | undefined {
    const pieces = longestPieces(text);
    let fewest: Holders | undefined;
    for (const piece of pieces) {
      const holders = this.#holdersOf(text, piece, ignoreCase);
      if (fewest === undefined || holders.count < fewest.count) fewest = holders;
    }
    if (fewest === undefined) return undefined;
    const { lists } = fewest;
    const templates = lists.length === 1 ? lists[0]! : [...new Set(lists.flat())];
    if (pieces[0]!.to - pieces[0]!.from === text.length) return templates;
    return templates.filter((template) => {
      const { bytes, from, to } = this.textOf(template);
      return placeOf(bytes, from, to, text, ignoreCase) >= 0;
    });
  }

  /** Calls with the number of the first slot behind each place of a text in a template. */
  eachPlace(template: number, text: Uint8Array, ignoreCase: boolean, onPlace: (slot: number) => void): void {
    const { bytes, from, to } = this.textOf(template);
    let slot = 0;
    for (let at = from, next = from; ; next++) {
      next = placeOf(bytes, next, to, text, ignoreCase);
      if (next < 0) return;
      for (; at < next; at++) if (bytes[at] === slotByte) slot++;
      onPlace(slot);
    }
  }

  #addWord(bytes: Buffer, { from, to }: Piece, template: number): void {
    const word = spaced(bytes, from, to);
    const code = this.#words.codeOf(word, 0, to - from + 2);
    if (code === this.#holders.length) this.#holders.push([]);
    const holders = this.#holders[code]!;
    if (holders.at(-1) === template) return;
    holders.push(template);
    this.#holdersCount++;
  }

  /** Templates with a word that fits a piece of a text. */
  #holdersOf(text: Uint8Array, { from, to }: Piece, ignoreCase: boolean): Holders {
    const { offsets, bytes } = this.#words.texts();
    const words = ignoreCase
      ? this.#foldedWords(bytes)
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const { bytes: around } = spaced(text, from, to);
    // What begins or ends the text may be cut from a longer word.
    const wanted = around.subarray(from === 0 ? 1 : 0, to - from + (to === text.length ? 1 : 2));
    const lists: number[][] = [];
    let count = 0;
    for (let at = words.indexOf(wanted); at >= 0; ) {
      const word = lastAtMost(offsets, at);
      lists.push(this.#holders[word]!);
      count += this.#holders[word]!.length;
      at = words.indexOf(wanted, offsets[word + 1]!);
    }
    return { lists, count };
  }

  #foldedWords(bytes: Uint8Array): Buffer {
    if (this.#folded.words !== this.#words.size) {
      this.#folded = { words: this.#words.size, bytes: Buffer.from(bytes.map((byte) => foldedByte[byte]!)) };
    }
    return this.#folded.bytes;
  }
}

/** The static words of a text. */
function* piecesOf(bytes: Uint8Array, from: number, to: number): Generator<Piece> {
  let start = -1;
  for (let at = from; at <= to; at++) {
    const isWord = at < to && bytes[at] !== slotByte && byteClass[bytes[at]!] !== 0;
    if (isWord && start < 0) start = at;
    if (isWord || start < 0) continue;
    yield { from: start, to: at };
    start = -1;
  }
}

/** The longest first. */
function longestPieces(text: Uint8Array): Piece[] {
  const pieces = [...piecesOf(text, 0, text.length)];
  return pieces.sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, piecesMax);
}

let scratch = byteSource(new Uint8Array(1_024));

/** bytes[from, to) between two spaces; the bytes are overwritten by the next call. */
function spaced(bytes: Uint8Array, from: number, to: number): ByteSource {
  const length = to - from + 2;
  if (length > scratch.bytes.length) scratch = byteSource(new Uint8Array(length * 2));
  scratch.bytes[0] = space;
  for (let at = from; at < to; at++) scratch.bytes[at - from + 1] = bytes[at]!;
  scratch.bytes[length - 1] = space;
  return scratch;
}

/** The first place of a text in bytes[from, to), or -1. */
function placeOf(bytes: Uint8Array, from: number, to: number, text: Uint8Array, ignoreCase: boolean): number {
  for (let at = from; at + text.length <= to; at++) if (equalsAt(bytes, at, text, ignoreCase)) return at;
  return -1;
}
