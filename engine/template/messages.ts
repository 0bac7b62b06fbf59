/** A column of messages as templates and variables. */
import { Failure } from "../failure.ts";
import { bytesOf, type Payload } from "../payload.ts";
import type { TextVector } from "../text.ts";
import { decodeSlot, encodeSlot, readTexts, writeTexts } from "./slot.ts";
import { type SplitMessages, slotByte, splitMessages } from "./split.ts";

/** Slots of templates with fewer rows share one text: a stamp and an encoding of their own would outweigh them. */
const hotRowsMin = 48;
/** Rows a template on average below which plain text is as small and faster. */
const rowsATemplateMin = 4;

export interface SlotTable {
  kinds: Uint8Array;
  classes: Uint8Array;
  lengthMin: Uint32Array;
  lengthMax: Uint32Array;
  /** Bytes of slot i are those from starts[i] to starts[i + 1]. */
  starts: Uint32Array;
  data: Uint8Array;
}

type Codes = Uint8Array | Uint16Array | Uint32Array;

/** Decoded as far as every search needs it; slots are decoded to text when first looked at. */
export class MessageColumn {
  readonly rows: number;
  readonly templates: TextVector;
  readonly codes: Codes;
  readonly slots: SlotTable;
  readonly cold: TextVector;
  /** Rows of each template. */
  readonly rowCounts: Uint32Array;
  readonly slotCounts: Uint32Array;
  /** Of each template: its first slot in the table, or -1 where its variables are among the cold ones. */
  readonly hotBase: Int32Array;
  /** Of each cold template: its first variable; those of its k-th row follow k times its number of slots behind. */
  readonly coldBase: Uint32Array;
  readonly #slotTexts = new Map<number, TextVector>();
  #text: TextVector | undefined;
  #order: { rows: Uint32Array; starts: Uint32Array; rankOf: Uint32Array } | undefined;

  constructor(parts: Pick<MessageColumn, "templates" | "codes" | "slots" | "cold">) {
    this.rows = parts.codes.length;
    this.templates = parts.templates;
    this.codes = parts.codes;
    this.slots = parts.slots;
    this.cold = parts.cold;
    const count = this.templates.offsets.length - 1;
    this.rowCounts = countCodes(this.codes, count);
    this.slotCounts = countSlots(this.templates);
    this.hotBase = new Int32Array(count);
    this.coldBase = new Uint32Array(count);
    let hot = 0;
    let cold = 0;
    for (let code = 0; code < count; code++) {
      const isHot = this.rowCounts[code]! >= hotRowsMin;
      this.hotBase[code] = isHot ? hot : -1;
      this.coldBase[code] = cold;
      if (isHot) hot += this.slotCounts[code]!;
      else cold += this.slotCounts[code]! * this.rowCounts[code]!;
    }
  }

  get templateCount(): number {
    return this.rowCounts.length;
  }

  /** Bytes that it keeps alive. */
  get byteLength(): number {
    let bytes = this.templates.bytes.byteLength + this.codes.byteLength + this.slots.data.byteLength;
    bytes += this.cold.bytes.byteLength + this.cold.offsets.byteLength;
    if (this.#order !== undefined) bytes += this.rows * 8;
    if (this.#text !== undefined) bytes += this.#text.bytes.byteLength + this.#text.offsets.byteLength;
    for (const text of this.#slotTexts.values()) bytes += text.bytes.byteLength + text.offsets.byteLength;
    return bytes;
  }

  /** Rows grouped by template, ascending within each: those of template t from starts[t] to starts[t + 1]. */
  get order(): { rows: Uint32Array; starts: Uint32Array; rankOf: Uint32Array } {
    this.#order ??= groupRows(this.codes, this.rowCounts);
    return this.#order;
  }

  /** Values of a slot of the table over its template's rows. */
  slotText(slot: number, rows: number): TextVector {
    let text = this.#slotTexts.get(slot);
    if (text === undefined) {
      const { kinds, starts, data } = this.slots;
      text = decodeSlot(kinds[slot]!, data.subarray(starts[slot], starts[slot + 1]), rows);
      this.#slotTexts.set(slot, text);
    }
    return text;
  }

  /** All messages as plain text, for searches that templates cannot decide. */
  get text(): TextVector {
    this.#text ??= buildText(this);
    return this.#text;
  }

  /** The message of one row. */
  messageAt(row: number): Uint8Array {
    const code = this.codes[row]!;
    const rank = this.order.rankOf[row]!;
    const from = this.templates.offsets[code]!;
    const to = this.templates.offsets[code + 1]!;
    const { bytes } = this.templates;
    const parts: Uint8Array[] = [];
    let start = from;
    let slot = 0;
    for (let at = bytes.indexOf(slotByte, from); at >= 0 && at < to; at = bytes.indexOf(slotByte, at + 1)) {
      parts.push(bytes.subarray(start, at), this.variable(code, slot++, rank));
      start = at + 1;
    }
    parts.push(bytes.subarray(start, to));
    return Buffer.concat(parts);
  }

  /** One variable: slot `slot` of template `code` in the template's `rank`-th row. */
  variable(code: number, slot: number, rank: number): Uint8Array {
    const hot = this.hotBase[code]!;
    const text = hot >= 0 ? this.slotText(hot + slot, this.rowCounts[code]!) : this.cold;
    const at = hot >= 0 ? rank : this.coldBase[code]! + rank * this.slotCounts[code]! + slot;
    return text.bytes.subarray(text.offsets[at], text.offsets[at + 1]);
  }
}

/**
 * Undefined where templates hardly repeat. Buffers: offsets and bytes of the templates, codes, then the slot table (kinds, classes, shortest, longest, sizes, data), cold variables.
 */
export function encodeMessages(text: TextVector): Omit<Payload, "encoding"> | undefined {
  const split = splitMessages(text);
  const { templates, rows } = split;
  if (templates.length * rowsATemplateMin > rows) return undefined;
  const rowCounts = countCodes(split.codes, templates.length);
  const { rows: order, starts } = groupRows(split.codes, rowCounts);
  const table: { kinds: number[]; classes: number[]; min: number[]; max: number[]; data: Uint8Array[] } = {
    kinds: [],
    classes: [],
    min: [],
    max: [],
    data: [],
  };
  const cold: [start: number, end: number][] = [];
  for (const [code, template] of templates.entries()) {
    const slots = template.reduce((count, byte) => (byte === slotByte ? count + 1 : count), 0);
    const templateRows = order.subarray(starts[code], starts[code + 1]);
    if (templateRows.length < hotRowsMin) {
      for (const row of templateRows) {
        const first = split.varBase[row]!;
        for (let slot = 0; slot < slots; slot++)
          cold.push([split.varStart[first + slot]!, split.varEnd[first + slot]!]);
      }
      continue;
    }
    for (let slot = 0; slot < slots; slot++) {
      const { kind, stamp, data } = encodeSlot(slotValues(split, templateRows, slot));
      table.kinds.push(kind);
      table.classes.push(stamp.classes);
      table.min.push(stamp.lengthMin);
      table.max.push(stamp.lengthMax);
      table.data.push(data);
    }
  }
  const codes = narrowCodes(split.codes, templates.length);
  const offsets = new Uint32Array(templates.length + 1);
  for (const [code, template] of templates.entries()) offsets[code + 1] = offsets[code]! + template.length;
  const coldBytes = Buffer.concat(cold.map(([start, end]) => split.bytes.subarray(start, end)));
  const buffers = [
    bytesOf(offsets),
    Buffer.concat(templates),
    bytesOf(codes),
    Uint8Array.from(table.kinds),
    Uint8Array.from(table.classes),
    bytesOf(Uint32Array.from(table.min)),
    bytesOf(Uint32Array.from(table.max)),
    bytesOf(Uint32Array.from(table.data, (data) => data.byteLength)),
    Buffer.concat(table.data),
    writeTexts(
      cold.map(([start, end]) => end - start),
      coldBytes,
    ),
  ];
  return { width: codes.BYTES_PER_ELEMENT, hasValidity: false, rows, buffers };
}

/** Throws Failure "damage" where buffers are missing or do not fit. */
export function decodeMessages(payload: Payload): MessageColumn {
  const { buffers, rows, width } = payload;
  if (buffers.length !== 10) throw new Failure("damage", "message: buffers are missing");
  const [offsets, bytes, codes, kinds, classes, min, max, sizes, data, cold] = buffers as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];
  const starts = new Uint32Array(kinds.length + 1);
  for (const [slot, size] of words(sizes).entries()) starts[slot + 1] = starts[slot]! + size;
  const slots: SlotTable = { kinds, classes, lengthMin: words(min), lengthMax: words(max), starts, data };
  const templates = { offsets: words(offsets), bytes };
  const codeView: Codes =
    width === 1 ? codes : width === 2 ? new Uint16Array(codes.buffer, codes.byteOffset, rows) : words(codes);
  const counts = countCodes(codeView, templates.offsets.length - 1);
  const slotCounts = countSlots(templates);
  let coldRows = 0;
  for (const [code, count] of counts.entries()) if (count < hotRowsMin) coldRows += count * slotCounts[code]!;
  return new MessageColumn({ templates, codes: codeView, slots, cold: readTexts(cold, coldRows).vector });
}

/** Template by template, and within one piece by piece, so that the inner loops run over rows. */
function buildText(column: MessageColumn): TextVector {
  const { rows } = column;
  const lengths = new Uint32Array(rows);
  eachPiece(
    column,
    (from, to, templateRows) => {
      for (const row of templateRows) lengths[row] = lengths[row]! + to - from;
    },
    (text, first, step, templateRows) => {
      for (let i = 0, at = first; i < templateRows.length; i++, at += step) {
        const row = templateRows[i]!;
        lengths[row] = lengths[row]! + text.offsets[at + 1]! - text.offsets[at]!;
      }
    },
  );
  const offsets = new Uint32Array(rows + 1);
  for (let row = 0; row < rows; row++) offsets[row + 1] = offsets[row]! + lengths[row]!;
  const bytes = new Uint8Array(offsets[rows]!);
  const cursor = offsets.slice(0, rows);
  const source = column.templates.bytes;
  eachPiece(
    column,
    (from, to, templateRows) => {
      for (const row of templateRows) {
        let target = cursor[row]!;
        for (let at = from; at < to; at++) bytes[target++] = source[at]!;
        cursor[row] = target;
      }
    },
    (text, first, step, templateRows) => {
      for (let i = 0, value = first; i < templateRows.length; i++, value += step) {
        const row = templateRows[i]!;
        let target = cursor[row]!;
        for (let at = text.offsets[value]!; at < text.offsets[value + 1]!; at++)
          bytes[target++] = text.bytes[at]!;
        cursor[row] = target;
      }
    },
  );
  return { offsets, bytes };
}

type OnStatic = (from: number, to: number, rows: Uint32Array) => void;
/** Values of the rows stand at `first`, `first + step` … of a text. */
type OnSlot = (text: TextVector, first: number, step: number, rows: Uint32Array) => void;

function eachPiece(column: MessageColumn, onStatic: OnStatic, onSlot: OnSlot): void {
  const { templates, order, slotCounts, hotBase, coldBase, rowCounts } = column;
  for (let code = 0; code < rowCounts.length; code++) {
    const rows = order.rows.subarray(order.starts[code], order.starts[code + 1]);
    const to = templates.offsets[code + 1]!;
    const hot = hotBase[code]!;
    let start = templates.offsets[code]!;
    let slot = 0;
    for (let at = start; at <= to; at++) {
      if (at < to && templates.bytes[at] !== slotByte) continue;
      if (at > start) onStatic(start, at, rows);
      start = at + 1;
      if (at === to) break;
      if (hot >= 0) onSlot(column.slotText(hot + slot, rows.length), 0, 1, rows);
      else onSlot(column.cold, coldBase[code]! + slot, slotCounts[code]!, rows);
      slot++;
    }
  }
}

function slotValues(split: SplitMessages, rows: Uint32Array, slot: number): TextVector {
  const offsets = new Uint32Array(rows.length + 1);
  let length = 0;
  for (let i = 0; i < rows.length; i++) {
    const variable = split.varBase[rows[i]!]! + slot;
    length += split.varEnd[variable]! - split.varStart[variable]!;
    offsets[i + 1] = length;
  }
  const bytes = new Uint8Array(length);
  for (let i = 0, at = 0; i < rows.length; i++) {
    const variable = split.varBase[rows[i]!]! + slot;
    const end = split.varEnd[variable]!;
    for (let from = split.varStart[variable]!; from < end; from++) bytes[at++] = split.bytes[from]!;
  }
  return { offsets, bytes };
}

function groupRows(codes: ArrayLike<number>, counts: Uint32Array) {
  const starts = new Uint32Array(counts.length + 1);
  for (let code = 0; code < counts.length; code++) starts[code + 1] = starts[code]! + counts[code]!;
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

function countCodes(codes: ArrayLike<number>, count: number): Uint32Array {
  const counts = new Uint32Array(count);
  for (let row = 0; row < codes.length; row++) counts[codes[row]!] = counts[codes[row]!]! + 1;
  return counts;
}

function countSlots({ offsets, bytes }: TextVector): Uint32Array {
  const counts = new Uint32Array(offsets.length - 1);
  for (let code = 0; code < counts.length; code++) {
    for (let at = offsets[code]!; at < offsets[code + 1]!; at++)
      if (bytes[at] === slotByte) counts[code] = counts[code]! + 1;
  }
  return counts;
}

function narrowCodes(codes: Uint32Array, count: number): Codes {
  return count <= 0xff ? Uint8Array.from(codes) : count <= 0xffff ? Uint16Array.from(codes) : codes;
}

function words(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
}
