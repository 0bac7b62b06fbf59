/** A column of messages as templates and variables. */

import { Failure } from "../failure.ts";
import { bytesOf, type Payload, uint32Of } from "../files/payload.ts";
import { joinByteStreams, splitByteStreams } from "../kernels/byte-stream-split.ts";
import type { Heap } from "../kernels/heap.ts";
import { lastAtMost } from "../vector/binary-search.ts";
import type { Codes } from "../vector/codes.ts";
import { viewAsCodes } from "../vector/codes.ts";
import type { TextVector } from "../vector/text.ts";
import { NgramFilterBuilder, RunWidth } from "./ngram-filter.ts";
import type { SlotValues } from "./slot-encoding.ts";
import { slotByte, type TokenizedMessages, tokenizeMessages } from "./tokenizer.ts";
import {
  type EncodedGroup,
  eachRow,
  groupOf,
  oneForAll,
  type Repeatable,
  type VariableGroup,
  VariableWriter,
  variableGroups,
} from "./variable-columns.ts";

/** Rows a template on average below which plain text is as small and faster. */
const rowsATemplateMin = 4;

/** Rows grouped by template, ascending within each. */
export interface TemplateOrder {
  /** Rows of template t are those from starts[t] to starts[t + 1]. */
  rows: Uint32Array;
  starts: Uint32Array;
  /** Place of each row among those of its template. */
  rankOf: Uint32Array;
}

/** Gives one group of a column's variables. */
export type LoadGroup = (messages: MessageColumn, group: number) => VariableGroup;

type MessageParts = Pick<
  MessageColumn,
  | "templates"
  | "codes"
  | "order"
  | "slotBase"
  | "slotPlaces"
  | "kinds"
  | "classes"
  | "placeOf"
  | "slotsOf"
  | "loadGroup"
>;

/** Templates, and where variables are; those are read when first asked for. */
export class MessageColumn {
  readonly rows: number;
  readonly templates: TextVector;
  readonly codes: Codes;
  readonly order: TemplateOrder;
  /** First slot of each template, and the number of slots. */
  readonly slotBase: Uint32Array;
  /** Places of the slots in the templates' bytes, ascending. */
  readonly slotPlaces: Uint32Array;
  readonly kinds: Uint8Array;
  readonly classes: Uint8Array;
  /** Of each slot: its place among those of its group. */
  readonly placeOf: Uint32Array;
  /** Slots of each group, ascending. */
  readonly slotsOf: readonly Uint32Array[];
  readonly loadGroup: LoadGroup;

  constructor(parts: MessageParts) {
    this.rows = parts.codes.length;
    this.templates = parts.templates;
    this.codes = parts.codes;
    this.order = parts.order;
    this.slotBase = parts.slotBase;
    this.slotPlaces = parts.slotPlaces;
    this.kinds = parts.kinds;
    this.classes = parts.classes;
    this.placeOf = parts.placeOf;
    this.slotsOf = parts.slotsOf;
    this.loadGroup = parts.loadGroup;
  }

  /** The same messages, with variables from there. */
  withGroups(loadGroup: LoadGroup): MessageColumn {
    return new MessageColumn({ ...this, loadGroup });
  }

  get templateCount(): number {
    return this.slotBase.length - 1;
  }

  /** Number of rows of a template. */
  rowCount(template: number): number {
    return this.order.starts[template + 1]! - this.order.starts[template]!;
  }

  rowsOf(template: number): Uint32Array {
    return this.order.rows.subarray(this.order.starts[template], this.order.starts[template + 1]);
  }

  templateOfSlot(slot: number): number {
    return lastAtMost(this.slotBase, slot);
  }

  /** Throws Failure "damage". */
  group(group: number): VariableGroup {
    return this.loadGroup(this, group);
  }

  /** Kinds of a group's slots, and the rows that each has values for. */
  slotsOfGroup(group: number): { kinds: Uint8Array; rows: Uint32Array[] } {
    const slots = this.slotsOf[group]!;
    const rows = Array.from(slots, (slot) => this.rowsOf(this.templateOfSlot(slot)));
    return { kinds: Uint8Array.from(slots, (slot) => this.kinds[slot]!), rows };
  }

  /** Calls with the parts of one row's message, in order. */
  eachPiece(row: number, onPiece: (bytes: Uint8Array, from: number, to: number) => void): void {
    const template = this.codes[row]!;
    const rank = this.order.rankOf[row]!;
    const { bytes, offsets } = this.templates;
    let from = offsets[template]!;
    for (let slot = this.slotBase[template]!; slot < this.slotBase[template + 1]!; slot++) {
      const place = this.slotPlaces[slot]!;
      onPiece(bytes, from, place);
      const { text, first, codesAt, codes } = this.group(groupOf(this.classes[slot]!));
      const value = textIndex(first, codesAt, codes, this.placeOf[slot]!, rank);
      onPiece(text.bytes, text.offsets[value]!, text.offsets[value + 1]!);
      from = place + 1;
    }
    onPiece(bytes, from, offsets[template + 1]!);
  }

  /** The message of one row; the bytes are overwritten by the next call. */
  messageAt(row: number): Uint8Array {
    let length = 0;
    this.eachPiece(row, (bytes, from, to) => {
      length = append(bytes, from, to, length);
    });
    return scratch.subarray(0, length);
  }
}

/** Which text of a group is the value of a slot, by its place in the group, in its template's `rank`-th row. */
function textIndex(
  first: Uint32Array,
  codesAt: Uint32Array,
  codes: Uint8Array,
  place: number,
  rank: number,
): number {
  const at = codesAt[place]!;
  if (at === oneForAll) return first[place]!;
  return first[place]! + (at === eachRow ? rank : codes[at + rank]!);
}

let scratch = Buffer.alloc(64 * 1024);

function append(bytes: Uint8Array, from: number, to: number, at: number): number {
  const end = at + to - from;
  if (end > scratch.length) {
    const larger = Buffer.alloc(end * 2);
    scratch.copy(larger, 0, 0, at);
    scratch = larger;
  }
  if (to - from > 32) scratch.set(bytes.subarray(from, to), at);
  else for (let i = from, target = at; i < to; i++) scratch[target++] = bytes[i]!;
  return end;
}

export interface EncodedMessages {
  /** Buffers: offsets and bytes of the templates, codes, kinds and classes of the slots. */
  templates: Omit<Payload, "encoding">;
  groups: EncodedGroup[];
  /** Bits of the runs of letters in all messages. */
  filter: Uint8Array;
}

/** Undefined where templates hardly repeat. `repeatables`: attributes that variables may repeat. */
export function encodeMessages(
  text: TextVector,
  repeatables: readonly Repeatable[],
): EncodedMessages | undefined {
  const split = tokenizeMessages(text);
  const { templates, rows } = split;
  if (templates.length * rowsATemplateMin > rows) return undefined;
  const order = groupOrder(split.codes, templates.length);
  const known = new NgramFilterBuilder(RunWidth.words);
  const held = new NgramFilterBuilder(RunWidth.messages);
  for (const template of templates) {
    known.add(template, 0, template.length);
    held.add(template, 0, template.length);
  }
  const writer = new VariableWriter(known, held);
  const kinds: number[] = [];
  const classes: number[] = [];
  for (const [code, template] of templates.entries()) {
    const templateRows = order.rows.subarray(order.starts[code], order.starts[code + 1]);
    let slot = 0;
    for (const byte of template) {
      if (byte !== slotByte) continue;
      const written = writer.add(slotValues(split, templateRows, slot++), templateRows, repeatables);
      kinds.push(written.kind);
      classes.push(written.classes);
    }
  }
  const codes = narrowCodes(split.codes, templates.length);
  const offsets = new Uint32Array(templates.length + 1);
  for (const [code, template] of templates.entries()) offsets[code + 1] = offsets[code]! + template.length;
  const buffers = [
    bytesOf(offsets),
    Buffer.concat(templates),
    splitByteStreams(bytesOf(codes), codes.BYTES_PER_ELEMENT),
    Uint8Array.from(kinds),
    Uint8Array.from(classes),
  ];
  return {
    templates: { width: codes.BYTES_PER_ELEMENT, hasValidity: false, rows, buffers },
    groups: writer.finish(),
    filter: held.bits,
  };
}

/** Messages without variables yet. Throws Failure "damage" where buffers are missing or do not fit. */
export function decodeMessages(payload: Payload, heap: Heap): MessageColumn {
  const { buffers, width } = payload;
  const [offsets, bytes, codeBytes, kinds, classes] = buffers.map((buffer, i) =>
    i === 2 ? joinByteStreams(buffer, width, heap) : heap.place(buffer),
  );
  if (
    classes === undefined ||
    kinds!.length !== classes.length ||
    codeBytes!.byteLength !== payload.rows * width
  )
    throw new Failure("damage", "message: buffers do not fit");
  const templates = { offsets: uint32Of(offsets!), bytes: bytes! };
  const codes = viewAsCodes(codeBytes!, width);
  const { base, places } = findSlots(templates, classes.length, heap);
  const placeOf = heap.uint32(classes.length);
  const slotsOf: number[][] = variableGroups.map(() => []);
  for (const [slot, held] of classes.entries()) placeOf[slot] = slotsOf[groupOf(held)]!.push(slot) - 1;
  return new MessageColumn({
    templates,
    codes,
    order: groupRows(codes, templates.offsets.length - 1, heap),
    slotBase: base,
    slotPlaces: places,
    kinds: kinds!,
    classes,
    placeOf,
    slotsOf: slotsOf.map((slots) => Uint32Array.from(slots)),
    loadGroup: () => {
      throw new Error("messages: their variables were not given");
    },
  });
}

const values: SlotValues = {
  bytes: new Uint8Array(0),
  starts: new Uint32Array(0),
  ends: new Uint32Array(0),
  count: 0,
};

function slotValues(split: TokenizedMessages, rows: Uint32Array, slot: number): SlotValues {
  if (values.starts.length < rows.length) {
    values.starts = new Uint32Array(rows.length * 2);
    values.ends = new Uint32Array(rows.length * 2);
  }
  values.bytes = split.bytes;
  values.count = rows.length;
  for (let i = 0; i < rows.length; i++) {
    const variable = split.varBase[rows[i]!]! + slot;
    values.starts[i] = split.varStart[variable]!;
    values.ends[i] = split.varEnd[variable]!;
  }
  return values;
}

function groupRows(codes: Codes, templates: number, heap: Heap): TemplateOrder {
  const order = groupOrder(codes, templates);
  const [rows, starts, rankOf] = [order.rows, order.starts, order.rankOf].map((vector) =>
    uint32Of(heap.place(bytesOf(vector))),
  );
  return { rows: rows!, starts: starts!, rankOf: rankOf! };
}

/** Throws Failure "damage" for a code without a template. */
function groupOrder(codes: ArrayLike<number>, templates: number): TemplateOrder {
  const starts = new Uint32Array(templates + 1);
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row]!;
    if (code >= templates) throw new Failure("damage", "message: a row's template is missing");
    starts[code + 1] = starts[code + 1]! + 1;
  }
  for (let code = 0; code < templates; code++) starts[code + 1] = starts[code + 1]! + starts[code]!;
  const next = starts.slice(0, -1);
  const rows = new Uint32Array(codes.length);
  const rankOf = new Uint32Array(codes.length);
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row]!;
    const place = next[code]!;
    rows[place] = row;
    rankOf[row] = place - starts[code]!;
    next[code] = place + 1;
  }
  return { rows, starts, rankOf };
}

/** Throws Failure "damage" where there are not as many slots as their table has. */
function findSlots({ offsets, bytes }: TextVector, slots: number, heap: Heap) {
  const templates = offsets.length - 1;
  const base = heap.uint32(templates + 1);
  const places = heap.uint32(slots);
  let slot = 0;
  let template = 0;
  for (let at = bytes.indexOf(slotByte); at >= 0; at = bytes.indexOf(slotByte, at + 1)) {
    while (template < templates && offsets[template + 1]! <= at) base[++template] = slot;
    if (slot < slots) places[slot] = at;
    slot++;
  }
  while (template < templates) base[++template] = slot;
  if (slot !== slots) throw new Failure("damage", "message: templates and their slots do not fit");
  return { base, places };
}

function narrowCodes(codes: Uint32Array, count: number): Codes {
  return count <= 0xff ? Uint8Array.from(codes) : count <= 0xffff ? Uint16Array.from(codes) : codes;
}
