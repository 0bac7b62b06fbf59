/**
 * The tokeniser: splits messages into templates and variables. A token is a sequence of ASCII letters, digits, `_`,
 * `.`, `-` and non-ASCII bytes. Tokens with a digit are variables, as are the values of lines `Key: value`
 * (`keyed-lines.ts`); all other text is the template. In a template's text the byte 0xff, which no UTF-8 has, stands for a
 * variable. A message that has this byte itself becomes one variable as a whole. The tokeniser is part of the format: the
 * same message has the same template in every chunk, but for chunks of builds that did not know lines.
 */

import { BlockMemory } from "../kernels/block-memory.ts";
import { type TextVector, textCount } from "../vector/text.ts";
import { buildTemplateText, slotByte, type TokenizedText, tokenizePlain } from "./plain-tokenizer.ts";
import { placeTokenized, type TokenizedPlaces, tokenizeIn, viewTokenized } from "./tokenizer-kernel.ts";

export { byteClass, slotByte } from "./plain-tokenizer.ts";

/** Messages, each as the code of its template and its variables. */
export interface TokenizedMessages extends Omit<TokenizedText, "firstRows"> {
  rows: number;
  /** Texts of the templates, in the order of their first occurrence. */
  templates: Uint8Array[];
  /** Variables are ranges of these bytes. */
  bytes: Uint8Array;
}

/** For fewer messages, copying them to the kernel's memory costs more than it saves. */
const kernelRowsMin = 64;

/** Enough memory for a chunk of usual messages. */
export const keptBytesMax = 192 * 1024 * 1024;

/** A memory, and where tokenized messages lie in it. */
export interface TokenizedInMemory {
  memory: BlockMemory;
  places: TokenizedPlaces;
}

export function tokenizeMessages(text: TextVector): TokenizedMessages {
  const whole = withTokenizedMessages(text, textCount(text), (tokenized, inMemory): TokenizedMessages => {
    if (inMemory === undefined) return tokenized;
    const { codes, firstVariables, variableStarts, variableEnds } = tokenized;
    return {
      ...tokenized,
      ...{ codes: codes.slice(), firstVariables: firstVariables.slice() },
      ...{ variableStarts: variableStarts.slice(), variableEnds: variableEnds.slice() },
    };
  });
  // No message has more than one template.
  return whole!;
}

/**
 * Tokenizes messages and returns what `use` makes of them, which must not refer to them; undefined where they have more
 * than `templatesMax` templates. Where they were split in WebAssembly they are views of its memory, which `use` may go on
 * to work in. Where that is full `use` is called anew with messages that were split in TypeScript.
 */
export function withTokenizedMessages<Result>(
  text: TextVector,
  templatesMax: number,
  use: (tokenized: TokenizedMessages, inMemory?: TokenizedInMemory) => Result,
): Result | undefined {
  return inMemory(
    textCount(text),
    () => {
      const split = tokenizePlain(text);
      return split.firstRows.length > templatesMax ? undefined : use(toMessages(text, split));
    },
    (memory) => {
      const places = tokenizeIn(memory, text, templatesMax);
      return places && use(toMessages(text, viewTokenized(memory, places)), { memory, places });
    },
  );
}

/** As `withTokenizedMessages`, for messages that are tokenized already. They are copied to the memory. */
export function withPlacedMessages<Result>(
  tokenized: TokenizedMessages,
  use: (tokenized: TokenizedMessages, inMemory?: TokenizedInMemory) => Result,
): Result {
  return inMemory(
    tokenized.rows,
    () => use(tokenized),
    (memory) => use(tokenized, { memory, places: placeTokenized(memory, tokenized) }),
  );
}

/** Works on messages in a memory; without one where they are few, or where the memory is full. */
function inMemory<Result>(
  rows: number,
  plainly: () => Result,
  work: (memory: BlockMemory) => Result,
): Result {
  return rows < kernelRowsMin ? plainly() : BlockMemory.work(keptBytesMax, work, plainly);
}

function toMessages(text: TextVector, { firstRows, ...tokenized }: TokenizedText): TokenizedMessages {
  const templates = Array.from(firstRows, (row) => buildTemplate(text, tokenized, row));
  return { ...tokenized, rows: textCount(text), templates, bytes: text.bytes };
}

function buildTemplate(texts: TextVector, tokenized: Omit<TokenizedText, "firstRows">, row: number): Buffer {
  const { bytes, offsets } = texts;
  const variables: number[] = [];
  for (let i = tokenized.firstVariables[row]!; i < tokenized.firstVariables[row + 1]!; i++) {
    variables.push(tokenized.variableStarts[i]!, tokenized.variableEnds[i]!);
  }
  return buildTemplateText(bytes, offsets[row]!, offsets[row + 1]!, variables);
}

/** Returns whether a template is a single variable, whose value is a whole message and may have separators in it. */
export function isSingleVariable(bytes: Uint8Array, from: number, to: number): boolean {
  return to - from === 1 && bytes[from] === slotByte;
}
