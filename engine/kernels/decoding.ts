/** What kernels decode: numbers out of byte streams, the order of messages by template, and variables of messages. */
import { Failure } from "../failure.ts";
import type { AnyBuffer, CodeVector, Text } from "./vectors.ts";

/** How differences between neighbours become numbers again. */
interface DeltaScale {
  /** The first number. */
  first: number;
  /** Added for each further row. */
  step: number;
  /** What the differences are counted in. */
  unit: number;
}

/** The streams of a group of variables; FORMAT.md describes them. */
export interface SlotStreams<B extends AnyBuffer> {
  data: Uint8Array<B>;
  lengths: Uint8Array<B>;
  longLengths: Uint32Array<B>;
  text: Uint8Array<B>;
}

/** The slots of a group: the kind of each, and the number of its rows. */
export interface SlotList<B extends AnyBuffer> {
  kinds: Uint8Array<B>;
  rowCounts: Uint32Array<B>;
}

/** The decoded texts of a group of variables. */
export interface SlotTexts<B extends AnyBuffer> {
  /** Text i is bytes[offsets[i], offsets[i + 1]). */
  text: Text<B>;
  /** The index of the first text of each slot, then the number of all texts. */
  firstTexts: Uint32Array<B>;
  /**
   * For each slot where its values are: the index in `codes` where its codes begin, or `textPerRow`, or `sharedText`; of a
   * `repeated` slot, which has no texts, the index of the attribute among the group's keys.
   */
  valuePlaces: Uint32Array<B>;
  codes: Uint8Array<B>;
}

/** In the stream of lengths, this byte means that the length is in the list of long lengths. */
export const longLength = 255;

/** In `valuePlaces`: each row has a text of its own. */
export const textPerRow = 0xffffffff;
/** In `valuePlaces`: all rows have one text. */
export const sharedText = 0xfffffffe;

/** Part of the format: each slot stores one of these numbers. */
export const SlotKind = {
  /** Every row has the same value. */
  constant: 1,
  /** Few distinct values, with a code for each row. */
  dictionary: 2,
  /** Values of the same length that differ only in their digits. The digits of each value are stored as one number. */
  digits: 3,
  /** Decimal integers without leading zeros. */
  integer: 4,
  /** Lower-case hexadecimal numbers, all of the same even length. */
  hex: 5,
  text: 6,
  /** Each value equals that of an attribute in the same row, and is not stored again. */
  attribute: 7,
  /** The same, for values that are read from the attribute's column and are not among the group's texts. */
  repeated: 8,
} as const;

/** Appends the texts of a slot that repeats the attribute with this index among the group's keys. */
export type AppendAttribute = (slot: number, key: number, target: TextTarget) => void;

/** Part of `Kernels`. Streams of numbers may lie anywhere; all other vectors lie in the kernels' memory. */
export interface DecodingKernels<B extends AnyBuffer> {
  /** values[row] := base + the number that `width` (0 to 7) streams hold for the row */
  joinIntegers(streams: Uint8Array, width: number, base: number, values: Float64Array<B>): void;
  /** The same for differences in zigzag encoding: each value is made of the one before. */
  joinDeltas(streams: Uint8Array, width: number, scale: DeltaScale, values: Float64Array<B>): void;
  /** codes[row] := the number that the streams hold for the row; there are as many as a code has bytes. */
  joinCodes(streams: Uint8Array, codes: CodeVector<B>): void;
  /**
   * Counts the rows of each template. `starts` has an entry for each template and one more, all 0, and gets the number of
   * rows of all templates before.
   * @returns false where a row's template is missing
   */
  countTemplateRows(codes: CodeVector<B>, starts: Uint32Array<B>): boolean;
  /**
   * Sorts rows by template, in their order. `starts` is that of `countTemplateRows`: the index in `ordered` of each
   * template's first row. `ranks` gets each row's index among those of its template.
   */
  orderRows(
    codes: CodeVector<B>,
    starts: Uint32Array<B>,
    ordered: Uint32Array<B>,
    ranks: Uint32Array<B>,
  ): void;
  /**
   * Finds the slots in the texts of templates. `firstSlots` gets the first slot of each template, and the number of all;
   * `places` the position of each slot in `bytes`, of as many as fit.
   * @returns the number of slots
   */
  findSlots(templates: Text<B>, firstSlots: Uint32Array<B>, places: Uint32Array<B>): number;
  /**
   * Lists the slots of each group, ascending. `groupOfClasses` has the group of each combination of character classes.
   * `starts` has an entry for each group and one more, all 0, and gets the index in `slots` of each group's first slot;
   * `indexes` gets each slot's index among those of its group.
   */
  listGroupSlots(
    classes: Uint8Array<B>,
    groupOfClasses: Uint8Array,
    starts: Uint32Array<B>,
    indexes: Uint32Array<B>,
    slots: Uint32Array<B>,
  ): void;
  /**
   * Decodes the variables of a group into texts. Throws Failure "damage" where the streams are cut short or hold more
   * than there is room for, and what `appendAttribute` throws.
   */
  decodeSlots(
    streams: SlotStreams<B>,
    slots: SlotList<B>,
    texts: SlotTexts<B>,
    appendAttribute: AppendAttribute,
  ): void;
}

/** Texts that are written one after the other. Text i ends at offsets[i + 1]. */
export class TextTarget {
  readonly offsets: Uint32Array;
  readonly bytes: Uint8Array;
  count: number;
  byteLength: number;

  /** @param count how many texts of how many bytes, together, are there */
  constructor({ offsets, bytes }: Text<AnyBuffer>, count = 0, byteLength = 0) {
    this.offsets = offsets;
    this.bytes = bytes;
    this.count = count;
    this.byteLength = byteLength;
  }

  /** Ends the next text at byte `at`. Throws Failure "damage" where there is no room for it. */
  endText(at: number): void {
    if (this.count + 1 >= this.offsets.length || at > this.bytes.byteLength) throw makeTruncatedFailure();
    this.offsets[++this.count] = at;
  }

  append(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.byteLength);
    this.byteLength += bytes.byteLength;
  }

  /** Appends texts whose offsets begin with 0. Throws Failure "damage" where there is no room for them. */
  appendTexts({ offsets, bytes }: Text<AnyBuffer>): void {
    const start = this.byteLength;
    for (let i = 1; i < offsets.length; i++) this.endText(start + offsets[i]!);
    this.append(bytes);
  }
}

export function makeTruncatedFailure(): Failure {
  return new Failure("damage", "message: variables cut short");
}
