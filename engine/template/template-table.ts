/** The templates of many chunks, each once, with an inverted index over the words of their static text. */
import { findLastAtMost } from "../vector/binary-search.ts";
import { foldedByte } from "../vector/case-folding.ts";
import { indexOfText } from "../vector/equal-text.ts";
import { type ByteSource, TextTable, toByteSource } from "../vector/text-table.ts";
import { byteClass, isSingleVariable, slotByte } from "./tokenizer.ts";
import { lineValueClass } from "./variables/variable-columns.ts";

/**
 * A sequence of token characters in a text. At the beginning and at the end of a needle, it may be cut from a longer
 * word.
 */
interface WordPart {
  from: number;
  to: number;
}

/** A template's text, a range of `bytes`, and the character classes of its slots. */
interface TemplateText {
  bytes: Uint8Array;
  from: number;
  to: number;
  classes: Uint8Array;
}

/** Postings of all words that match part of a needle: a list of templates a word, and the sum of the lists' lengths. */
interface Postings {
  lists: number[][];
  count: number;
}

/** Parts of a needle that are looked up in the index. */
const partsMax = 3;
const space = 0x20;
/** Estimated memory of a posting list: of a short array as it grows. */
const postingListBytes = 200;
/** Estimated memory of each posting in a long list. */
const postingBytes = 8;

/** Templates are numbered from 0 in the order in which they were added. */
export class TemplateTable {
  /** Each template's text and, after it, the character classes of its slots. */
  readonly #templates = new TextTable();
  readonly #slotCounts: number[] = [];
  /**
   * The index's words, each between two spaces, so that one search finds whether a word contains, begins with or ends
   * with a text.
   */
  readonly #words = new TextTable();
  /**
   * The posting list of each word: the numbers of the templates that contain it, ascending. Most words are in one template
   * only; its number then stands in place of a list.
   */
  readonly #postings: (number | number[])[] = [];
  #listCount = 0;
  #postingCount = 0;
  /** The words in lower case, for searches that ignore case; made again when there are more words. */
  #foldedWordsCache: { words: number; bytes: Buffer } = { words: 0, bytes: Buffer.alloc(0) };
  /**
   * Templates with variables that may have separators: those that are a single variable, whose value is a whole message,
   * and those with lines `Key: value`.
   */
  readonly separatorTemplates: number[] = [];

  /** How many templates there are. */
  get size(): number {
    return this.#slotCounts.length;
  }

  /** About how many bytes the table takes. */
  get byteLength(): number {
    const texts = this.#templates.byteLength + this.#words.byteLength * 2;
    return texts + this.#listCount * postingListBytes + (this.size + this.#postingCount) * postingBytes;
  }

  /**
   * The number of a template; a template that the table lacks is added. Its key is source[from, to): its text and,
   * after it, the classes of its slots.
   */
  add(source: ByteSource, from: number, to: number): number {
    const template = this.#templates.intern(source, from, to);
    if (template < this.size) return template;
    const { bytes } = source;
    let slots = 0;
    // The text ends where as many bytes are left as it has slots; these are classes, of which any byte may be one.
    for (let at = from; at < to - slots; at++) if (bytes[at] === slotByte) slots++;
    this.#slotCounts.push(slots);
    const classes = bytes.subarray(to - slots, to);
    const hasLineValues = classes.some((slot) => (slot & lineValueClass) !== 0);
    if (hasLineValues || isSingleVariable(bytes, from, to - slots)) this.separatorTemplates.push(template);
    forEachStaticWord(bytes, from, to - slots, (start, end) => this.#addWord(bytes, start, end, template));
    return template;
  }

  /** The text of a template, valid until the next one is added. */
  textOf(template: number): TemplateText {
    const { bytes, offsets } = this.#templates.texts();
    const end = offsets[template + 1]!;
    const to = end - this.#slotCounts[template]!;
    return { bytes, from: offsets[template]!, to, classes: bytes.subarray(to, end) };
  }

  /**
   * The templates whose text contains a text, which may have slots in it. Undefined where the text has no static word
   * to look up.
   */
  findContaining(text: Uint8Array, ignoreCase: boolean): readonly number[] | undefined {
    const parts = findLongestParts(text);
    let fewest: Postings | undefined;
    for (const part of parts) {
      const postings = this.#findPostings(text, part, ignoreCase);
      if (fewest === undefined || postings.count < fewest.count) fewest = postings;
    }
    if (fewest === undefined) return undefined;
    const { lists } = fewest;
    const templates = lists.length === 1 ? lists[0]! : [...new Set(lists.flat())];
    if (parts[0]!.to - parts[0]!.from === text.length) return templates;
    return templates.filter((template) => {
      const { bytes, from, to } = this.textOf(template);
      return indexOfText(bytes, from, to, text, ignoreCase) >= 0;
    });
  }

  /**
   * Finds each occurrence of a text in a template, and calls `onOccurrence` with the number of the first slot at or
   * after its beginning.
   */
  forEachOccurrence(
    template: number,
    text: Uint8Array,
    ignoreCase: boolean,
    onOccurrence: (slot: number) => void,
  ): void {
    const { bytes, from, to } = this.textOf(template);
    let slot = 0;
    for (let at = from, next = from; ; next++) {
      next = indexOfText(bytes, next, to, text, ignoreCase);
      if (next < 0) return;
      for (; at < next; at++) if (bytes[at] === slotByte) slot++;
      onOccurrence(slot);
    }
  }

  /** Adds a template to the postings of a word. */
  #addWord(bytes: Buffer, from: number, to: number, template: number): void {
    const word = padWithSpaces(bytes, from, to);
    const code = this.#words.intern(word, 0, to - from + 2);
    const postings = this.#postings[code];
    if (postings === undefined) this.#postings.push(template);
    else if (typeof postings === "number") {
      if (postings === template) return;
      this.#postings[code] = [postings, template];
      this.#listCount++;
    } else {
      if (postings.at(-1) === template) return;
      postings.push(template);
    }
    this.#postingCount++;
  }

  /** The postings of all words that match part of a needle. */
  #findPostings(text: Uint8Array, { from, to }: WordPart, ignoreCase: boolean): Postings {
    const { offsets, bytes } = this.#words.texts();
    const words = ignoreCase
      ? this.#foldedWords(bytes)
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const { bytes: padded } = padWithSpaces(text, from, to);
    // At the needle's beginning and end the word may be longer, so the space on that side is left out.
    const wanted = padded.subarray(from === 0 ? 1 : 0, to - from + (to === text.length ? 1 : 2));
    const lists: number[][] = [];
    let count = 0;
    for (let at = words.indexOf(wanted); at >= 0; ) {
      const word = findLastAtMost(offsets, at);
      const postings = this.#postings[word]!;
      const list = typeof postings === "number" ? [postings] : postings;
      lists.push(list);
      count += list.length;
      at = words.indexOf(wanted, offsets[word + 1]!);
    }
    return { lists, count };
  }

  #foldedWords(bytes: Uint8Array): Buffer {
    if (this.#foldedWordsCache.words !== this.#words.size) {
      this.#foldedWordsCache = {
        words: this.#words.size,
        bytes: Buffer.from(bytes.map((byte) => foldedByte[byte]!)),
      };
    }
    return this.#foldedWordsCache.bytes;
  }
}

/** 1 for each byte of words outside of slots. */
const isWordByte = Uint8Array.from(byteClass, (kind, byte) => (kind !== 0 && byte !== slotByte ? 1 : 0));

/** Calls back for each word of a text outside of its slots. */
function forEachStaticWord(
  bytes: Uint8Array,
  from: number,
  to: number,
  onWord: (from: number, to: number) => void,
): void {
  for (let at = from; at < to; at++) {
    if (isWordByte[bytes[at]!] === 0) continue;
    const start = at;
    while (at < to && isWordByte[bytes[at]!] === 1) at++;
    onWord(start, at);
  }
}

/** The longest static words of a needle, the longest first. */
function findLongestParts(text: Uint8Array): WordPart[] {
  const parts: WordPart[] = [];
  forEachStaticWord(text, 0, text.length, (from, to) => parts.push({ from, to }));
  return parts.sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, partsMax);
}

let scratch = toByteSource(new Uint8Array(1_024));

/** bytes[from, to) between two spaces. The bytes are overwritten by the next call. */
function padWithSpaces(bytes: Uint8Array, from: number, to: number): ByteSource {
  const length = to - from + 2;
  if (length > scratch.bytes.length) scratch = toByteSource(new Uint8Array(length * 2));
  scratch.bytes[0] = space;
  for (let at = from; at < to; at++) scratch.bytes[at - from + 1] = bytes[at]!;
  scratch.bytes[length - 1] = space;
  return scratch;
}
