/** The tokeniser in WebAssembly. */

import type { BlockMemory } from "../kernels/block-memory.ts";
import type { TextVector } from "../vector/text.ts";
import type { TokenizedText } from "./plain-tokenizer.ts";

/** What kernels/assembly/split.ts exports; all parameters but numbers of things and `mask` are addresses. */
interface SplitKernels {
  setSplitTarget(codes: number, base: number, starts: number, ends: number): void;
  setSplitTables(slots: number, mask: number, hashes: number, firsts: number): void;
  splitRows(bytes: number, offsets: number, rows: number, max: number, templatesMax: number): number;
  splitVariables(): number;
}

/** Where tokenized messages lie in a memory: the texts' bytes, and the vectors of `TokenizedText`. */
export interface TokenizedPlaces {
  rows: number;
  bytes: number;
  codes: number;
  firstVariables: number;
  variableStarts: number;
  variableEnds: number;
}

/** What the kernel tells of its vectors beside where they lie. */
interface SplitPlaces extends TokenizedPlaces {
  templates: number;
  variables: number;
  firstRows: number;
}

/** Copies tokenized messages to a memory. Throws where it has no room for them; see `isTrap`. */
export function placeTokenized(
  memory: BlockMemory,
  tokenized: Omit<TokenizedText, "firstRows"> & { bytes: Uint8Array },
): TokenizedPlaces {
  return {
    rows: tokenized.codes.length,
    bytes: memory.placeVector(tokenized.bytes),
    codes: memory.placeVector(tokenized.codes),
    firstVariables: memory.placeVector(tokenized.firstVariables),
    variableStarts: memory.placeVector(tokenized.variableStarts),
    variableEnds: memory.placeVector(tokenized.variableEnds),
  };
}

/**
 * The first attempt reserves room for one variable per this many bytes of text; logs have one in about fifteen bytes.
 */
const bytesPerVariable = 8;

/** What `splitRows` returns where it ends before the last row. */
const tooManyVariables = -1;
const tooManyTemplates = -2;

/**
 * Splits the messages in a memory. Undefined as soon as they have more than `templatesMax` templates. Throws where it has no
 * room for them; see `isTrap`.
 */
export function tokenizeIn(
  memory: BlockMemory,
  text: TextVector,
  templatesMax: number,
): SplitPlaces | undefined {
  const rows = text.offsets.length - 1;
  const byteLength = text.offsets[rows]! - text.offsets[0]!;
  const typicalVariables = Math.ceil(byteLength / bytesPerVariable) + rows * 2;
  const variablesMax = Math.ceil(byteLength / 2) + rows;
  const messages = { bytes: memory.placeVector(text.bytes), offsets: memory.placeVector(text.offsets), rows };
  let places = tokenizeWithin(memory, messages, Math.min(typicalVariables, variablesMax), templatesMax);
  if (places === tooManyVariables) places = tokenizeWithin(memory, messages, variablesMax, templatesMax);
  return places === tooManyTemplates ? undefined : (places as SplitPlaces);
}

function tokenizeWithin(
  memory: BlockMemory,
  { bytes, offsets, rows }: { bytes: number; offsets: number; rows: number },
  variablesMax: number,
  templatesMax: number,
): SplitPlaces | typeof tooManyVariables | typeof tooManyTemplates {
  const kernels = memory.kernels<SplitKernels>();
  const [codes, firstRows] = [memory.reserve(rows * 4), memory.reserve(rows * 4)];
  const firstVariables = memory.reserve((rows + 1) * 4);
  const [variableStarts, variableEnds] = [memory.reserve(variablesMax * 4), memory.reserve(variablesMax * 4)];
  const slotCount = 2 ** Math.ceil(Math.log2(rows * 2));
  const slots = memory.reserve(slotCount * 4);
  memory.uint8(slots, slotCount * 4).fill(0);
  kernels.setSplitTarget(codes, firstVariables, variableStarts, variableEnds);
  kernels.setSplitTables(slots, slotCount - 1, memory.reserve(rows * 8), firstRows);
  const templates = kernels.splitRows(bytes, offsets, rows, variablesMax, Math.min(templatesMax, rows));
  if (templates === tooManyVariables || templates === tooManyTemplates) return templates;
  const variables = kernels.splitVariables();
  return {
    rows,
    templates,
    variables,
    bytes,
    codes,
    firstRows,
    firstVariables,
    variableStarts,
    variableEnds,
  };
}

/** The vectors of tokenized messages: views of the memory. */
export function viewTokenized(memory: BlockMemory, places: SplitPlaces): TokenizedText {
  const { rows, templates, variables } = places;
  return {
    codes: memory.uint32(places.codes, rows),
    firstRows: memory.uint32(places.firstRows, templates),
    firstVariables: memory.uint32(places.firstVariables, rows + 1),
    variableStarts: memory.uint32(places.variableStarts, variables),
    variableEnds: memory.uint32(places.variableEnds, variables),
  };
}
