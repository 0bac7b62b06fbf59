/** The tokeniser in plain TypeScript: for a few messages, and as the reference that the kernel is tested against. */
import type { TextVector } from "../vector/text.ts";
import { findLineValues } from "./keyed-lines.ts";

/** Stands for a variable in the text of a template; no UTF-8 has this byte. */
export const slotByte = 0xff;

/** 0: separates tokens, 1: belongs to a token, 2: belongs to a token and is a digit. */
export const byteClass = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (/[0-9]/.test(character)) return 2;
  return byte >= 0x80 || /[A-Za-z_.-]/.test(character) ? 1 : 0;
});

/** Rows of text, each as the code of its template and its variables. */
export interface TokenizedText {
  /** The template of each row. */
  codes: Uint32Array;
  /** The first row of each template. Templates are numbered in the order of their first rows. */
  firstRows: Uint32Array;
  /**
   * The variables of row r are those from firstVariables[r] to firstVariables[r + 1], in order. Variable v is bytes
   * [variableStarts[v], variableEnds[v]).
   */
  firstVariables: Uint32Array;
  variableStarts: Uint32Array;
  variableEnds: Uint32Array;
}

export function tokenizePlain({ bytes, offsets }: TextVector): TokenizedText {
  const rows = offsets.length - 1;
  const codes = new Uint32Array(rows);
  const firstVariables = new Uint32Array(rows + 1);
  const variables: number[] = [];
  const firstRows: number[] = [];
  const codeOf = new Map<string, number>();
  for (let row = 0; row < rows; row++) {
    const found = findVariables(bytes, offsets[row]!, offsets[row + 1]!);
    for (const place of found) variables.push(place);
    firstVariables[row + 1] = variables.length >> 1;
    const text = buildTemplateText(bytes, offsets[row]!, offsets[row + 1]!, found).toString("latin1");
    if (!codeOf.has(text)) codeOf.set(text, firstRows.push(row) - 1);
    codes[row] = codeOf.get(text)!;
  }
  return {
    codes,
    firstRows: Uint32Array.from(firstRows),
    firstVariables,
    variableStarts: Uint32Array.from(variables.filter((_, i) => i % 2 === 0)),
    variableEnds: Uint32Array.from(variables.filter((_, i) => i % 2 === 1)),
  };
}

/**
 * Bytes [from, to) with the slot byte in the place of each variable. `variables` has the start and the end of each, in
 * turn.
 */
export function buildTemplateText(
  bytes: Uint8Array,
  from: number,
  to: number,
  variables: ArrayLike<number>,
): Buffer {
  const parts: Uint8Array[] = [];
  let at = from;
  for (let i = 0; i < variables.length; i += 2) {
    parts.push(bytes.subarray(at, variables[i]), Uint8Array.of(slotByte));
    at = variables[i + 1]!;
  }
  parts.push(bytes.subarray(at, to));
  return Buffer.concat(parts);
}

/**
 * The start and the end of each variable in bytes [from, to), in turn. A message that has the slot byte is one
 * variable.
 */
function findVariables(bytes: Uint8Array, from: number, to: number): number[] {
  if (bytes.subarray(from, to).includes(slotByte)) return [from, to];
  const variables: number[] = [];
  const values = findLineValues(bytes, from, to);
  let at = from;
  for (let i = 0; i < values.length; i += 2) {
    addTokens(bytes, at, values[i]!, variables);
    variables.push(values[i]!, values[i + 1]!);
    at = values[i + 1]!;
  }
  addTokens(bytes, at, to, variables);
  return variables;
}

/** Adds the start and the end of each token with a digit in bytes [from, to), whose ends lie between tokens. */
function addTokens(bytes: Uint8Array, from: number, to: number, variables: number[]): void {
  for (let at = from; at < to; ) {
    const start = at;
    let classes = 0;
    for (; at < to && byteClass[bytes[at]!] !== 0; at++) classes |= byteClass[bytes[at]!]!;
    if ((classes & 2) !== 0) variables.push(start, at);
    if (at === start) at++;
  }
}
