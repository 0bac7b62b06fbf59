/**
 * One page of an LMDB data file (data version 2, as lmdb-js compiles liblmdb), decoded without trusting a byte of it.
 * LMDB has no checksums, so every bound that its native code would rely on is checked here.
 * Integers are little-endian; offsets in a page count from its start unless said otherwise.
 *
 *  page    0 page number u64, 8 snapshot that wrote it u64, 16 zero u16, 18 flags u16,
 *          20 end of the pointers u16, 22 start of the nodes u16 (both counted from 24), or on an overflow page
 *          20 number of pages u32; 24 pointers u16 …, free space, nodes up to the end of the page
 *  node    0 data bytes u32, 4 flags u16, 6 key bytes u16, 8 key, then data or (flag 1) an overflow place; even length.
 *          In a branch the first six bytes are the child's page number.
 *  place   0 page u64, 8 snapshot u64, 16 number of pages u64; the data stands there behind a page header
 *  meta    page header, then 24 magic u32, 28 version u32, 32 address u64, 40 map bytes u64, 48 tree of free pages,
 *          96 main tree, 144 last page u64, 152 snapshot u64, 160 boot id u64
 *  tree    0 page bytes u32 (free tree alone), 4 flags u16, 6 depth u16, 8 branch pages, 16 leaf pages,
 *          24 overflow pages, 32 entries, 40 root (u64 each)
 */
import { Failure } from "../failure.ts";

export const pageHeaderBytes = 24;
export const metaBytes = 168;
const nodeHeaderBytes = 8;
const overflowPlaceBytes = 24;
const treeRecordBytes = 48;
const magic = 0xbeefc0de;
const dataVersion = 2;
const integerKeyFlag = 8;
/** 256 TiB of the smallest pages: more than any file, and offsets stay exact numbers. */
const lastPageMax = 2 ** 36;
const PageFlag = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;

export interface Tree {
  depth: number;
  branchPages: number;
  leafPages: number;
  overflowPages: number;
  entries: number;
  /** Page number, or undefined where the tree is empty. */
  root: number | undefined;
}

/** One of the two records from which a snapshot is reached; a commit overwrites the older one. */
export interface Meta {
  slot: number;
  /** Number of the transaction that wrote it; even in slot 0, odd in slot 1. */
  snapshot: number;
  lastPage: number;
  free: Tree;
  main: Tree;
  /** The record as it was read, to see later whether it still stands. */
  bytes: Buffer;
}

/** Where the bytes of a value stand in the data file. */
export interface ValuePlace {
  offset: number;
  length: number;
}

export interface LeafNode extends ValuePlace {
  key: Buffer;
  /** Where the value has pages of its own. */
  overflow: { page: number; pages: number } | undefined;
}

export interface BranchNode {
  /** Smallest key below; without meaning in the first node of a page. */
  key: Buffer;
  page: number;
}

export function damage(where: string, what: string): Failure {
  return new Failure("damage", `${where}: ${what}`);
}

/** 64 bits as a number; beyond 2^53 it is rounded, which every later bound refuses. */
export function readU64(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + 4) * 0x1_0000_0000 + bytes.readUInt32LE(at);
}

/** Largest key that LMDB takes at this page size. */
export function keyBytesMax(pageBytes: number): number {
  return nodeBytesMax(pageBytes) - (nodeHeaderBytes + treeRecordBytes);
}

function nodeBytesMax(pageBytes: number): number {
  return (((pageBytes - pageHeaderBytes) >> 1) & ~1) - 2;
}

/** Pages that a value outside the tree takes. */
export function overflowPages(valueBytes: number, pageBytes: number): number {
  return Math.floor((pageHeaderBytes - 1 + valueBytes) / pageBytes) + 1;
}

/** The page size that the first meta page names. Throws Failure "damage" where it cannot be one. */
export function readPageBytes(firstPage: Buffer): number {
  if (firstPage.length < metaBytes) throw damage("page 0", "the file ends inside it");
  const pageBytes = firstPage.readUInt32LE(48);
  const known = pageBytes >= 4096 && pageBytes <= 65536 && (pageBytes & (pageBytes - 1)) === 0;
  if (!known) throw damage("page 0", `names a page size of ${pageBytes}`);
  return pageBytes;
}

/** Decodes a meta page. Throws Failure "damage" where a field that never changes is not what LMDB writes. */
export function readMeta(bytes: Buffer, slot: number, pageBytes: number): Meta {
  const where = `page ${slot}`;
  if (bytes.length < metaBytes) throw damage(where, "the file ends inside it");
  const fixed =
    readU64(bytes, 0) === slot &&
    readU64(bytes, 8) === 0 &&
    bytes.readUInt16LE(16) === 0 &&
    bytes.readUInt16LE(18) === PageFlag.meta &&
    bytes.readUInt32LE(24) === magic &&
    bytes.readUInt32LE(28) === dataVersion &&
    readU64(bytes, 32) === 0;
  if (!fixed) throw damage(where, "it is not a meta page");
  const flags = bytes.readUInt32LE(48) === pageBytes && bytes.readUInt16LE(52) === integerKeyFlag;
  if (!flags || bytes.readUInt32LE(96) !== 0 || bytes.readUInt16LE(100) !== 0) {
    throw damage(where, "its page size or flags are not those of this store");
  }
  const snapshot = readU64(bytes, 152);
  if (snapshot % 2 !== slot && snapshot !== 0) throw damage(where, `it cannot hold snapshot ${snapshot}`);
  const lastPage = readU64(bytes, 144);
  if (lastPage > lastPageMax) throw damage(where, `it claims ${lastPage} pages`);
  return {
    slot,
    snapshot,
    lastPage,
    free: readTree(bytes, 48, where),
    main: readTree(bytes, 96, where),
    bytes: Buffer.from(bytes.subarray(0, metaBytes)),
  };
}

/** The two meta pages of an environment that holds nothing. */
export function emptyDataFile(pageBytes: number, mapBytes: number): Buffer {
  const file = Buffer.alloc(2 * pageBytes);
  for (const slot of [0, 1]) {
    const page = file.subarray(slot * pageBytes, (slot + 1) * pageBytes);
    page.writeUInt32LE(slot, 0);
    page.writeUInt16LE(PageFlag.meta, 18);
    page.writeUInt32LE(magic, 24);
    page.writeUInt32LE(dataVersion, 28);
    page.writeBigUInt64LE(BigInt(mapBytes), 40);
    page.writeUInt32LE(pageBytes, 48);
    page.writeUInt16LE(integerKeyFlag, 52);
    for (const tree of [48, 96]) page.writeBigInt64LE(-1n, tree + 40);
    page.writeUInt32LE(1, 144);
  }
  return file;
}

function readTree(bytes: Buffer, at: number, where: string): Tree {
  const empty = bytes.readUInt32LE(at + 40) === 0xffffffff && bytes.readUInt32LE(at + 44) === 0xffffffff;
  const depth = bytes.readUInt16LE(at + 6);
  if (empty !== (depth === 0) || depth > 31) throw damage(where, `a tree of depth ${depth}`);
  return {
    depth,
    branchPages: readU64(bytes, at + 8),
    leafPages: readU64(bytes, at + 16),
    overflowPages: readU64(bytes, at + 24),
    entries: readU64(bytes, at + 32),
    root: empty ? undefined : readU64(bytes, at + 40),
  };
}

/** A page of a tree, its header and pointers checked; nodes are decoded one by one. */
export class Page {
  readonly number: number;
  readonly leaf: boolean;
  readonly nodes: number;
  /** The transaction that wrote the page. */
  readonly snapshot: number;
  readonly #bytes: Buffer;
  readonly #start: number;

  /** Throws Failure "damage" unless `bytes` are page `number` of a snapshot not newer than `snapshot`. */
  constructor(bytes: Buffer, number: number, leaf: boolean, snapshot: number) {
    const lower = bytes.readUInt16LE(20);
    this.#bytes = bytes;
    this.#start = bytes.readUInt16LE(22) + pageHeaderBytes;
    this.number = number;
    this.leaf = leaf;
    this.nodes = lower >> 1;
    this.snapshot = readU64(bytes, 8);
    if (readU64(bytes, 0) !== number) throw this.#wrong("it bears another page number");
    if (this.snapshot > snapshot) throw this.#wrong(`it is newer than snapshot ${snapshot}`);
    if (bytes.readUInt16LE(16) !== 0 || bytes.readUInt16LE(18) !== (leaf ? PageFlag.leaf : PageFlag.branch)) {
      throw this.#wrong(`it is not a ${leaf ? "leaf" : "branch"} page`);
    }
    if ((lower & 1) !== 0 || lower + pageHeaderBytes > this.#start || this.#start > bytes.length) {
      throw this.#wrong("its bounds are impossible");
    }
  }

  /** Offset of a node in the page. */
  #nodeAt(index: number): number {
    const at = this.#bytes.readUInt16LE(pageHeaderBytes + 2 * index) + pageHeaderBytes;
    if (at < this.#start || (at & 1) !== 0 || at + nodeHeaderBytes > this.#bytes.length) {
      throw this.#wrong(`node ${index} stands outside it`);
    }
    return at;
  }

  #key(at: number): Buffer {
    const end = at + nodeHeaderBytes + this.#bytes.readUInt16LE(at + 6);
    if (end > this.#bytes.length) throw this.#wrong("a key runs past its end");
    return this.#bytes.subarray(at + nodeHeaderBytes, end);
  }

  branchNode(index: number): BranchNode {
    const at = this.#nodeAt(index);
    return { key: this.#key(at), page: this.#bytes.readUIntLE(at, 6) };
  }

  leafNode(index: number): LeafNode {
    const at = this.#nodeAt(index);
    const key = this.#key(at);
    const length = this.#bytes.readUInt32LE(at);
    const flags = this.#bytes.readUInt16LE(at + 4);
    const dataAt = at + nodeHeaderBytes + key.length;
    if (flags > 1) throw this.#wrong(`node ${index} has flags ${flags}`);
    if (dataAt + (flags === 1 ? overflowPlaceBytes : length) > this.#bytes.length) {
      throw this.#wrong(`the value of node ${index} runs past its end`);
    }
    const pageBytes = this.#bytes.length;
    if (flags === 0) return { key, length, offset: this.number * pageBytes + dataAt, overflow: undefined };
    const page = readU64(this.#bytes, dataAt);
    const pages = readU64(this.#bytes, dataAt + 16);
    const wrote = readU64(this.#bytes, dataAt + 8);
    if (pages !== overflowPages(length, pageBytes) || wrote > this.snapshot) {
      throw this.#wrong(`node ${index} names ${pages} pages for ${length} bytes`);
    }
    return { key, length, offset: page * pageBytes + pageHeaderBytes, overflow: { page, pages } };
  }

  /** Index of the last node whose key is not above `key`; -1 where all are. The first node of a branch has no key. */
  search(key: Uint8Array): number {
    let low = this.leaf ? 0 : 1;
    let high = this.nodes - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const order = Buffer.compare(this.#key(this.#nodeAt(middle)), key);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle - 1;
    }
    return low - 1;
  }

  /** Throws Failure "damage" unless the nodes fill the page from their start to its end without gap or overlap. */
  checkTiling(): void {
    const bounds: { from: number; to: number }[] = [];
    for (let i = 0; i < this.nodes; i++) {
      const from = this.#nodeAt(i);
      bounds.push({ from, to: from + this.#nodeBytes(from) });
    }
    bounds.sort((a, b) => a.from - b.from);
    let end = this.#start;
    for (const { from, to } of bounds) {
      if (from !== end) throw this.#wrong("its nodes overlap or leave gaps");
      end = to;
    }
    if (end !== this.#bytes.length) throw this.#wrong("its nodes do not reach its end");
  }

  #nodeBytes(at: number): number {
    let bytes = nodeHeaderBytes + this.#bytes.readUInt16LE(at + 6);
    if (this.leaf) {
      const overflow = (this.#bytes.readUInt16LE(at + 4) & 1) === 1;
      bytes += overflow ? overflowPlaceBytes : this.#bytes.readUInt32LE(at);
    }
    return bytes + (bytes & 1);
  }

  #wrong(what: string): Failure {
    return damage(`page ${this.number}`, what);
  }
}

/** Throws Failure "damage" unless `header` begins the overflow pages that a leaf node names. */
export function checkOverflowHeader(header: Buffer, page: number, pages: number, snapshot: number): void {
  const right =
    readU64(header, 0) === page &&
    readU64(header, 8) <= snapshot &&
    header.readUInt16LE(18) === PageFlag.overflow &&
    header.readUInt32LE(20) === pages;
  if (!right) throw damage(`page ${page}`, `it does not begin ${pages} pages of a value`);
}
