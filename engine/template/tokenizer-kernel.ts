/** The tokeniser in WebAssembly, for one thread, in a memory of its own. */

import { Arena, type Block } from "../kernels/arena.ts";
import { instantiateKernels } from "../kernels/webassembly.ts";
import type { TextVector } from "../vector/text.ts";
import type { TokenizedText } from "./plain-tokenizer.ts";

interface Exports {
  setSplitTarget(codes: number, base: number, starts: number, ends: number): void;
  setSplitTables(slots: number, mask: number, hashes: number, firsts: number): void;
  splitRows(bytes: number, offsets: number, rows: number, max: number): number;
  splitVariables(): number;
}

/** Room for the longest messages of a chunk with a variable for every other byte. */
const memoryBytesMax = 1024 * 1024 * 1024;
/** Bytes of text for each variable that there is room for at first; logs have about fifteen. */
const bytesAVariable = 8;

export class TokenizerKernel {
  readonly #arena = new Arena({ bytesMax: memoryBytesMax });
  readonly #exports = instantiateKernels<Exports>(this.#arena.memory);
  #blocks: Block[] = [];

  /** Its memory, which never shrinks. */
  get byteLength(): number {
    return this.#arena.memory.buffer.byteLength;
  }

  /** Undefined where there is no memory for it. */
  split(text: TextVector): TokenizedText | undefined {
    const rows = text.offsets.length - 1;
    const byteLength = text.offsets[rows]! - text.offsets[0]!;
    const few = Math.ceil(byteLength / bytesAVariable) + rows * 2;
    const most = Math.ceil(byteLength / 2) + rows;
    try {
      return this.#attempt(text, Math.min(few, most)) ?? this.#attempt(text, most);
    } catch (error) {
      if (error === noRoom) return undefined;
      throw error;
    } finally {
      for (const block of this.#blocks) this.#arena.free(block);
      this.#blocks = [];
    }
  }

  /** Undefined where there are more variables than that. */
  #attempt(text: TextVector, variablesMax: number): TokenizedText | undefined {
    for (const block of this.#blocks) this.#arena.free(block);
    this.#blocks = [];
    const rows = text.offsets.length - 1;
    const bytes = this.#take(text.bytes.byteLength);
    bytes.uint8().set(text.bytes);
    const offsets = this.#take(text.offsets.byteLength);
    offsets.uint32().set(text.offsets);
    const [codes, firsts] = [this.#take(rows * 4), this.#take(rows * 4)];
    const base = this.#take((rows + 1) * 4);
    const [starts, ends] = [this.#take(variablesMax * 4), this.#take(variablesMax * 4)];
    const slotCount = 2 ** Math.ceil(Math.log2(rows * 2));
    const slots = this.#take(slotCount * 4);
    slots.uint8().fill(0);
    const hashes = this.#take(rows * 8);
    this.#exports.setSplitTarget(codes.at, base.at, starts.at, ends.at);
    this.#exports.setSplitTables(slots.at, slotCount - 1, hashes.at, firsts.at);
    const templates = this.#exports.splitRows(bytes.at, offsets.at, rows, variablesMax);
    if (templates < 0) return undefined;
    const variables = this.#exports.splitVariables();
    return {
      codes: codes.uint32().slice(),
      firstRows: firsts.uint32(templates).slice(),
      varBase: base.uint32().slice(),
      varStart: starts.uint32(variables).slice(),
      varEnd: ends.uint32(variables).slice(),
    };
  }

  /** Throws `noRoom`. */
  #take(byteLength: number): Block {
    const block = this.#arena.allocate(byteLength);
    if (block === undefined) throw noRoom;
    this.#blocks.push(block);
    return block;
  }
}

const noRoom = new Error("the kernel's memory is full");
