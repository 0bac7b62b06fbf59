/** Ids and texts of templates: the same for a message wherever it is stored. */
import type { Column } from "../column/column.ts";
import { narrowed } from "../column/dictionary.ts";
import type { Heap } from "../kernels/heap.ts";
import type { Codes } from "../vector/codes.ts";
import { type TextVector, textVector } from "../vector/text.ts";
import { hash64 } from "../vector/xxhash.ts";
import { slotByte, splitMessages } from "./tokenizer.ts";

/** The id of a message's template: xxHash64 of the template's text, 16 hexadecimal digits. */
export function templateIdOf(message: string): string {
  const template = templateOf(message);
  return hash64(template, 0, template.byteLength);
}

/** The template of a message for people, `<*>` in the place of each variable. */
export function templateTextOf(message: string): string {
  const template = Buffer.from(templateOf(message));
  let text = "";
  let start = 0;
  for (let at = template.indexOf(slotByte); at >= 0; at = template.indexOf(slotByte, start)) {
    text += `${template.toString("utf8", start, at)}<*>`;
    start = at + 1;
  }
  return text + template.toString("utf8", start);
}

/**
 * The template ids of a column of messages, as a dictionary on a heap, with the messages' own codes; messages that are stored as
 * plain text are split for it.
 */
export function templateIds(messages: Column, heap: Heap): Column {
  const { rows } = messages;
  if (messages.kind === "message") {
    const { templates, codes } = messages.messages;
    return idColumn(rows, idsOf(templates), codes);
  }
  if (messages.kind !== "text") throw new Error("column: messages are text or templates");
  const { templates, codes } = splitMessages(messages.text);
  const ids = templates.map((template) => hash64(template, 0, template.byteLength));
  return idColumn(rows, ids, narrowed(codes, ids.length + 1, heap));
}

function templateOf(message: string): Uint8Array {
  return splitMessages(textVector([message])).templates[0]!;
}

function idColumn(rows: number, ids: readonly string[], codes: Codes): Column {
  return { kind: "dictionary", rows, values: textVector(ids), valueCount: ids.length, codes };
}

function idsOf({ offsets, bytes }: TextVector): string[] {
  return Array.from({ length: offsets.length - 1 }, (_, code) =>
    hash64(bytes, offsets[code]!, offsets[code + 1]!),
  );
}
