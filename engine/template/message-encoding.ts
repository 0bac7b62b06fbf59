/** Encodes messages as templates and variables; `message-column.ts` decodes them. */

import { bytesOf, type Payload } from "../files/column-payload.ts";
import { splitByteStreams } from "../kernels/byte-stream-split.ts";
import { plainHeap } from "../kernels/heap.ts";
import type { Codes } from "../vector/codes.ts";
import { type TextVector, textCount } from "../vector/text.ts";
import { findLineValues } from "./keyed-lines.ts";
import { countTemplateRows, orderByTemplate } from "./message-column.ts";
import { NgramFilterBuilder, NgramLength } from "./ngram-filter.ts";
import {
  slotByte,
  type TokenizedInMemory,
  type TokenizedMessages,
  withTokenizedMessages,
} from "./tokenizer.ts";
import type { RepeatableAttribute } from "./variables/repeatable-attribute.ts";
import type { SlotValues } from "./variables/slot-encoding.ts";
import {
  type EncodedGroup,
  type EncodedVariables,
  lineValueClass,
  VariableWriter,
} from "./variables/variable-columns.ts";
import { encodeVariablesIn } from "./variables/variables-kernel.ts";

/** With fewer rows per template on average, plain text is as small and faster. */
const rowsPerTemplateMin = 4;

export interface EncodedMessages {
  /** Buffers: offsets and bytes of the templates, codes of the rows, kinds and character classes of the slots. */
  templates: Omit<Payload, "encoding">;
  groups: EncodedGroup[];
  /** N-gram filter of all messages. */
  filter: Uint8Array;
}

/**
 * Undefined where templates hardly repeat, so that plain text is better.
 * @param attributes columns of the same rows: a variable that repeats an attribute is stored as a reference to it
 */
export function encodeMessages(
  text: TextVector,
  attributes: readonly RepeatableAttribute[],
): EncodedMessages | undefined {
  const templatesMax = Math.floor(textCount(text) / rowsPerTemplateMin);
  return withTokenizedMessages(text, templatesMax, (tokenized, inMemory) =>
    encodeTokenized(tokenized, inMemory, attributes),
  );
}

/** As `encodeMessages`, of messages that are tokenized, and where they lie in a memory. */
export function encodeTokenized(
  tokenized: TokenizedMessages,
  inMemory: TokenizedInMemory | undefined,
  attributes: readonly RepeatableAttribute[],
): EncodedMessages | undefined {
  const { templates, rows } = tokenized;
  if (templates.length * rowsPerTemplateMin > rows) return undefined;
  const offsets = new Uint32Array(templates.length + 1);
  for (const [code, template] of templates.entries()) offsets[code + 1] = offsets[code]! + template.length;
  const bytes = Buffer.concat(templates);
  const { kinds, classes, groups, filter } =
    inMemory === undefined
      ? encodeVariables(tokenized, attributes)
      : encodeVariablesIn(inMemory, bytes, offsets, attributes);
  const codes = narrowCodes(tokenized.codes, templates.length);
  const buffers = [
    bytesOf(offsets),
    bytes,
    splitByteStreams(bytesOf(codes), codes.BYTES_PER_ELEMENT),
    kinds,
    classes,
  ];
  return {
    templates: { width: codes.BYTES_PER_ELEMENT, hasValidity: false, rows, buffers },
    groups,
    filter,
  };
}

/** Encodes the variables in TypeScript: for few messages, and as the reference that the kernel is tested against. */
export function encodeVariables(
  tokenized: TokenizedMessages,
  attributes: readonly RepeatableAttribute[],
): EncodedVariables {
  const { templates } = tokenized;
  const starts = countTemplateRows(tokenized.codes, templates.length, plainHeap);
  const order = orderByTemplate({ codes: tokenized.codes, starts }, plainHeap);
  const templateNgrams = new NgramFilterBuilder(NgramLength.words);
  const messageNgrams = new NgramFilterBuilder(NgramLength.messages);
  for (const template of templates) {
    templateNgrams.add(template, 0, template.length);
    messageNgrams.add(template, 0, template.length);
  }
  const writer = new VariableWriter(templateNgrams, messageNgrams);
  const kinds: number[] = [];
  const classes: number[] = [];
  for (const [code, template] of templates.entries()) {
    const templateRows = order.rows.subarray(starts[code], starts[code + 1]);
    for (const [slot, flags] of findSlotFlags(template).entries()) {
      const values = gatherSlotValues(tokenized, templateRows, slot);
      const written = writer.add(values, flags, templateRows, attributes);
      kinds.push(written.kind);
      classes.push(written.classes);
    }
  }
  const groups = writer.finish();
  return {
    kinds: Uint8Array.from(kinds),
    classes: Uint8Array.from(classes),
    groups,
    filter: messageNgrams.bits,
  };
}

/** For each slot of a template `lineValueClass` where it is the value of a line `Key: value`, else 0. */
function findSlotFlags(template: Uint8Array): number[] {
  const values = findLineValues(template, 0, template.length);
  const flags: number[] = [];
  let next = 0;
  for (let at = template.indexOf(slotByte); at >= 0; at = template.indexOf(slotByte, at + 1)) {
    while (next < values.length && values[next]! < at) next += 2;
    flags.push(values[next] === at && values[next + 1] === at + 1 ? lineValueClass : 0);
  }
  return flags;
}

/** The values of the slot that is being encoded; one object is reused for all slots. */
const slotScratch: SlotValues = {
  bytes: new Uint8Array(0),
  starts: new Uint32Array(0),
  ends: new Uint32Array(0),
  count: 0,
};

/** The values of a template's `slot`-th variable in the given rows. */
function gatherSlotValues(tokenized: TokenizedMessages, rows: Uint32Array, slot: number): SlotValues {
  if (slotScratch.starts.length < rows.length) {
    slotScratch.starts = new Uint32Array(rows.length * 2);
    slotScratch.ends = new Uint32Array(rows.length * 2);
  }
  slotScratch.bytes = tokenized.bytes;
  slotScratch.count = rows.length;
  for (let i = 0; i < rows.length; i++) {
    const variable = tokenized.firstVariables[rows[i]!]! + slot;
    slotScratch.starts[i] = tokenized.variableStarts[variable]!;
    slotScratch.ends[i] = tokenized.variableEnds[variable]!;
  }
  return slotScratch;
}

function narrowCodes(codes: Uint32Array, count: number): Codes {
  return count <= 0xff ? Uint8Array.from(codes) : count <= 0xffff ? Uint16Array.from(codes) : codes.slice();
}
