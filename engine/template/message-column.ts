/** The message column: messages as templates and variables. */

import { Failure } from "../failure.ts";
import { type Payload, uint32Of } from "../files/column-payload.ts";
import { SlotKind, sharedText, textPerRow } from "../kernels/decoding.ts";
import { type Heap, unfilledCodes } from "../kernels/heap.ts";
import type { Needle } from "../kernels/needle.ts";
import { findLastAtMost } from "../vector/binary-search.ts";
import type { Bitmap } from "../vector/bitmap.ts";
import type { Codes } from "../vector/codes.ts";
import { getOrMake } from "../vector/map-entry.ts";
import { type TextVector, textCount } from "../vector/text.ts";
import {
  findText,
  type ReadableSlot,
  type ReadRepeated,
  type RepeatedTexts,
} from "./variables/readable-slot.ts";
import type { SingleValues } from "./variables/single-values.ts";
import type { FoundVariables, SearchMemory, TextRange } from "./variables/stored-group.ts";
import {
  type GroupSlots,
  groupOf,
  lineValueClass,
  type VariableGroup,
  variableGroups,
} from "./variables/variable-columns.ts";

/** The rows of a chunk ordered by template; the rows of a template ascend. */
export interface TemplateOrder {
  /** The rows of template t are rows[starts[t]] to rows[starts[t + 1] - 1]. */
  rows: Uint32Array;
  /** The index of each row among those of its template. */
  rankOf: Uint32Array;
}

/** Loads what of a column is not decoded with it. */
export interface MessageLoader {
  /** One group of its variables. */
  group(messages: MessageColumn, group: number): VariableGroup;
  /** A group for a few rows; undefined where all of it is in memory, or worth decoding. */
  singleValues(messages: MessageColumn, group: number): SingleValues | undefined;
  /**
   * The texts of a group that hold a needle, where they are found without decoding it; with `range`, those outside of it may be
   * left out. Undefined where the group is decoded already, or has to be.
   */
  search(
    messages: MessageColumn,
    group: number,
    needle: Needle,
    range?: TextRange,
  ): FoundVariables | undefined;
  /** The column of an attribute that slots repeat. */
  repeated: ReadRepeated;
  order(messages: MessageColumn): TemplateOrder;
  /** Whether the order is in memory. */
  hasOrder(): boolean;
}

/** For more rows of a chunk the groups of their variables are decoded. */
const singleRowsMax = 256;

/** A bit for each text that holds a needle. */
export type HoldingTexts = Bitmap | "all" | "none";

type MessageParts = Pick<
  MessageColumn,
  | "templates"
  | "codes"
  | "starts"
  | "slotBase"
  | "slotPlaces"
  | "kinds"
  | "classes"
  | "indexInGroup"
  | "slotsOf"
  | "specialSlots"
  | "loader"
>;

/** Slots that searches treat in their own way; listed when they are first asked for. */
class SpecialSlots {
  readonly #slots: Pick<MessageColumn, "kinds" | "classes" | "slotsOf">;
  #ofLines: readonly Uint32Array[] | undefined;
  #repeating: readonly Uint32Array[] | undefined;

  constructor(slots: Pick<MessageColumn, "kinds" | "classes" | "slotsOf">) {
    this.#slots = slots;
  }

  /** Those slots of each group whose values are those of lines `Key: value`, ascending. */
  get ofLines(): readonly Uint32Array[] {
    const { classes } = this.#slots;
    this.#ofLines ??= this.#filter((slot) => (classes[slot]! & lineValueClass) !== 0);
    return this.#ofLines;
  }

  /** Those slots of each group that repeat attributes without texts of their own, ascending. */
  get repeating(): readonly Uint32Array[] {
    const { kinds } = this.#slots;
    this.#repeating ??= this.#filter((slot) => kinds[slot] === SlotKind.repeated);
    return this.#repeating;
  }

  #filter(isListed: (slot: number) => boolean): readonly Uint32Array[] {
    return this.#slots.slotsOf.map((slots) => slots.filter(isListed));
  }
}

/**
 * Templates, the template of each row, and the slots, which are the places of variables in templates. The variables'
 * values are loaded group by group, and the rows sorted by template, when they are first asked for.
 */
export class MessageColumn {
  readonly rows: number;
  readonly templates: TextVector;
  readonly codes: Codes;
  /** For each template the number of rows of all templates before it, then that of all rows. */
  readonly starts: Uint32Array;
  /** The first slot of each template, and the number of all slots. */
  readonly slotBase: Uint32Array;
  /** The position of each slot in the templates' bytes, ascending. */
  readonly slotPlaces: Uint32Array;
  readonly kinds: Uint8Array;
  readonly classes: Uint8Array;
  /** The index of each slot among the slots of its group. */
  readonly indexInGroup: Uint32Array;
  /** The slots of each group, ascending. */
  readonly slotsOf: readonly Uint32Array[];
  readonly specialSlots: SpecialSlots;
  readonly loader: MessageLoader;
  readonly #groups = new Map<number, VariableGroup>();
  readonly #searched = new Map<Needle, Map<TextVector, HoldingTexts>>();
  readonly #repeatedTexts = new Map<string, RepeatedTexts>();
  /** How many rows were read one by one. */
  #rowsRead = 0;

  constructor(parts: MessageParts) {
    this.rows = parts.codes.length;
    this.templates = parts.templates;
    this.codes = parts.codes;
    this.starts = parts.starts;
    this.slotBase = parts.slotBase;
    this.slotPlaces = parts.slotPlaces;
    this.kinds = parts.kinds;
    this.classes = parts.classes;
    this.indexInGroup = parts.indexInGroup;
    this.slotsOf = parts.slotsOf;
    this.specialSlots = parts.specialSlots;
    this.loader = parts.loader;
  }

  /** The same messages, with another loader. */
  withLoader(loader: MessageLoader): MessageColumn {
    return new MessageColumn({ ...this, loader });
  }

  get templateCount(): number {
    return this.slotBase.length - 1;
  }

  /** How many rows have this template. */
  rowCount(template: number): number {
    return this.starts[template + 1]! - this.starts[template]!;
  }

  /** The rows that have this template, ascending. */
  rowsOf(template: number): Uint32Array {
    return this.order.rows.subarray(this.starts[template], this.starts[template + 1]);
  }

  findTemplateOfSlot(slot: number): number {
    return findLastAtMost(this.slotBase, slot);
  }

  /** Whether the rows of a template are known without sorting all rows. */
  get isOrdered(): boolean {
    return this.loader.hasOrder();
  }

  get order(): TemplateOrder {
    return this.loader.order(this);
  }

  /** Which texts of the column of an attribute that slots repeat hold a needle. */
  findHolding(text: TextVector, needle: Needle, { kernels, scratch }: SearchMemory): HoldingTexts {
    const ofNeedle = getOrMake(this.#searched, needle, () => new Map<TextVector, HoldingTexts>());
    return getOrMake(ofNeedle, text, () => {
      const texts = textCount(text);
      const found = scratch.uint8((texts + 7) >> 3);
      const count = kernels.rowsHolding(text, needle, found);
      return count === 0 ? "none" : count === texts ? "all" : found;
    });
  }

  /** Throws Failure "damage". */
  readGroup(group: number): VariableGroup {
    return getOrMake(this.#groups, group, () => this.loader.group(this, group));
  }

  /** See `MessageLoader.search`. Throws Failure "damage". */
  searchGroup(group: number, needle: Needle, range?: TextRange): FoundVariables | undefined {
    return this.loader.search(this, group, needle, range);
  }

  /** The rows that have a value in a slot, by the slot's index in its group. */
  rowsOfSlot(group: number, index: number): Uint32Array {
    return this.rowsOf(this.findTemplateOfSlot(this.slotsOf[group]![index]!));
  }

  slotsOfGroup(group: number): GroupSlots {
    const { slotBase } = this;
    const slots = this.slotsOf[group]!;
    const kinds = new Uint8Array(slots.length);
    const rowCounts = new Uint32Array(slots.length);
    let template = 0;
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i]!;
      while (slotBase[template + 1]! <= slot) template++;
      kinds[i] = this.kinds[slot]!;
      rowCounts[i] = this.rowCount(template);
    }
    return { kinds, rowCounts, rowsOf: (slot) => this.rowsOfSlot(group, slot) };
  }

  /** Whether a slot stores no values of its own: they are read in the column of an attribute. */
  isRepeated(slot: number): boolean {
    return this.kinds[slot] === SlotKind.repeated;
  }

  /** Throws Failure "damage". */
  readSlot(slot: number): ReadableSlot {
    const { keys, text, firstTexts, valuePlaces, codes } = this.readGroup(groupOf(this.classes[slot]!));
    const index = this.indexInGroup[slot]!;
    const at = valuePlaces[index]!;
    if (this.isRepeated(slot)) return this.readRepeated(keys[at] ?? "");
    const first = firstTexts[index]!;
    const isCoded = at !== sharedText && at !== textPerRow;
    return {
      ...{ text, first, count: firstTexts[index + 1]! - first },
      ...{ codes: isCoded ? codes : undefined, codesFrom: at, isByRow: false },
    };
  }

  /** The values of slots that repeat the attribute with a key. Throws Failure "damage". */
  readRepeated(key: string): ReadableSlot {
    const repeated = getOrMake(this.#repeatedTexts, key, () => this.loader.repeated(key));
    return { ...repeated, first: 0, count: textCount(repeated.text), codesFrom: 0, isByRow: true };
  }

  /** Calls `onPiece` with the pieces of one row's message in order: static text and values of variables. */
  forEachPiece(row: number, onPiece: (bytes: Uint8Array, from: number, to: number) => void): void {
    const isSingle = this.#rowsRead++ < singleRowsMax;
    const template = this.codes[row]!;
    const rank = this.order.rankOf[row]!;
    const { bytes, offsets } = this.templates;
    let from = offsets[template]!;
    for (let slot = this.slotBase[template]!; slot < this.slotBase[template + 1]!; slot++) {
      const place = this.slotPlaces[slot]!;
      onPiece(bytes, from, place);
      const group = groupOf(this.classes[slot]!);
      const single = isSingle ? this.loader.singleValues(this, group) : undefined;
      if (single !== undefined) {
        const value = single.read(this.indexInGroup[slot]!, rank, row);
        onPiece(value, 0, value.length);
      } else {
        const values = this.readSlot(slot);
        const { bytes: valueBytes, offsets: valueOffsets } = values.text;
        const value = findText(values, rank, row);
        onPiece(valueBytes, valueOffsets[value]!, valueOffsets[value + 1]!);
      }
      from = place + 1;
    }
    onPiece(bytes, from, offsets[template + 1]!);
  }

  /** The message of one row. The bytes are overwritten by the next call. */
  messageAt(row: number): Uint8Array {
    let length = 0;
    this.forEachPiece(row, (bytes, from, to) => {
      length = appendToScratch(bytes, from, to, length);
    });
    return messageScratch.subarray(0, length);
  }
}

/** Holds the message that `messageAt` returned last; it grows to the longest. */
let messageScratch = Buffer.alloc(64 * 1024);

function appendToScratch(bytes: Uint8Array, from: number, to: number, at: number): number {
  const end = at + to - from;
  if (end > messageScratch.length) {
    const larger = Buffer.alloc(end * 2);
    messageScratch.copy(larger, 0, 0, at);
    messageScratch = larger;
  }
  if (to - from > 32) messageScratch.set(bytes.subarray(from, to), at);
  else for (let i = from, target = at; i < to; i++) messageScratch[target++] = bytes[i]!;
  return end;
}

/**
 * The messages without what a loader loads; see `withLoader`. Throws Failure "damage" where buffers are missing or do
 * not fit together.
 */
export function decodeMessages(payload: Payload, heap: Heap): MessageColumn {
  const { rows, width } = payload;
  const [offsets, bytes, streams, kinds, classes] = payload.buffers as (Uint8Array | undefined)[];
  if (
    classes === undefined ||
    kinds!.length !== classes.length ||
    streams!.byteLength !== rows * width ||
    offsets!.byteLength < 4
  )
    throw new Failure("damage", "message: buffers do not fit");
  const templates = { offsets: uint32Of(heap.place(offsets!)), bytes: heap.place(bytes!) };
  const codes = unfilledCodes(heap, width, rows);
  heap.kernels.joinCodes(streams!, codes);
  const slots = findSlots(templates, classes.length, heap);
  const placedClasses = heap.place(classes);
  const placedKinds = heap.place(kinds!);
  const groups = groupSlots(placedClasses, heap);
  return new MessageColumn({
    templates,
    codes,
    starts: countTemplateRows(codes, templates.offsets.length - 1, heap),
    ...slots,
    kinds: placedKinds,
    classes: placedClasses,
    ...groups,
    specialSlots: new SpecialSlots({ kinds: placedKinds, classes: placedClasses, slotsOf: groups.slotsOf }),
    loader: noLoader,
  });
}

function throwNoLoader(): never {
  throw new Error("messages: nothing loads their variables");
}
const noLoader: MessageLoader = {
  group: throwNoLoader,
  singleValues: throwNoLoader,
  search: throwNoLoader,
  repeated: throwNoLoader,
  order: throwNoLoader,
  hasOrder: () => false,
};

/** See `MessageColumn.starts`. Throws Failure "damage" for a code without a template. */
export function countTemplateRows(codes: Codes, templates: number, heap: Heap): Uint32Array {
  const starts = heap.uint32(templates + 1);
  if (!heap.kernels.countTemplateRows(codes, starts))
    throw new Failure("damage", "message: a row's template is missing");
  return starts;
}

/** Sorts the rows of a column by template. */
export function orderByTemplate(
  { codes, starts }: Pick<MessageColumn, "codes" | "starts">,
  heap: Heap,
): TemplateOrder {
  const order = { rows: heap.uint32(codes.length), rankOf: heap.uint32(codes.length) };
  heap.kernels.orderRows(codes, starts, order.rows, order.rankOf);
  return order;
}

/** Finds the slots in the templates' bytes. Throws Failure "damage" where their number is not `slots`. */
function findSlots(
  templates: TextVector,
  slots: number,
  heap: Heap,
): Pick<MessageParts, "slotBase" | "slotPlaces"> {
  const slotBase = heap.uint32(templates.offsets.length);
  const slotPlaces = heap.uint32(slots);
  if (heap.kernels.findSlots(templates, slotBase, slotPlaces) !== slots)
    throw new Failure("damage", "message: templates and their slots do not fit");
  return { slotBase, slotPlaces };
}

/** For each combination of character classes its group. */
const groupOfClasses = Uint8Array.from({ length: 256 }, (_, classes) => groupOf(classes));

/** Lists the slots of each group by the character classes of their values. */
function groupSlots(classes: Uint8Array, heap: Heap): Pick<MessageParts, "indexInGroup" | "slotsOf"> {
  const starts = heap.uint32(variableGroups.length + 1);
  const indexInGroup = heap.uint32(classes.length);
  const slots = heap.uint32(classes.length);
  heap.kernels.listGroupSlots(classes, groupOfClasses, starts, indexInGroup, slots);
  const slotsOf = variableGroups.map((_, group) => slots.subarray(starts[group], starts[group + 1]));
  return { indexInGroup, slotsOf };
}
