/** Template ids as a column. */
import type { Heap } from "../kernels/heap.ts";
import { tokenizeMessages } from "../template/tokenizer.ts";
import type { Codes } from "../vector/codes.ts";
import { type TextVector, toTextVector } from "../vector/text.ts";
import { hash64 } from "../vector/xxhash.ts";
import type { Column } from "./column.ts";
import { narrowCodes } from "./dictionary.ts";

/** Hexadecimal digits of a template id. */
export const idDigits = 16;

/**
 * The template ids of a column of messages as a dictionary, with the codes of the messages' templates. Messages that
 * are stored as plain text are tokenised for it; the codes of these lie on `heap`.
 */
export function buildTemplateIdColumn(messages: Column, heap: Heap): Column {
  const { rows } = messages;
  if (messages.kind === "message") {
    const { templates, codes } = messages.messages;
    return makeIdColumn(rows, hashTemplates(templates, heap), codes);
  }
  if (messages.kind !== "text") throw new Error("column: messages are text or templates");
  const { templates, codes } = tokenizeMessages(messages.text);
  const ids = toTextVector(templates.map((template) => hash64(template, 0, template.byteLength)));
  return makeIdColumn(rows, ids, narrowCodes(codes, templates.length + 1, heap));
}

function makeIdColumn(rows: number, values: TextVector, codes: Codes): Column {
  return { kind: "dictionary", rows, values, valueCount: values.offsets.length - 1, codes };
}

const hexDigits = Buffer.from("0123456789abcdef");

/** The id of each template, whose text lies on the heap. */
function hashTemplates(templates: TextVector, heap: Heap): TextVector {
  const count = templates.offsets.length - 1;
  const digits = new Uint8Array(count * idDigits);
  heap.withScratch((scratch) => {
    const hashes = scratch.uint32(count * 2);
    heap.kernels.hashTexts(templates, hashes);
    for (let at = 0; at < digits.byteLength; at++) {
      // Ids are written most significant digit first, but `hashes` holds the low 32 bits of each hash before the high 32.
      const half = hashes[(at >> 3) ^ 1]!;
      digits[at] = hexDigits[(half >>> (28 - (at & 7) * 4)) & 15]!;
    }
  });
  return { offsets: Uint32Array.from({ length: count + 1 }, (_, i) => i * idDigits), bytes: digits };
}
