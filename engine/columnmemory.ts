/**
 * The column cache of one thread: decoded columns in WebAssembly memory, where kernels read them, up to a budget; the least
 * recently used go first. Work on it is cut into turns: what a turn has touched stays until the next turn begins.
 */

import { Failure } from "./failure.ts";
import type { ColumnHeap, Heap, Held } from "./heap.ts";
import { Arena, type Block } from "./kernels/arena.ts";
import type { Kernels } from "./kernels/contract.ts";
import { openKernels } from "./kernels/kernels.ts";

/** Memory of one column, or of one turn. */
class Holding implements Held {
  readonly #memory: ColumnMemory;
  readonly #blocks: Block[] = [];
  /** Called when the memory is taken back. */
  readonly onDrop: () => unknown;
  byteLength = 0;
  turn = 0;

  constructor(memory: ColumnMemory, onDrop: () => unknown) {
    this.#memory = memory;
    this.onDrop = onDrop;
  }

  uint8(length: number): Uint8Array {
    return this.#take(length).uint8(length).fill(0);
  }

  uint16(length: number): Uint16Array {
    return this.#take(length * 2)
      .uint16(length)
      .fill(0);
  }

  uint32(length: number): Uint32Array {
    return this.#take(length * 4)
      .uint32(length)
      .fill(0);
  }

  float64(length: number): Float64Array {
    return this.#take(length * 8)
      .float64(length)
      .fill(0);
  }

  place(bytes: Uint8Array): Uint8Array {
    const placed = this.#take(bytes.byteLength).uint8(bytes.byteLength);
    placed.set(bytes);
    return placed;
  }

  blocks(): readonly Block[] {
    return this.#blocks;
  }

  clear(): void {
    this.#blocks.length = 0;
    this.byteLength = 0;
  }

  #take(byteLength: number): Block {
    const block = this.#memory.allocate(byteLength);
    this.#blocks.push(block);
    this.byteLength += block.heldBytes;
    return block;
  }
}

export class ColumnMemory implements ColumnHeap {
  /** For vectors on this heap alone. */
  readonly kernels: Kernels<ArrayBufferLike>;
  readonly #arena: Arena;
  /** In order of last use. */
  readonly #holdings = new Set<Holding>();
  readonly #scratch: Holding;
  #turn = 0;

  /** @param bytesMax budget of the thread's columns, at most 4 GiB */
  constructor(bytesMax: number) {
    this.#arena = new Arena({ bytesMax });
    this.kernels = openKernels(this.#arena);
    this.#scratch = new Holding(this, () => undefined);
  }

  get usedBytes(): number {
    return this.#arena.usedBytes;
  }

  /** Vectors until the turn ends. */
  get scratch(): Heap {
    return this.#scratch;
  }

  /** From here on, what earlier turns touched may be taken back, and their scratch is gone. */
  beginTurn(): void {
    this.#turn++;
    this.#free(this.#scratch);
  }

  hold(onDrop: () => unknown): Holding {
    const holding = new Holding(this, onDrop);
    holding.turn = this.#turn;
    this.#holdings.add(holding);
    return holding;
  }

  touch(holding: Holding): void {
    if (holding.turn === this.#turn) return;
    holding.turn = this.#turn;
    this.#holdings.delete(holding);
    this.#holdings.add(holding);
  }

  release(holding: Holding): void {
    if (!this.#holdings.delete(holding)) return;
    this.#free(holding);
    holding.onDrop();
  }

  /** Throws Failure "limit" where what this turn needs is more than the budget. */
  allocate(byteLength: number): Block {
    for (;;) {
      const block = this.#arena.allocate(byteLength);
      if (block !== undefined) return block;
      const [oldest] = this.#holdings;
      if (oldest === undefined || oldest.turn === this.#turn) {
        throw new Failure(
          "limit",
          `the query needs more columns at once than the ${this.#arena.bytesMax} bytes of a scan thread's column cache hold`,
        );
      }
      this.release(oldest);
    }
  }

  #free(holding: Holding): void {
    for (const block of holding.blocks()) this.#arena.free(block);
    holding.clear();
  }
}
