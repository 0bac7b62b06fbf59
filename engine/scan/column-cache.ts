/**
 * The column cache of one thread: decoded columns in WebAssembly memory, where kernels read them, within a budget. A piece
 * of work takes a lease: columns that it has touched stay until the lease ends, also while other work runs.
 *
 * The least recently used columns are evicted first. Columns that do not fit together, and are read again and again, would
 * evict each other before they are read again. So a column that was evicted and comes back is passing where every other one was
 * used since, the oldest within a minute: passing columns are evicted before all others. A column that is used again some time
 * later is no longer passing.
 */
import { Failure } from "../failure.ts";
import { Arena, type ArenaBlock } from "../kernels/arena.ts";
import type { Kernels } from "../kernels/contract.ts";
import type { ColumnHeap, ColumnMemory, Heap } from "../kernels/heap.ts";
import { openKernels } from "../kernels/wasm-kernels.ts";

/** Failure "limit" where leases hold so much of the column cache that a column does not fit beside it. */
export class ColumnMemoryFailure extends Failure {
  /** Whether there was more than one lease: the column may fit once the others have ended. */
  readonly isShared: boolean;

  constructor(bytesMax: number, isShared: boolean) {
    const problem = `the query needs more columns at once than the ${bytesMax} bytes of a scan thread's column cache hold`;
    super("limit", problem);
    this.isShared = isShared;
  }
}

/** The memory of one column, or the scratch memory of one lease. */
class CacheEntry implements ColumnMemory {
  readonly copies = true;
  readonly #cache: ColumnCache;
  readonly #blocks: ArenaBlock[] = [];
  /** Called before the memory is evicted, with the time of its last use. */
  readonly onEvict: (usedMs: number) => unknown;
  byteLength = 0;
  /** Leases that have touched it; it can be evicted at 0. */
  pins = 0;
  /** Whether `release` was called: the memory is evicted as soon as no lease holds it. */
  isReleased = false;
  /** When it was first and last touched, by `performance.now`. */
  loadedMs = 0;
  usedMs = 0;

  constructor(cache: ColumnCache, onEvict: (usedMs: number) => unknown) {
    this.#cache = cache;
    this.onEvict = onEvict;
  }

  uint8(length: number): Uint8Array {
    return this.#allocate(length).uint8(length).fill(0);
  }

  unfilled(length: number): Uint8Array {
    return this.#allocate(length).uint8(length);
  }

  uint16(length: number): Uint16Array {
    return this.#allocate(length * 2)
      .uint16(length)
      .fill(0);
  }

  uint32(length: number): Uint32Array {
    return this.#allocate(length * 4)
      .uint32(length)
      .fill(0);
  }

  float64(length: number): Float64Array {
    return this.#allocate(length * 8)
      .float64(length)
      .fill(0);
  }

  get kernels(): Kernels<ArrayBufferLike> {
    return this.#cache.kernels;
  }

  withScratch<T>(use: (scratch: Heap) => T): T {
    const scratch = new CacheEntry(this.#cache, () => undefined);
    try {
      return use(scratch);
    } finally {
      this.#cache.free(scratch);
    }
  }

  window(from: number, byteLength: number): Uint8Array | undefined {
    return this.#cache.window(from, byteLength);
  }

  place(bytes: Uint8Array): Uint8Array {
    const placed = this.#allocate(bytes.byteLength).uint8(bytes.byteLength);
    placed.set(bytes);
    return placed;
  }

  retain(bytes: Uint8Array): Uint8Array {
    return this.#blocks.some((block) => block.holds(bytes)) ? bytes : this.place(bytes);
  }

  /** Removes the blocks from the entry and returns them; the caller frees them. */
  detachBlocks(): ArenaBlock[] {
    this.byteLength = 0;
    return this.#blocks.splice(0);
  }

  #allocate(byteLength: number): ArenaBlock {
    const block = this.#cache.allocate(byteLength);
    this.#blocks.push(block);
    this.byteLength += block.allocatedBytes;
    return block;
  }
}

/** One piece of work's hold on the columns that it touches. `end` must be called. */
export class Lease implements ColumnHeap {
  readonly kernels: Kernels<ArrayBufferLike>;
  readonly #cache: ColumnCache;
  readonly #scratch: CacheEntry;
  readonly #pinned = new Set<CacheEntry>();

  constructor(cache: ColumnCache) {
    this.#cache = cache;
    this.kernels = cache.kernels;
    this.#scratch = new CacheEntry(cache, () => undefined);
  }

  get scratch(): Heap {
    return this.#scratch;
  }

  allocateColumn(onEvict: (usedMs: number) => unknown, evictedUsedMs?: number): ColumnMemory {
    const entry = this.#cache.hold(onEvict, evictedUsedMs);
    this.pin(entry);
    return entry;
  }

  pin(memory: ColumnMemory): void {
    const entry = memory as CacheEntry;
    if (this.#pinned.has(entry)) return;
    this.#pinned.add(entry);
    entry.pins++;
    this.#cache.markUsed(entry);
  }

  hasRoom(byteLength: number): boolean {
    return this.#cache.hasRoom(byteLength);
  }

  hasFree(byteLength: number): boolean {
    return this.#cache.hasFree(byteLength);
  }

  release(memory: ColumnMemory): void {
    const entry = memory as CacheEntry;
    if (this.#pinned.delete(entry)) entry.pins--;
    this.#cache.release(entry);
  }

  /** Gives back what it holds. */
  end(): void {
    this.#cache.endLease(this);
    for (const entry of this.#pinned) {
      entry.pins--;
      if (entry.isReleased) this.#cache.release(entry);
    }
    this.#pinned.clear();
    this.#cache.free(this.#scratch);
  }
}

/** Memory that a thread prepares for its first queries: enough for the filters of two million rows; with more, none got faster. */
const preparedBytesMax = 24 * 1024 * 1024;
const preparedShareMax = 1 / 8;
/** Size of the pages in which the system gives memory, at least. */
const pageBytes = 4_096;
/** A column that was used this recently is expected to be used again. */
const recentUseMs = 60_000;
/** A use so long after a column was loaded is not of the same scan, nor of one that runs beside it. */
const laterUseMs = 1_000;
/** After `hasRoom` found no room, it answers false for so long without looking again. */
const fullBackoffMs = 1_000;

/** Size of the window; see `Heap.window`. */
const windowBytes = 8 * 1024 * 1024;
/** A block of texts rarely takes more of the window. */
const preparedWindowBytes = 4 * 1024 * 1024;
/** Room before the window: it can hold bytes that lie so far from the beginning of their column. */
const windowAt = 64 * 1024 * 1024;
/** A smaller cache has no window, which would divide its memory. */
const windowCacheBytesMin = 512 * 1024 * 1024;

export interface ColumnCacheOptions {
  /** Budget, at most 4 GiB. */
  bytesMax: number;
  /**
   * Whether `hasRoom` returns false where room could only be made by evicting recently used columns. Without it
   * `hasRoom` always returns true.
   */
  keepsRecent: boolean;
}

export class ColumnCache {
  /** Only for vectors in this cache's memory. */
  readonly kernels: Kernels<ArrayBufferLike>;
  readonly #arena: Arena;
  readonly #keepsRecent: boolean;
  readonly #window: ArenaBlock | undefined;
  /** Columns in the order of their last use, the oldest first. */
  readonly #entries = new Set<CacheEntry>();
  readonly #leases = new Set<Lease>();
  /** Those of the columns that are passing. */
  readonly #passing = new Set<CacheEntry>();
  #fullUntilMs = 0;

  constructor({ bytesMax, keepsRecent }: ColumnCacheOptions) {
    this.#arena = new Arena({ bytesMax });
    this.#keepsRecent = keepsRecent;
    this.kernels = openKernels(this.#arena);
    this.#window = this.#makeWindow(this.#arena.bytesMax);
  }

  /**
   * A view of the window begins as many bytes before it as there are in a column before the bytes that the window holds.
   * So the window lies after room for columns.
   */
  #makeWindow(bytesMax: number): ArenaBlock | undefined {
    if (bytesMax < windowCacheBytesMin) return undefined;
    const before = this.#arena.allocate(windowAt);
    const window = this.#arena.allocate(windowBytes);
    if (before !== undefined) this.#arena.free(before);
    return window;
  }

  window(from: number, byteLength: number): Uint8Array | undefined {
    const window = this.#window;
    if (window === undefined || byteLength > window.byteLength || from > window.at) return undefined;
    return window.uint8(from + byteLength, -from);
  }

  lease(): Lease {
    const lease = new Lease(this);
    this.#leases.add(lease);
    return lease;
  }

  endLease(lease: Lease): void {
    this.#leases.delete(lease);
  }

  /** `evictedUsedMs`: when the column had been used last before it was evicted. */
  hold(onEvict: (usedMs: number) => unknown, evictedUsedMs?: number): CacheEntry {
    const entry = new CacheEntry(this, onEvict);
    if (evictedUsedMs !== undefined && this.#isPassing(evictedUsedMs)) this.#passing.add(entry);
    this.#entries.add(entry);
    entry.loadedMs = performance.now();
    return entry;
  }

  markUsed(entry: CacheEntry): void {
    if (!this.#entries.delete(entry)) return;
    entry.usedMs = performance.now();
    if (entry.usedMs - entry.loadedMs >= laterUseMs) this.#passing.delete(entry);
    this.#entries.add(entry);
  }

  /**
   * Returns whether a column of `byteLength` bytes is worth caching. Columns that are read again and again but do not
   * fit together would evict each other.
   */
  hasRoom(byteLength: number): boolean {
    if (!this.#keepsRecent) return true;
    const nowMs = performance.now();
    if (nowMs < this.#fullUntilMs) return false;
    if (this.hasFree(byteLength) || this.#sumIdleBytes(nowMs - recentUseMs) >= byteLength) return true;
    this.#fullUntilMs = nowMs + fullBackoffMs;
    return false;
  }

  /** Returns whether a block of so many bytes is free. */
  hasFree(byteLength: number): boolean {
    return this.#arena.largestFreeBytes >= byteLength;
  }

  /** Bytes of the columns that no lease holds and that were last used before `sinceMs`. */
  #sumIdleBytes(sinceMs: number): number {
    let bytes = 0;
    for (const { pins, usedMs, byteLength } of this.#entries) {
      if (usedMs >= sinceMs) break;
      if (pins === 0) bytes += byteLength;
    }
    return bytes;
  }

  /** Evicts memory that nobody will ask for, at once or when the last lease on it ends. */
  release(memory: ColumnMemory): void {
    const entry = memory as CacheEntry;
    entry.isReleased = true;
    if (entry.pins > 0 || !this.#entries.delete(entry)) return;
    this.#passing.delete(entry);
    entry.onEvict(entry.usedMs);
    this.free(entry);
  }

  free(entry: CacheEntry): void {
    for (const block of entry.detachBlocks()) this.#arena.free(block);
  }

  /**
   * Allocates a block, and evicts columns for it where it must. Throws ColumnMemoryFailure where the columns that
   * leases hold leave no room for it.
   */
  allocate(byteLength: number): ArenaBlock {
    for (;;) {
      const block = this.#arena.allocate(byteLength);
      if (block !== undefined) return block;
      const evicted = firstWithoutLease(this.#passing) ?? firstWithoutLease(this.#entries);
      if (evicted === undefined) throw new ColumnMemoryFailure(this.#arena.bytesMax, this.#leases.size > 1);
      this.release(evicted);
    }
  }

  /**
   * Has the system give memory for the columns that the first queries read. A page takes a microsecond or two when it is
   * first written, as long as decoding what fills it: a first count of a number took 26 ms so, and 34 without.
   */
  prepare(): void {
    if (this.#window !== undefined) writePages(this.#window.uint8(preparedWindowBytes));
    const bytesMax = Math.min(preparedBytesMax, this.#arena.bytesMax * preparedShareMax);
    const block = this.#arena.allocate(Math.min(bytesMax, this.#arena.largestFreeBytes));
    if (block === undefined) return;
    writePages(block.uint8());
    this.#arena.free(block);
  }

  /** Whether a column that had been used last at `evictedUsedMs` is passing when it comes back. */
  #isPassing(evictedUsedMs: number): boolean {
    const oldest = firstWithoutLease(this.#entries);
    if (oldest === undefined || performance.now() - oldest.usedMs >= recentUseMs) return false;
    return evictedUsedMs < oldest.usedMs;
  }
}

/** The first entry that no lease holds. */
function firstWithoutLease(entries: Iterable<CacheEntry>): CacheEntry | undefined {
  for (const entry of entries) if (entry.pins === 0) return entry;
  return undefined;
}

/** Writes to each page what is in it, so that the system gives the memory. */
function writePages(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; at += pageBytes) bytes[at]! |= 0;
}
