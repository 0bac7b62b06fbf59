/**
 * Messages as templates and variables. A token is a run of ASCII letters, digits, `_`, `.`, `-` and non-ASCII bytes; tokens that
 * hold a digit are variables, all else is the template. The tokeniser is part of the format: the same text gives the same template in
 * every chunk. In a template's text the byte 0xff, which no UTF-8 has, stands for a variable; a message that holds it
 * becomes one variable as a whole.
 */

import { type TextVector, textCount } from "../vector/text.ts";
import { type TokenizedText, templateText, tokenizePlain } from "./plain-tokenizer.ts";
import { TokenizerKernel } from "./tokenizer-kernel.ts";

export { byteClass, slotByte } from "./plain-tokenizer.ts";

export interface TokenizedMessages extends Omit<TokenizedText, "firstRows"> {
  rows: number;
  /** Texts of the templates, in the order in which they first occur. */
  templates: Uint8Array[];
  /** What variables are ranges of. */
  bytes: Uint8Array;
}

/** Fewer messages are not worth the way into the kernel's memory. */
const kernelRowsMin = 64;
/** A kernel that some unusual messages made larger than this is given up. */
const kernelBytesKept = 192 * 1024 * 1024;
/** One a thread, made when first needed. */
let kernel: TokenizerKernel | undefined;

export function tokenizeMessages(text: TextVector): TokenizedMessages {
  const { firstRows, ...split } = splitText(text);
  const templates = Array.from(firstRows, (row) => templateOf(text, split, row));
  return { ...split, rows: textCount(text), templates, bytes: text.bytes };
}

function splitText(text: TextVector): TokenizedText {
  if (textCount(text) < kernelRowsMin) return tokenizePlain(text);
  kernel ??= new TokenizerKernel();
  const split = kernel.split(text) ?? tokenizePlain(text);
  if (kernel.byteLength > kernelBytesKept) kernel = undefined;
  return split;
}

function templateOf(
  { bytes, offsets }: TextVector,
  split: Omit<TokenizedText, "firstRows">,
  row: number,
): Buffer {
  const variables: number[] = [];
  for (let i = split.varBase[row]!; i < split.varBase[row + 1]!; i++) {
    variables.push(split.varStart[i]!, split.varEnd[i]!);
  }
  return templateText(bytes, offsets[row]!, offsets[row + 1]!, variables);
}
