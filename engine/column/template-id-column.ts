/** Template ids as a column. */
import type { Heap } from "../kernels/heap.ts";
import { tokenizeMessages } from "../template/tokenizer.ts";
import type { Codes } from "../vector/codes.ts";
import { type TextVector, toTextVector } from "../vector/text.ts";
import { hash64 } from "../vector/xxhash.ts";
import type { Column } from "./column.ts";
import { narrowCodes } from "./dictionary.ts";

/**
 * The template ids of a column of messages as a dictionary, with the codes of the messages' templates. Messages that
 * are stored as plain text are tokenised for it; the codes of these lie on `heap`.
 */
export function buildTemplateIdColumn(messages: Column, heap: Heap): Column {
  const { rows } = messages;
  if (messages.kind === "message") {
    const { templates, codes } = messages.messages;
    return makeIdColumn(rows, hashTemplates(templates), codes);
  }
  if (messages.kind !== "text") throw new Error("column: messages are text or templates");
  const { templates, codes } = tokenizeMessages(messages.text);
  const ids = templates.map((template) => hash64(template, 0, template.byteLength));
  return makeIdColumn(rows, ids, narrowCodes(codes, ids.length + 1, heap));
}

function makeIdColumn(rows: number, ids: readonly string[], codes: Codes): Column {
  return { kind: "dictionary", rows, values: toTextVector(ids), valueCount: ids.length, codes };
}

function hashTemplates({ offsets, bytes }: TextVector): string[] {
  return Array.from({ length: offsets.length - 1 }, (_, code) =>
    hash64(bytes, offsets[code]!, offsets[code + 1]!),
  );
}
