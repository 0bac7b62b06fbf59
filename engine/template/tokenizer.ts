/**
 * The tokeniser: splits messages into templates and variables. A token is a sequence of ASCII letters, digits, `_`,
 * `.`, `-` and non-ASCII bytes. Tokens with a digit are variables; all other text is the template. In a template's text
 * the byte 0xff, which no UTF-8 has, stands for a variable. A message that has this byte itself becomes one variable as
 * a whole. The tokeniser is part of the format: the same message has the same template in every chunk.
 */

import { type TextVector, textCount } from "../vector/text.ts";
import { buildTemplateText, slotByte, type TokenizedText, tokenizePlain } from "./plain-tokenizer.ts";
import { TokenizerKernel } from "./tokenizer-kernel.ts";

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
/** A kernel whose memory unusual messages have made larger than this is dropped. */
const kernelBytesMax = 192 * 1024 * 1024;
/** One per thread, made when it is first needed. */
let kernel: TokenizerKernel | undefined;

export function tokenizeMessages(text: TextVector): TokenizedMessages {
  const { firstRows, ...tokenized } = tokenizeText(text);
  const templates = Array.from(firstRows, (row) => buildTemplate(text, tokenized, row));
  return { ...tokenized, rows: textCount(text), templates, bytes: text.bytes };
}

function tokenizeText(text: TextVector): TokenizedText {
  if (textCount(text) < kernelRowsMin) return tokenizePlain(text);
  kernel ??= new TokenizerKernel();
  const tokenized = kernel.tokenize(text) ?? tokenizePlain(text);
  if (kernel.byteLength > kernelBytesMax) kernel = undefined;
  return tokenized;
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
