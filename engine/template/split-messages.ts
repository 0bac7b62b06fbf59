/**
 * Messages that are already split into templates and variables, as a chunk stores them. A merge neither builds the texts
 * nor splits them again: templates that an earlier build made of lines `Key: value` stay as they are.
 */

import { growArray } from "../vector/arrays.ts";
import { getOrMake } from "../vector/map-entry.ts";
import { TextBuilder, type TextVector } from "../vector/text.ts";
import { TextTable, toByteSource } from "../vector/text-table.ts";
import type { MessageColumn } from "./message-column.ts";
import { type EncodedMessages, encodeTokenized } from "./message-encoding.ts";
import { slotByte, type TokenizedMessages, withPlacedMessages } from "./tokenizer.ts";
import { findText, type ReadableSlot } from "./variables/readable-slot.ts";
import type { RepeatableAttribute } from "./variables/repeatable-attribute.ts";

export interface SplitMessages {
  /** Offsets of the messages in their concatenated texts, which are not stored; the last entry is the length of all. */
  offsets: Uint32Array;
  /** Each once, in any order. Some may have no row. */
  templates: TextVector;
  /** The template of each row. */
  codes: Uint32Array;
  /** The first variable of each row, then the number of all variables. */
  firstVariables: Uint32Array;
  /** Each variable is the range [start, end) of `bytes`. */
  variableStarts: Uint32Array;
  variableEnds: Uint32Array;
  bytes: Uint8Array;
}

/** Collects the messages of some chunks, chunk after chunk. */
export class SplitMessagesBuilder {
  readonly #templates = new TextTable();
  readonly #codes: Uint32Array;
  readonly #firstVariables: Uint32Array;
  /** Bytes of each message. */
  readonly #lengths: Uint32Array;
  #starts = new Uint32Array(64);
  #ends = new Uint32Array(64);
  readonly #bytes: Uint8Array[] = [];
  #byteLength = 0;
  #rows = 0;

  /** `rows`: of all chunks. */
  constructor(rows: number) {
    this.#codes = new Uint32Array(rows);
    this.#firstVariables = new Uint32Array(rows + 1);
    this.#lengths = new Uint32Array(rows);
  }

  /** Appends the messages of one chunk. Throws Failure "damage". */
  append(messages: MessageColumn): void {
    this.#appendTemplates(messages);
    const bases = new Map<TextVector, number>();
    for (let template = 0; template < messages.templateCount; template++) {
      for (let slot = messages.slotBase[template]!; slot < messages.slotBase[template + 1]!; slot++) {
        const values = messages.readSlot(slot);
        const base = getOrMake(bases, values.text, () => this.#placeTexts(values.text));
        this.#appendSlot(messages, template, slot, values, base);
      }
    }
    this.#rows += messages.rows;
  }

  finish(): SplitMessages {
    const rows = this.#rows;
    const offsets = new Uint32Array(rows + 1);
    for (let row = 0; row < rows; row++) offsets[row + 1] = offsets[row]! + this.#lengths[row]!;
    const variables = this.#firstVariables[rows]!;
    return {
      offsets,
      templates: this.#templates.texts(),
      codes: this.#codes,
      firstVariables: this.#firstVariables,
      variableStarts: this.#starts.subarray(0, variables),
      variableEnds: this.#ends.subarray(0, variables),
      bytes: Buffer.concat(this.#bytes, this.#byteLength),
    };
  }

  /** Appends the templates of the rows and makes room for their variables. */
  #appendTemplates({ templates, codes, slotBase, templateCount }: MessageColumn): void {
    const { offsets } = templates;
    const source = toByteSource(templates.bytes);
    const codeOf = new Uint32Array(templateCount);
    for (let template = 0; template < templateCount; template++)
      codeOf[template] = this.#templates.intern(source, offsets[template]!, offsets[template + 1]!);
    let variable = this.#firstVariables[this.#rows]!;
    for (let row = 0, target = this.#rows; row < codes.length; row++, target++) {
      const template = codes[row]!;
      const slots = slotBase[template + 1]! - slotBase[template]!;
      this.#codes[target] = codeOf[template]!;
      this.#lengths[target] = offsets[template + 1]! - offsets[template]! - slots;
      variable += slots;
      this.#firstVariables[target + 1] = variable;
    }
    if (variable <= this.#starts.length) return;
    this.#starts = growArray(this.#starts, Math.max(variable, this.#starts.length * 2));
    this.#ends = growArray(this.#ends, this.#starts.length);
  }

  /** Copies texts to the bytes of all variables, and returns where they begin. */
  #placeTexts({ bytes, offsets }: TextVector): number {
    const base = this.#byteLength;
    // The memory of the chunk's columns may be used for the next chunk.
    const copy = bytes.slice(0, offsets.at(-1)!);
    this.#bytes.push(copy);
    this.#byteLength += copy.length;
    return base;
  }

  /** Appends the values of one slot, for all rows of its template. `base`: where the slot's texts begin in the bytes. */
  #appendSlot(
    messages: MessageColumn,
    template: number,
    slot: number,
    values: ReadableSlot,
    base: number,
  ): void {
    const { offsets } = values.text;
    const slotInTemplate = slot - messages.slotBase[template]!;
    const rows = messages.rowsOf(template);
    for (let rank = 0; rank < rows.length; rank++) {
      const source = rows[rank]!;
      const row = this.#rows + source;
      const value = findText(values, rank, source);
      const [start, end] = [offsets[value]!, offsets[value + 1]!];
      const variable = this.#firstVariables[row]! + slotInTemplate;
      this.#starts[variable] = base + start;
      this.#ends[variable] = base + end;
      this.#lengths[row] = this.#lengths[row]! + end - start;
    }
  }
}

/** The rows in the order order[position] = row; undefined leaves them as they are. */
export function reorderSplit(split: SplitMessages, order: Uint32Array | undefined): SplitMessages {
  if (order === undefined) return split;
  const rows = order.length;
  const offsets = new Uint32Array(rows + 1);
  const codes = new Uint32Array(rows);
  const firstVariables = new Uint32Array(rows + 1);
  const variableStarts = new Uint32Array(split.variableStarts.length);
  const variableEnds = new Uint32Array(split.variableStarts.length);
  for (let position = 0, variable = 0; position < rows; position++) {
    const row = order[position]!;
    codes[position] = split.codes[row]!;
    offsets[position + 1] = offsets[position]! + split.offsets[row + 1]! - split.offsets[row]!;
    for (let from = split.firstVariables[row]!; from < split.firstVariables[row + 1]!; from++, variable++) {
      variableStarts[variable] = split.variableStarts[from]!;
      variableEnds[variable] = split.variableEnds[from]!;
    }
    firstVariables[position + 1] = variable;
  }
  return { ...split, offsets, codes, firstVariables, variableStarts, variableEnds };
}

/** The rows [from, to). */
export function sliceSplit(split: SplitMessages, from: number, to: number): SplitMessages {
  if (from === 0 && to === split.codes.length) return split;
  const first = split.firstVariables[from]!;
  const end = split.firstVariables[to]!;
  return {
    ...split,
    offsets: split.offsets.slice(from, to + 1).map((offset) => offset - split.offsets[from]!),
    codes: split.codes.subarray(from, to),
    firstVariables: split.firstVariables.slice(from, to + 1).map((variable) => variable - first),
    variableStarts: split.variableStarts.subarray(first, end),
    variableEnds: split.variableEnds.subarray(first, end),
  };
}

/** As `encodeMessages` of the texts, byte for byte. */
export function encodeSplit(
  split: SplitMessages,
  attributes: readonly RepeatableAttribute[],
): EncodedMessages | undefined {
  return withPlacedMessages(toTokenized(split), (tokenized, inMemory) =>
    encodeTokenized(tokenized, inMemory, attributes),
  );
}

/** The messages as the tokeniser splits their texts: with templates in the order of their first rows. */
function toTokenized(split: SplitMessages): TokenizedMessages {
  const { offsets, bytes } = split.templates;
  const codeOf = new Int32Array(offsets.length - 1).fill(-1);
  const templates: Uint8Array[] = [];
  const codes = split.codes.map((template) => {
    if (codeOf[template]! < 0)
      codeOf[template] = templates.push(bytes.slice(offsets[template], offsets[template + 1])) - 1;
    return codeOf[template]!;
  });
  return { ...split, rows: codes.length, codes, templates };
}

export function isSplit(messages: TextVector | SplitMessages): messages is SplitMessages {
  return "codes" in messages;
}

/** The texts of the messages. */
export function toTexts({ templates, codes, ...split }: SplitMessages): TextVector {
  const texts = new TextBuilder();
  const bytes = Buffer.alloc(longestOf(split.offsets));
  const { offsets } = templates;
  for (let row = 0; row < codes.length; row++) {
    let length = 0;
    let variable = split.firstVariables[row]!;
    for (let at = offsets[codes[row]!]!; at < offsets[codes[row]! + 1]!; at++) {
      const byte = templates.bytes[at]!;
      if (byte !== slotByte) bytes[length++] = byte;
      else {
        bytes.set(split.bytes.subarray(split.variableStarts[variable], split.variableEnds[variable]), length);
        length += split.variableEnds[variable]! - split.variableStarts[variable]!;
        variable++;
      }
    }
    texts.pushBytes(bytes.subarray(0, length));
  }
  return texts.finish();
}

function longestOf(offsets: Uint32Array): number {
  let longest = 0;
  for (let row = 1; row < offsets.length; row++)
    longest = Math.max(longest, offsets[row]! - offsets[row - 1]!);
  return longest;
}
