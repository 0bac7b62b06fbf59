/** The tokeniser in WebAssembly, for one thread, with a memory of its own. */

import { Arena, type ArenaBlock } from "../kernels/arena.ts";
import { instantiateKernels } from "../kernels/webassembly.ts";
import type { TextVector } from "../vector/text.ts";
import type { TokenizedText } from "./plain-tokenizer.ts";

/** What kernels/assembly/split.ts exports; all parameters but `rows`, `max` and `mask` are addresses. */
interface Exports {
  setSplitTarget(codes: number, base: number, starts: number, ends: number): void;
  setSplitTables(slots: number, mask: number, hashes: number, firsts: number): void;
  splitRows(bytes: number, offsets: number, rows: number, max: number): number;
  splitVariables(): number;
}

/** Enough for the longest messages of a chunk with a variable for every other byte. */
const memoryBytesMax = 1024 * 1024 * 1024;
/**
 * The first attempt reserves room for one variable per this many bytes of text; logs have one in about fifteen bytes.
 */
const bytesPerVariable = 8;

export class TokenizerKernel {
  readonly #arena = new Arena({ bytesMax: memoryBytesMax });
  readonly #exports = instantiateKernels<Exports>(this.#arena.memory);
  #blocks: ArenaBlock[] = [];

  /** Bytes of its memory, which never shrinks. */
  get byteLength(): number {
    return this.#arena.memory.buffer.byteLength;
  }

  /** Undefined where the kernel's memory has no room for the text. */
  tokenize(text: TextVector): TokenizedText | undefined {
    const rows = text.offsets.length - 1;
    const byteLength = text.offsets[rows]! - text.offsets[0]!;
    const typicalVariables = Math.ceil(byteLength / bytesPerVariable) + rows * 2;
    const variablesMax = Math.ceil(byteLength / 2) + rows;
    try {
      return (
        this.#tokenizeWithin(text, Math.min(typicalVariables, variablesMax)) ??
        this.#tokenizeWithin(text, variablesMax)
      );
    } catch (error) {
      if (error === memoryFull) return undefined;
      throw error;
    } finally {
      for (const block of this.#blocks) this.#arena.free(block);
      this.#blocks = [];
    }
  }

  /** Undefined where there may be more variables than `variablesMax`. */
  #tokenizeWithin(text: TextVector, variablesMax: number): TokenizedText | undefined {
    for (const block of this.#blocks) this.#arena.free(block);
    this.#blocks = [];
    const rows = text.offsets.length - 1;
    const bytes = this.#allocate(text.bytes.byteLength);
    bytes.uint8().set(text.bytes);
    const offsets = this.#allocate(text.offsets.byteLength);
    offsets.uint32().set(text.offsets);
    const [codes, firsts] = [this.#allocate(rows * 4), this.#allocate(rows * 4)];
    const base = this.#allocate((rows + 1) * 4);
    const [starts, ends] = [this.#allocate(variablesMax * 4), this.#allocate(variablesMax * 4)];
    const slotCount = 2 ** Math.ceil(Math.log2(rows * 2));
    const slots = this.#allocate(slotCount * 4);
    slots.uint8().fill(0);
    const hashes = this.#allocate(rows * 8);
    this.#exports.setSplitTarget(codes.at, base.at, starts.at, ends.at);
    this.#exports.setSplitTables(slots.at, slotCount - 1, hashes.at, firsts.at);
    const templates = this.#exports.splitRows(bytes.at, offsets.at, rows, variablesMax);
    if (templates < 0) return undefined;
    const variables = this.#exports.splitVariables();
    return {
      codes: codes.uint32().slice(),
      firstRows: firsts.uint32(templates).slice(),
      firstVariables: base.uint32().slice(),
      variableStarts: starts.uint32(variables).slice(),
      variableEnds: ends.uint32(variables).slice(),
    };
  }

  /** Throws `memoryFull` where there is no room. */
  #allocate(byteLength: number): ArenaBlock {
    const block = this.#arena.allocate(byteLength);
    if (block === undefined) throw memoryFull;
    this.#blocks.push(block);
    return block;
  }
}

const memoryFull = new Error("the kernel's memory is full");
