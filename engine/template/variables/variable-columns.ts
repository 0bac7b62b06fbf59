/**
 * The variables of a chunk's messages as columns, one for each group. Groups differ in the characters of their values,
 * so a search reads only the groups that can contain its needle. The values of a group are stored as one text vector.
 */

import { align8, bytesOf, type Payload, uint32Of } from "../../files/column-payload.ts";
import type { Kernels } from "../../kernels/contract.ts";
import { makeTruncatedFailure, SlotKind } from "../../kernels/decoding.ts";
import type { Heap } from "../../kernels/heap.ts";
import type { TextVector } from "../../vector/text.ts";
import { NgramFilterBuilder, NgramLength } from "../ngram-filter.ts";
import { TokenFilter, TokenFilterBuilder } from "../token-filter.ts";
import {
  findRepeatedAttribute,
  type RepeatableAttribute,
  type RepeatableAttributes,
} from "./repeatable-attribute.ts";
import { CharClass, classesOf, encodeSlot, type SlotValues } from "./slot-encoding.ts";
import { ByteSink, TextSink } from "./slot-sink.ts";

/** Part of the format: the names are stored in chunk headers. */
export const variableGroups = ["digits", "hex", "word", "random"] as const;
const Group = { digits: 0, hex: 1, word: 2, random: 3 } as const;

/** For each group the length of the n-grams in its n-gram filter; undefined for groups without such a filter. */
export const ngramLengths: readonly (number | undefined)[] = [
  undefined,
  undefined,
  NgramLength.words,
  NgramLength.random,
];

/**
 * A bit that a slot's classes have beside the `CharClass` bits. It is set where the slot's letters are random; see
 * `randomShare`.
 */
const randomClass = 0x80;

/**
 * A bit that a slot's classes have beside the `CharClass` bits. It is set where the slot's values are those of lines
 * `Key: value`. Such a value needs no digit, and may have separators, but no line feed.
 */
export const lineValueClass = 0x40;

/** For each group the classes that its slots may have. */
export const groupClasses: readonly number[] = [
  CharClass.digit | CharClass.mark | lineValueClass,
  CharClass.digit | CharClass.mark | CharClass.lowerHex | lineValueClass,
  0xff,
  0xff,
];

/** The group of a slot with these character classes. */
export function groupOf(classes: number): number {
  if ((classes & ~groupClasses[Group.digits]!) === 0) return Group.digits;
  if ((classes & ~groupClasses[Group.hex]!) === 0) return Group.hex;
  return (classes & randomClass) === 0 ? Group.word : Group.random;
}

/** Writes the slots of one group, in order. */
class GroupWriter {
  readonly ngrams: NgramFilterBuilder | undefined;
  readonly #tokens = new TokenFilterBuilder();
  readonly #sinks = { data: new ByteSink(), texts: new TextSink() };
  readonly #keys: string[] = [];
  /** Attributes whose values slots have that are not among the texts. */
  readonly #repeated = new Set<RepeatableAttribute>();
  /** Sizes of the decoded group: the number of texts, their bytes, and the number of dictionary codes. */
  readonly #sizes = [0, 0, 0];
  slots = 0;

  constructor(group: number) {
    const width = ngramLengths[group];
    this.ngrams = width === undefined ? undefined : new NgramFilterBuilder(width);
  }

  /** `flags` is `lineValueClass` or 0. */
  add(
    values: SlotValues,
    { characters, flags }: { characters: number; flags: number },
    rows: Uint32Array,
    attributes: RepeatableAttributes,
  ): number {
    this.slots++;
    const repeated = findRepeatedAttribute(values, rows, attributes);
    if (repeated !== undefined) {
      let index = this.#keys.indexOf(repeated.key);
      if (index < 0) index = this.#keys.push(repeated.key) - 1;
      this.#sinks.data.push(index & 0xff);
      this.#sinks.data.push(index >> 8);
      if (flags !== 0) {
        this.#repeated.add(repeated);
        return SlotKind.repeated;
      }
      this.#addAllTexts(values);
      return SlotKind.attribute;
    }
    const { texts } = this.#sinks;
    const textsBefore = texts.lengths.length;
    const bytesBefore = texts.bytes.length;
    const kind = encodeSlot(values, characters, this.#sinks);
    if (kind === SlotKind.constant || kind === SlotKind.dictionary) {
      const codes = kind === SlotKind.dictionary ? values.count : 0;
      const distinct = texts.lengths.length - textsBefore;
      this.#addSizes(distinct, texts.bytes.length - bytesBefore, codes);
      this.#tokens.addAll(distinct, texts.bytes.finish(), bytesBefore, texts.bytes.length);
    } else this.#addAllTexts(values);
    return kind;
  }

  /**
   * Returns the n-gram filter, for groups that have one, padded to a multiple of eight bytes; after it the token
   * filter. In that, the values of attributes that slots repeat follow the texts.
   */
  buildFilter(): Uint8Array {
    for (const { values } of this.#repeated) {
      const { offsets, bytes } = values;
      for (let i = 0; i + 1 < offsets.length; i++) this.#tokens.add(bytes, offsets[i]!, offsets[i + 1]!);
    }
    const tokens = this.#tokens.finish();
    if (this.ngrams === undefined) return tokens;
    const { bits } = this.ngrams;
    const padding = new Uint8Array(align8(bits.byteLength) - bits.byteLength);
    return Buffer.concat([bits, padding, tokens]);
  }

  finish(): Omit<Payload, "encoding"> {
    const { data, texts } = this.#sinks;
    const buffers = [
      bytesOf(Uint32Array.from(this.#sizes)),
      data.finish(),
      texts.lengths.finish(),
      bytesOf(Uint32Array.from(texts.longLengths)),
      texts.bytes.finish(),
      Buffer.from(JSON.stringify(this.#keys)),
    ];
    return { width: 0, hasValidity: false, rows: this.slots, buffers };
  }

  /** Counts every value as a text of its own, and adds its tokens to the filter. */
  #addAllTexts(values: SlotValues): void {
    const { bytes, starts, ends, count } = values;
    this.#addSizes(count, sumTextBytes(values), 0);
    for (let i = 0; i < count; i++) this.#tokens.add(bytes, starts[i]!, ends[i]!);
  }

  #addSizes(...sizes: [values: number, bytes: number, codes: number]): void {
    for (const [i, size] of sizes.entries()) this.#sizes[i] = this.#sizes[i]! + size;
  }
}

function sumTextBytes({ starts, ends, count }: SlotValues): number {
  let bytes = 0;
  for (let i = 0; i < count; i++) bytes += ends[i]! - starts[i]!;
  return bytes;
}

/**
 * A slot's letters count as random if more than one in this many of its distinct trigrams occurs in no template of the
 * chunk.
 */
const randomShare = 4;

/** Writes each slot to the group that it belongs to. */
export class VariableWriter {
  readonly #groups = variableGroups.map((_, group) => new GroupWriter(group));
  readonly #slotNgrams = new NgramFilterBuilder(NgramLength.words);
  readonly #templateNgrams: NgramFilterBuilder;
  readonly #messageNgrams: NgramFilterBuilder;

  /**
   * @param templateNgrams trigrams of the templates, whose text people wrote
   * @param messageNgrams filter of all messages, to which the n-grams of the values are added
   */
  constructor(templateNgrams: NgramFilterBuilder, messageNgrams: NgramFilterBuilder) {
    this.#templateNgrams = templateNgrams;
    this.#messageNgrams = messageNgrams;
  }

  /**
   * Returns the slot's kind and classes for the table of slots.
   * @param flags `lineValueClass` or 0
   */
  add(
    values: SlotValues,
    flags: number,
    rows: Uint32Array,
    attributes: RepeatableAttributes,
  ): { kind: number; classes: number } {
    const { bytes, starts, ends, count } = values;
    let characters = 0;
    for (let i = 0; i < count; i++) characters |= classesOf(bytes, starts[i]!, ends[i]!);
    let classes = characters | flags;
    if (groupOf(classes) === Group.word) {
      this.#slotNgrams.clear();
      for (let i = 0; i < count; i++) {
        this.#slotNgrams.add(bytes, starts[i]!, ends[i]!);
        this.#messageNgrams.add(bytes, starts[i]!, ends[i]!);
      }
      if (this.#slotNgrams.countMissingFrom(this.#templateNgrams) * randomShare > this.#slotNgrams.count) {
        classes |= randomClass;
        const { ngrams } = this.#groups[Group.random]!;
        for (let i = 0; i < count; i++) ngrams!.add(bytes, starts[i]!, ends[i]!);
      } else this.#groups[Group.word]!.ngrams!.addAll(this.#slotNgrams);
    }
    const kind = this.#groups[groupOf(classes)]!.add(values, { characters, flags }, rows, attributes);
    return { kind, classes };
  }

  /** The payload and the filter of each group that has slots. */
  finish(): EncodedGroup[] {
    if (this.#groups[Group.hex]!.slots > 0) this.#messageNgrams.addHexNgrams();
    return this.#groups.flatMap((group, i) => {
      if (group.slots === 0) return [];
      return [{ name: variableGroups[i]!, payload: group.finish(), filter: group.buildFilter() }];
    });
  }
}

/** The variables of a chunk's messages. */
export interface EncodedVariables {
  /** The kind and the classes of each slot. */
  kinds: Uint8Array;
  classes: Uint8Array;
  groups: EncodedGroup[];
  /** N-gram filter of all messages. */
  filter: Uint8Array;
}

export interface EncodedGroup {
  name: (typeof variableGroups)[number];
  payload: Omit<Payload, "encoding">;
  filter: Uint8Array;
}

/**
 * Cached token filters, by the bytes that they read. Every search for a number probes all of them, and a filter caches
 * its last answer.
 */
const tokenFilters = new WeakMap<Uint8Array, TokenFilter>();

/** Offset of the token filter in a group's filter: it follows the n-gram filter. */
export function tokenFilterStart(group: number): number {
  return align8(ngramFilterBytes(group));
}

/** Bytes of the n-gram filter at the beginning of a group's filter; 0 where the group has none. */
export function ngramFilterBytes(group: number): number {
  const width = ngramLengths[group];
  return width === undefined ? 0 : NgramFilterBuilder.byteLength(width);
}

/** The token filter in a group's filter; undefined where an earlier build wrote the filter without one. */
export function readTokenFilter(
  filter: Uint8Array,
  group: number,
  kernels: Kernels<ArrayBufferLike>,
): TokenFilter | undefined {
  const cached = tokenFilters.get(filter);
  if (cached !== undefined) return cached;
  const from = tokenFilterStart(group);
  if (filter.byteLength <= from) return undefined;
  const tokens = new TokenFilter(filter.subarray(from), kernels);
  tokenFilters.set(filter, tokens);
  return tokens;
}

/**
 * A decoded group. A slot has a text for each of its template's rows in their order, or distinct texts with a code for
 * each row, or a single text.
 */
export interface VariableGroup {
  /** Keys of the attributes that slots repeat. */
  keys: readonly string[];
  text: TextVector;
  /** The index of the first text of each of the group's slots, then the number of all texts. */
  firstTexts: Uint32Array;
  /**
   * For each slot where its values are: the index in `codes` where its codes begin, or `textPerRow`, or `sharedText`; of a
   * `repeated` slot, which has no texts, the index of the attribute in `keys`.
   */
  valuePlaces: Uint32Array;
  codes: Uint8Array;
}

/** The slots of a group, by their index in it. */
export interface GroupSlots {
  kinds: Uint8Array;
  /** How many rows have a value in each. */
  rowCounts: Uint32Array;
  /** Those rows, ascending. */
  rowsOf: (slot: number) => Uint32Array;
}

/** Opens an attribute for reading: UTF-8 of its text in a row, empty where the row lacks it. */
export type ReadAttribute = (key: string) => (row: number) => Uint8Array;

/** Reads an attribute's texts in some rows onto a heap; empty where a row lacks it. */
export type ReadAttributeTexts = (key: string, rows: Uint32Array, heap: Heap) => TextVector;

/** The buffers of a group's payload. */
interface OpenedVariables {
  /** Number of texts, their bytes, and dictionary codes, as decoding produces them. */
  sizes: Uint32Array;
  streams: Record<"data" | "lengths" | "longLengths" | "text", Uint8Array>;
  /** Keys of the attributes that slots repeat. */
  keys: readonly string[];
}

/** Throws Failure "damage" where the payload does not fit its slots. */
export function openVariables(payload: Payload, slots: GroupSlots): OpenedVariables {
  const [sizes, data, lengths, longLengths, text, keys] = payload.buffers as (Uint8Array | undefined)[];
  if (
    sizes === undefined ||
    sizes.byteLength !== 12 ||
    keys === undefined ||
    slots.kinds.length !== payload.rows
  )
    throw makeTruncatedFailure();
  return {
    sizes: uint32Of(sizes),
    streams: { data: data!, lengths: lengths!, longLengths: longLengths!, text: text! },
    keys: JSON.parse(Buffer.from(keys).toString()) as string[],
  };
}

/** Decodes a group. Throws Failure "damage" where the payload does not fit its slots. */
export function decodeVariables(
  payload: Payload,
  slots: GroupSlots,
  heap: Heap,
  readTexts: ReadAttributeTexts,
): VariableGroup {
  const { sizes, streams, keys } = openVariables(payload, slots);
  const [texts, textBytes, codesLength] = sizes;
  const group = {
    keys,
    text: { offsets: heap.uint32(texts! + 1), bytes: heap.uint8(textBytes!) },
    firstTexts: heap.uint32(payload.rows + 1),
    valuePlaces: heap.uint32(payload.rows),
    codes: heap.uint8(codesLength!),
  };
  heap.withScratch((scratch) => {
    const placed = {
      data: scratch.place(streams.data),
      lengths: scratch.place(streams.lengths),
      longLengths: uint32Of(scratch.place(streams.longLengths)),
      text: scratch.place(streams.text),
    };
    const list = {
      kinds: scratch.place(slots.kinds),
      rowCounts: uint32Of(scratch.place(bytesOf(slots.rowCounts))),
    };
    heap.kernels.decodeSlots(placed, list, group, (slot, key, target) => {
      heap.withScratch((texts) => target.appendTexts(readTexts(keys[key] ?? "", slots.rowsOf(slot), texts)));
    });
  });
  return group;
}
