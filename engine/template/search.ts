/** Which rows of a message column hold a text: decided on templates, then on variables, without rebuilding a row. */
import { foldedByte } from "../fold.ts";
import type { TextVector } from "../text.ts";
import { type Alignment, alignNeedle, type Condition, type Lie } from "./alignment.ts";
import type { MessageColumn } from "./messages.ts";
import { CharClass, classesOf } from "./slot.ts";
import { byteClass } from "./split.ts";

/** Tests rows of one column for one text. */
export class MessageSearch {
  readonly #column: MessageColumn;
  readonly #needle: Buffer;
  readonly #ignoreCase: boolean;
  /** Classes of the needle's characters that a slot must have to hold it. */
  readonly #classes: number;
  readonly #isWord: boolean;
  /** 1 for each template whose static text holds the needle. */
  readonly #inStatic: Uint8Array;
  /** Places among the cold variables of those that hold the needle, ascending. */
  #coldHits: Uint32Array | undefined;
  readonly #lies: (Lie | undefined)[];
  readonly #matches: (Uint8Array | undefined)[];

  /** `needle`: UTF-8, not empty; in lower case and ASCII where case is ignored. */
  constructor(column: MessageColumn, needle: Buffer, ignoreCase: boolean) {
    this.#column = column;
    this.#needle = needle;
    this.#ignoreCase = ignoreCase;
    this.#classes = neededClasses(needle, ignoreCase);
    this.#isWord = needle.every((byte) => byteClass[byte] !== 0);
    this.#inStatic = new Uint8Array(column.templateCount);
    for (const code of holders(column.templates, needle, ignoreCase)) this.#inStatic[code] = 1;
    this.#lies = new Array(column.templateCount);
    this.#matches = new Array(column.templateCount);
  }

  holds(row: number): boolean {
    const code = this.#column.codes[row]!;
    const lie = this.lie(code);
    if (lie === "all") return true;
    if (lie.length === 0) return false;
    return this.matches(code, lie)[this.#column.order.rankOf[row]!] === 1;
  }

  /** Rows that hold the text, in the whole column. */
  count(): number {
    let count = 0;
    for (let code = 0; code < this.#column.templateCount; code++) {
      const lie = this.lie(code);
      if (lie === "all") count += this.#column.rowCounts[code]!;
      else if (lie.length > 0) for (const match of this.matches(code, lie)) count += match;
    }
    return count;
  }

  /** What is known of a template's rows before its variables are read. */
  private lie(code: number): Lie {
    let lie = this.#lies[code];
    if (lie === undefined) {
      lie = this.#inStatic[code] === 1 ? "all" : this.#alignments(code);
      this.#lies[code] = lie;
    }
    return lie;
  }

  #alignments(code: number): Alignment[] {
    const alignments: Alignment[] = [];
    if (this.#isWord) {
      // Without a separator in it the needle lies within one variable.
      const slots = this.#column.slotCounts[code]!;
      for (let slot = 0; slot < slots; slot++) {
        const condition: Condition = { slot, how: "contains", text: this.#needle };
        if (this.#mayHold(code, condition)) alignments.push([condition]);
      }
      return alignments;
    }
    const { offsets, bytes } = this.#column.templates;
    const text = bytes.subarray(offsets[code], offsets[code + 1]);
    const lie = alignNeedle(this.#ignoreCase ? text.map((byte) => foldedByte[byte]!) : text, this.#needle);
    if (lie === "all") throw new Error("a template that holds the needle was not found to do so");
    return lie.filter((alignment) => alignment.every((condition) => this.#mayHold(code, condition)));
  }

  /** Whether a slot's stamp leaves a condition possible. */
  #mayHold(code: number, { slot, how, text }: Condition): boolean {
    const hot = this.#column.hotBase[code]!;
    if (hot < 0) return how !== "contains" || this.#coldRange(code).length > 0;
    const { classes, lengthMin, lengthMax } = this.#column.slots;
    const at = hot + slot;
    if (text.length > lengthMax[at]! || (how === "equals" && text.length < lengthMin[at]!)) return false;
    const needed = how === "contains" ? this.#classes : neededClasses(text, this.#ignoreCase);
    return (needed & ~classes[at]!) === 0;
  }

  /** 1 for each of a template's rows, by rank, for which an alignment holds. */
  private matches(code: number, alignments: readonly Alignment[]): Uint8Array {
    let matches = this.#matches[code];
    if (matches === undefined) {
      matches = new Uint8Array(this.#column.rowCounts[code]!);
      for (const alignment of alignments) this.#mark(code, alignment, matches);
      this.#matches[code] = matches;
    }
    return matches;
  }

  #mark(code: number, alignment: Alignment, matches: Uint8Array): void {
    const rows = matches.length;
    let ranks: Uint8Array | undefined;
    for (const condition of alignment) {
      const holds = this.#ranksHolding(code, condition, rows);
      if (ranks === undefined) ranks = holds;
      else for (let rank = 0; rank < rows; rank++) ranks[rank] = ranks[rank]! & holds[rank]!;
    }
    for (let rank = 0; rank < rows; rank++) matches[rank] = matches[rank]! | ranks![rank]!;
  }

  #ranksHolding(code: number, condition: Condition, rows: number): Uint8Array {
    const column = this.#column;
    const hot = column.hotBase[code]!;
    const ranks = new Uint8Array(rows);
    if (hot >= 0) {
      const text = column.slotText(hot + condition.slot, rows);
      if (condition.how === "contains" && !this.#ignoreCase) markContaining(text, this.#needle, ranks);
      else for (let rank = 0; rank < rows; rank++) ranks[rank] = this.#test(text, rank, condition);
      return ranks;
    }
    const slots = column.slotCounts[code]!;
    const base = column.coldBase[code]! + condition.slot;
    if (condition.how === "contains") {
      for (const hit of this.#coldRange(code))
        if ((hit - base) % slots === 0) ranks[(hit - base) / slots] = 1;
      return ranks;
    }
    for (let rank = 0; rank < rows; rank++)
      ranks[rank] = this.#test(column.cold, base + rank * slots, condition);
    return ranks;
  }

  /** Cold variables of a template that hold the needle. */
  #coldRange(code: number): Uint32Array {
    const column = this.#column;
    this.#coldHits ??= Uint32Array.from(holders(column.cold, this.#needle, this.#ignoreCase));
    const from = column.coldBase[code]!;
    const first = lowerPlace(this.#coldHits, from);
    return this.#coldHits.subarray(
      first,
      lowerPlace(this.#coldHits, from + column.slotCounts[code]! * column.rowCounts[code]!),
    );
  }

  #test({ offsets, bytes }: TextVector, at: number, { how, text }: Condition): number {
    const from = offsets[at]!;
    const to = offsets[at + 1]!;
    const length = text.length;
    if (to - from < length || (how === "equals" && to - from !== length)) return 0;
    const first = how === "ends" ? to - length : from;
    const last = how === "contains" ? to - length : first;
    for (let start = first; start <= last; start++) if (this.#standsAt(bytes, start, text)) return 1;
    return 0;
  }

  #standsAt(bytes: Uint8Array, start: number, text: Uint8Array): boolean {
    if (this.#ignoreCase) {
      for (let i = 0; i < text.length; i++) if (foldedByte[bytes[start + i]!] !== text[i]) return false;
    } else {
      for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text[i]) return false;
    }
    return true;
  }
}

/** Where case is ignored, letters of a needle stand for both cases; only digits are sure. */
function neededClasses(text: Uint8Array, ignoreCase: boolean): number {
  return classesOf(text, 0, text.length) & (ignoreCase ? CharClass.digit : 0xff);
}

function markContaining(text: TextVector, needle: Buffer, ranks: Uint8Array): void {
  for (const rank of holders(text, needle, false)) ranks[rank] = 1;
}

/** Places of the values that hold the needle: one search over all bytes; a hit that straddles two values is none. */
function holders({ offsets, bytes }: TextVector, needle: Buffer, ignoreCase: boolean): number[] {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const haystack = ignoreCase ? Buffer.from(whole.map((byte) => foldedByte[byte]!)) : whole;
  const places: number[] = [];
  let place = 0;
  for (let at = haystack.indexOf(needle); at >= 0; ) {
    while (offsets[place + 1]! <= at) place++;
    const isWhole = at + needle.length <= offsets[place + 1]!;
    if (isWhole) places.push(place);
    at = haystack.indexOf(needle, isWhole ? offsets[place + 1]! : at + 1);
  }
  return places;
}

/** First place in ascending numbers at which one is at least `least`. */
function lowerPlace(numbers: Uint32Array, least: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
