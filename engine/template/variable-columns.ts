/**
 * Variables of a chunk's messages, in groups by the characters that they hold: a needle is looked for only in groups that can hold
 * it, each of them one text.
 */

import { align8, bytesOf, type Payload, uint32Of } from "../files/payload.ts";
import type { Kernels } from "../kernels/contract.ts";
import type { Heap } from "../kernels/heap.ts";
import type { TextVector } from "../vector/text.ts";
import { NgramFilterBuilder, RunWidth } from "./ngram-filter.ts";
import { CharClass, classesOf, encodeSlot, SlotKind, type SlotValues } from "./slot-encoding.ts";
import { ByteSink, TextSink } from "./slot-sink.ts";
import { cutShort, decodeDigits, decodeHex, decodeInteger, SlotSource, TextTarget } from "./slot-source.ts";
import { TokenFilter, TokenFilterBuilder } from "./token-filter.ts";

/** Part of the format: the names stand in chunk headers. */
export const variableGroups = ["digits", "hex", "word", "random"] as const;
const Group = { digits: 0, hex: 1, word: 2, random: 3 } as const;

/** Letters of the runs that each group's filter begins with. */
export const letterWidths: readonly (number | undefined)[] = [
  undefined,
  undefined,
  RunWidth.words,
  RunWidth.random,
];

/** Stands among a slot's classes where its letters are random. */
const randomClass = 0x80;

/** Classes of characters that values of each group may have. */
export const groupClasses: readonly number[] = [
  CharClass.digit | CharClass.mark,
  CharClass.digit | CharClass.mark | CharClass.lowerHex,
  0xff,
  0xff,
];

export function groupOf(classes: number): number {
  if ((classes & ~groupClasses[Group.digits]!) === 0) return Group.digits;
  if ((classes & ~groupClasses[Group.hex]!) === 0) return Group.hex;
  return (classes & randomClass) === 0 ? Group.word : Group.random;
}

/** An attribute that a slot may repeat: its values, and the code of each row's, -1 where the row lacks it. */
export interface Repeatable {
  key: string;
  values: TextVector;
  codes: Int32Array;
}

/** Writes the slots of one group, in order. */
class GroupWriter {
  readonly letters: NgramFilterBuilder | undefined;
  readonly #longRuns = new TokenFilterBuilder();
  readonly #sinks = { data: new ByteSink(), texts: new TextSink() };
  readonly #keys: string[] = [];
  /** Texts, their bytes, and codes of dictionaries, as decoding makes them. */
  readonly #sizes = [0, 0, 0];
  slots = 0;

  constructor(group: number) {
    const width = letterWidths[group];
    this.letters = width === undefined ? undefined : new NgramFilterBuilder(width);
  }

  add(values: SlotValues, classes: number, rows: Uint32Array, repeatables: readonly Repeatable[]): number {
    this.slots++;
    const repeated = values.count < repeatedMin ? undefined : findRepeated(values, rows, repeatables);
    if (repeated !== undefined) {
      let index = this.#keys.indexOf(repeated.key);
      if (index < 0) index = this.#keys.push(repeated.key) - 1;
      this.#sinks.data.push(index & 0xff);
      this.#sinks.data.push(index >> 8);
      this.#addEach(values);
      return SlotKind.attribute;
    }
    const { texts } = this.#sinks;
    const textsBefore = texts.lengths.length;
    const bytesBefore = texts.bytes.length;
    const kind = encodeSlot(values, classes, this.#sinks);
    if (kind === SlotKind.constant || kind === SlotKind.dictionary) {
      const codes = kind === SlotKind.dictionary ? values.count : 0;
      const distinct = texts.lengths.length - textsBefore;
      this.#count(distinct, texts.bytes.length - bytesBefore, codes);
      this.#longRuns.addAll(distinct, texts.bytes.finish(), bytesBefore, texts.bytes.length);
    } else this.#addEach(values);
    return kind;
  }

  /** Bits of the runs of letters, of groups that have them, padded to eight bytes; behind them the filters of long runs. */
  filter(): Uint8Array {
    const longRuns = this.#longRuns.finish();
    if (this.letters === undefined) return longRuns;
    const { bits } = this.letters;
    const padding = new Uint8Array(align8(bits.byteLength) - bits.byteLength);
    return Buffer.concat([bits, padding, longRuns]);
  }

  finish(): Omit<Payload, "encoding"> {
    const { data, texts } = this.#sinks;
    const buffers = [
      bytesOf(Uint32Array.from(this.#sizes)),
      data.finish(),
      texts.lengths.finish(),
      bytesOf(Uint32Array.from(texts.longs)),
      texts.bytes.finish(),
      Buffer.from(JSON.stringify(this.#keys)),
    ];
    return { width: 0, hasValidity: false, rows: this.slots, buffers };
  }

  #addEach(values: SlotValues): void {
    const { bytes, starts, ends, count } = values;
    this.#count(count, textBytes(values), 0);
    for (let i = 0; i < count; i++) this.#longRuns.add(bytes, starts[i]!, ends[i]!);
  }

  #count(...sizes: [values: number, bytes: number, codes: number]): void {
    for (const [i, size] of sizes.entries()) this.#sizes[i] = this.#sizes[i]! + size;
  }
}

function textBytes({ starts, ends, count }: SlotValues): number {
  let bytes = 0;
  for (let i = 0; i < count; i++) bytes += ends[i]! - starts[i]!;
  return bytes;
}

/** Fewer values are not worth the look at the attributes. */
const repeatedMin = 32;

function findRepeated(
  values: SlotValues,
  rows: Uint32Array,
  repeatables: readonly Repeatable[],
): Repeatable | undefined {
  return repeatables.find((repeatable) => {
    for (let i = 0; i < values.count; i++) if (!repeats(values, i, repeatable, rows[i]!)) return false;
    return true;
  });
}

/** Whether the i-th value is the attribute's in a row. */
function repeats(
  { bytes, starts, ends }: SlotValues,
  i: number,
  { values, codes }: Repeatable,
  row: number,
): boolean {
  const code = codes[row]!;
  if (code < 0) return false;
  const from = values.offsets[code]!;
  const length = values.offsets[code + 1]! - from;
  const start = starts[i]!;
  if (length !== ends[i]! - start) return false;
  for (let at = 0; at < length; at++) if (values.bytes[from + at] !== bytes[start + at]) return false;
  return true;
}

/** A slot's letters are random where more than one in so many of their runs of three stands in no template. */
const randomShare = 4;

/** Writes slots to the groups that they belong to. */
export class VariableWriter {
  readonly #groups = variableGroups.map((_, group) => new GroupWriter(group));
  readonly #runs = new NgramFilterBuilder(RunWidth.words);
  readonly #known: NgramFilterBuilder;
  readonly #held: NgramFilterBuilder;

  /** `known`: runs of letters that the templates hold, as people write them; `held`: where those of the values are noted too. */
  constructor(known: NgramFilterBuilder, held: NgramFilterBuilder) {
    this.#known = known;
    this.#held = held;
  }

  /** Returns the slot's kind and classes for the table of slots. */
  add(
    values: SlotValues,
    rows: Uint32Array,
    repeatables: readonly Repeatable[],
  ): { kind: number; classes: number } {
    const { bytes, starts, ends, count } = values;
    let classes = 0;
    for (let i = 0; i < count; i++) classes |= classesOf(bytes, starts[i]!, ends[i]!);
    if (groupOf(classes) === Group.word) {
      this.#runs.clear();
      for (let i = 0; i < count; i++) {
        this.#runs.add(bytes, starts[i]!, ends[i]!);
        this.#held.add(bytes, starts[i]!, ends[i]!);
      }
      if (this.#runs.unknownTo(this.#known) * randomShare > this.#runs.count) {
        classes |= randomClass;
        const { letters } = this.#groups[Group.random]!;
        for (let i = 0; i < count; i++) letters!.add(bytes, starts[i]!, ends[i]!);
      } else this.#groups[Group.word]!.letters!.addAll(this.#runs);
    }
    const kind = this.#groups[groupOf(classes)]!.add(values, classes & ~randomClass, rows, repeatables);
    return { kind, classes };
  }

  /** Payloads of the groups that have slots, the filter of those that have one. */
  finish(): EncodedGroup[] {
    if (this.#groups[Group.hex]!.slots > 0) this.#held.addHex();
    return this.#groups.flatMap((group, i) => {
      if (group.slots === 0) return [];
      return [{ name: variableGroups[i]!, payload: group.finish(), filter: group.filter() }];
    });
  }
}

export interface EncodedGroup {
  name: (typeof variableGroups)[number];
  payload: Omit<Payload, "encoding">;
  filter: Uint8Array;
}

/** Of filters that were read before: every search for a number asks all of them. */
const runFilters = new WeakMap<Uint8Array, TokenFilter>();

/** Long runs of a group's texts, out of its filter; undefined where an earlier build wrote it. */
export function readTokenFilter(
  filter: Uint8Array,
  group: number,
  kernels: Kernels<ArrayBufferLike>,
): TokenFilter | undefined {
  const known = runFilters.get(filter);
  if (known !== undefined) return known;
  const width = letterWidths[group];
  const from = width === undefined ? 0 : align8(NgramFilterBuilder.byteLength(width));
  if (filter.byteLength <= from) return undefined;
  const runs = new TokenFilter(filter.subarray(from), kernels);
  runFilters.set(filter, runs);
  return runs;
}

/** A group as searches read it. A slot's values stand in the order of its template's rows, or are distinct with codes. */
export interface VariableGroup {
  text: TextVector;
  /** First text of each of the group's slots, and the number of texts. */
  first: Uint32Array;
  /** Of each slot: where its codes begin, or that every row has a text of its own, or that all have one. */
  codesAt: Uint32Array;
  codes: Uint8Array;
}

/** Entries of `codesAt` that are no place. */
export const eachRow = 0xffffffff;
export const oneForAll = 0xfffffffe;

/** Slots of a group as their table has them, with the rows that each has a value for. */
export interface GroupSlots {
  kinds: Uint8Array;
  rows: readonly Uint32Array[];
}

/** Text of an attribute in a row, as UTF-8; empty where the row lacks it. */
export type ReadAttribute = (key: string) => (row: number) => Uint8Array;

/** Throws Failure "damage" where the payload is not what was written for those slots. */
export function decodeVariables(
  payload: Payload,
  slots: GroupSlots,
  heap: Heap,
  readAttribute: ReadAttribute,
): VariableGroup {
  const [sizes, data, lengths, longs, text, keys] = payload.buffers as (Uint8Array | undefined)[];
  if (
    sizes === undefined ||
    sizes.byteLength !== 12 ||
    keys === undefined ||
    slots.kinds.length !== payload.rows
  )
    throw cutShort();
  const [values, textLength, codesLength] = uint32Of(sizes);
  const source = new SlotSource({ data: data!, lengths: lengths!, longs: uint32Of(longs!), text: text! });
  const target = new TextTarget(heap.uint32(values! + 1), heap.uint8(textLength!));
  const first = heap.uint32(payload.rows + 1);
  const group = { text: target, first, codesAt: heap.uint32(payload.rows), codes: heap.uint8(codesLength!) };
  return decodeSlots(group, source, target, slots, { keys, readAttribute });
}

function decodeSlots(
  group: VariableGroup,
  source: SlotSource,
  target: TextTarget,
  { kinds, rows }: GroupSlots,
  attributes: { keys: Uint8Array; readAttribute: ReadAttribute },
): VariableGroup {
  const keys = JSON.parse(Buffer.from(attributes.keys).toString()) as string[];
  const { first, codesAt, codes } = group;
  let codesEnd = 0;
  for (const [slot, kind] of kinds.entries()) {
    first[slot] = target.count;
    codesAt[slot] = eachRow;
    const count = rows[slot]!.length;
    switch (kind) {
      case SlotKind.constant:
        codesAt[slot] = oneForAll;
        source.copyTexts(1, target);
        break;
      case SlotKind.dictionary: {
        const distinct = source.byte() + 1;
        const slotCodes = source.take(count);
        if (codesEnd + count > codes.length || slotCodes.some((code) => code >= distinct)) throw cutShort();
        codes.set(slotCodes, codesEnd);
        codesAt[slot] = codesEnd;
        codesEnd += count;
        source.copyTexts(distinct, target);
        break;
      }
      case SlotKind.digits:
        decodeDigits(source, count, target);
        break;
      case SlotKind.integer:
        decodeInteger(source, count, target);
        break;
      case SlotKind.hex:
        decodeHex(source, count, target);
        break;
      case SlotKind.text:
        source.copyTexts(count, target);
        break;
      case SlotKind.attribute:
        copyAttribute(
          attributes.readAttribute(keys[source.byte() | (source.byte() << 8)] ?? ""),
          rows[slot]!,
          target,
        );
        break;
      default:
        throw cutShort();
    }
  }
  first[kinds.length] = target.count;
  return group;
}

function copyAttribute(read: (row: number) => Uint8Array, rows: Uint32Array, target: TextTarget): void {
  for (const row of rows) {
    const text = read(row);
    target.end(target.byteLength + text.byteLength);
    target.append(text);
  }
}
