/**
 * The column cache of one thread: decoded columns in WebAssembly memory, where kernels read them, up to a budget; the least
 * recently used go first. Work on it holds a lease: what it has touched stays until the lease ends, though other work runs meanwhile.
 */
import { Failure } from "../failure.ts";
import { Arena, type Block } from "./arena.ts";
import type { Kernels } from "./contract.ts";
import type { ColumnHeap, Heap, Held } from "./heap.ts";
import { openKernels } from "./wasm-kernels.ts";

/** Memory of one column, or the scratch of one lease. */
class Holding implements Held {
  readonly #memory: ColumnCache;
  readonly #blocks: Block[] = [];
  /** Called when the memory is taken back. */
  readonly onDrop: () => unknown;
  byteLength = 0;
  /** Leases that have touched it. */
  leases = 0;
  /** By `performance.now`. */
  usedMs = 0;

  constructor(memory: ColumnCache, onDrop: () => unknown) {
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

  /** Hands over the blocks and forgets them. */
  takeBlocks(): Block[] {
    this.byteLength = 0;
    return this.#blocks.splice(0);
  }

  #take(byteLength: number): Block {
    const block = this.#memory.allocate(byteLength);
    this.#blocks.push(block);
    this.byteLength += block.heldBytes;
    return block;
  }
}

/** One piece of work's hold on the columns that it touches. */
export class Lease implements ColumnHeap {
  readonly kernels: Kernels<ArrayBufferLike>;
  readonly #memory: ColumnCache;
  readonly #scratch: Holding;
  readonly #touched = new Set<Holding>();

  constructor(memory: ColumnCache) {
    this.#memory = memory;
    this.kernels = memory.kernels;
    this.#scratch = new Holding(memory, () => undefined);
  }

  get scratch(): Heap {
    return this.#scratch;
  }

  hold(onDrop: () => unknown): Held {
    const holding = this.#memory.hold(onDrop);
    this.touch(holding);
    return holding;
  }

  touch(held: Held): void {
    const holding = held as Holding;
    if (this.#touched.has(holding)) return;
    this.#touched.add(holding);
    holding.leases++;
    this.#memory.use(holding);
  }

  hasRoom(byteLength: number): boolean {
    return this.#memory.hasRoom(byteLength);
  }

  release(held: Held): void {
    const holding = held as Holding;
    if (this.#touched.delete(holding)) holding.leases--;
    this.#memory.release(holding);
  }

  end(): void {
    for (const holding of this.#touched) holding.leases--;
    this.#touched.clear();
    this.#memory.free(this.#scratch);
  }
}

/** What was used so lately will be used again. */
const recentMs = 60_000;
/** Where there was no room, there is none for so long. */
const fullMs = 1_000;

export interface ColumnCacheOptions {
  /** Budget, at most 4 GiB. */
  bytesMax: number;
  /** Whether `hasRoom` tells of none where something would go that was used lately; else it always tells of some. */
  keepsRecent: boolean;
}

export class ColumnCache {
  /** For vectors on this heap alone. */
  readonly kernels: Kernels<ArrayBufferLike>;
  readonly #arena: Arena;
  readonly #keepsRecent: boolean;
  /** In order of last use. */
  readonly #holdings = new Set<Holding>();
  #fullUntilMs = 0;

  constructor({ bytesMax, keepsRecent }: ColumnCacheOptions) {
    this.#arena = new Arena({ bytesMax });
    this.#keepsRecent = keepsRecent;
    this.kernels = openKernels(this.#arena);
  }

  lease(): Lease {
    return new Lease(this);
  }

  hold(onDrop: () => unknown): Holding {
    const holding = new Holding(this, onDrop);
    this.#holdings.add(holding);
    return holding;
  }

  use(holding: Holding): void {
    if (!this.#holdings.delete(holding)) return;
    holding.usedMs = performance.now();
    this.#holdings.add(holding);
  }

  /** Whether something is to be kept here: more than there is room for, read again and again, would push itself out. */
  hasRoom(byteLength: number): boolean {
    if (!this.#keepsRecent) return true;
    const nowMs = performance.now();
    if (nowMs < this.#fullUntilMs) return false;
    if (this.#arena.largestFreeBytes >= byteLength || this.#idleBytes(nowMs - recentMs) >= byteLength)
      return true;
    this.#fullUntilMs = nowMs + fullMs;
    return false;
  }

  /** Of what was not used since. */
  #idleBytes(sinceMs: number): number {
    let bytes = 0;
    for (const { leases, usedMs, byteLength } of this.#holdings) {
      if (usedMs >= sinceMs) break;
      if (leases === 0) bytes += byteLength;
    }
    return bytes;
  }

  /** Takes memory back, unless a lease still holds it: then it goes later. */
  release(held: Held): void {
    const holding = held as Holding;
    if (holding.leases > 0 || !this.#holdings.delete(holding)) return;
    this.free(holding);
    holding.onDrop();
  }

  free(holding: Holding): void {
    for (const block of holding.takeBlocks()) this.#arena.free(block);
  }

  /** Throws Failure "limit" where what work now holds is more than the budget. */
  allocate(byteLength: number): Block {
    for (;;) {
      const block = this.#arena.allocate(byteLength);
      if (block !== undefined) return block;
      const oldest = this.#oldestFree();
      if (oldest === undefined) {
        throw new Failure(
          "limit",
          `the query needs more columns at once than the ${this.#arena.bytesMax} bytes of a scan thread's column cache hold`,
        );
      }
      this.release(oldest);
    }
  }

  #oldestFree(): Holding | undefined {
    for (const holding of this.#holdings) if (holding.leases === 0) return holding;
    return undefined;
  }
}
