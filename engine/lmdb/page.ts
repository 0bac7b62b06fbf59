/**
 * One page of an LMDB data file (data version 2, as lmdb-js compiles liblmdb), decoded without trusting a byte of it.
 * LMDB has no checksums, so every bound that its native code would rely on is checked here.
 * Integers are little-endian. Offsets count from the start of the page, except where noted. A snapshot is what one
 * committed transaction left; it is identified by the transaction's number (LMDB's txnid).
 *
 *  page      0 page number u64, 8 transaction that wrote it u64, 16 zero u16, 18 flags u16,
 *            20 end of the pointers u16, 22 start of the nodes u16 (both counted from 24), or on an overflow page
 *            20 number of pages u32; 24 pointers u16 …, free space, nodes up to the end of the page
 *  node      0 data bytes u32, 4 flags u16, 6 key bytes u16, 8 key, then the data or, with flag 1, an overflow
 *            reference; even length. In a branch the first six bytes are the child's page number.
 *  overflow  0 first page u64, 8 transaction u64, 16 number of pages u64; the data follows that page's header
 *  meta      page header, then 24 magic u32, 28 version u32, 32 address u64, 40 map bytes u64, 48 free tree (lists of
 *            the free pages), 96 main tree, 144 last page u64, 152 transaction u64, 160 boot id u64
 *  tree      0 page bytes u32 (free tree alone), 4 flags u16, 6 depth u16, 8 branch pages, 16 leaf pages,
 *            24 overflow pages, 32 entries, 40 root (u64 each)
 */
import { Failure } from "../failure.ts";

export const pageHeaderBytes = 24;
export const metaBytes = 168;
const nodeHeaderBytes = 8;
const overflowReferenceBytes = 24;
const treeRecordBytes = 48;
const magic = 0xbeefc0de;
const dataVersion = 2;
const integerKeyFlag = 8;
/** 256 TiB of the smallest pages: more than any file, and offsets stay exact numbers. */
const lastPageMax = 2 ** 36;
const PageFlag = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;

/** What a meta page says about one of its two trees. */
export interface TreeRecord {
  /** Levels of pages; 0 where the tree is empty. */
  depth: number;
  branchPages: number;
  leafPages: number;
  overflowPages: number;
  entries: number;
  /** Page number, or undefined where the tree is empty. */
  root: number | undefined;
}

/** A decoded meta page, the root of a snapshot. There are two of them; each commit overwrites the older one. */
export interface Meta {
  /** Its page number: 0 or 1. */
  slot: number;
  /** Number of the transaction that wrote it; even in slot 0, odd in slot 1. */
  transactionId: number;
  /** Number of the last page in use. */
  lastPage: number;
  free: TreeRecord;
  main: TreeRecord;
  /** Its bytes as they were read, to check later that no commit has overwritten it. */
  bytes: Buffer;
}

/** Where a value's bytes are in the data file, in bytes. */
export interface ValueLocation {
  offset: number;
  length: number;
}

export interface LeafNode extends ValueLocation {
  key: Buffer;
  /** The value's own pages; undefined where the value is in the leaf itself. */
  overflow: { page: number; pages: number } | undefined;
}

export interface BranchNode {
  /** Smallest key of the child; meaningless in the first node of a page. */
  key: Buffer;
  page: number;
}

/** `where` and `what` become the message of the Failure "damage". */
export function makeDamage(where: string, what: string): Failure {
  return new Failure("damage", `${where}: ${what}`);
}

/** Reads 64 bits as a number. Beyond 2^53 it is rounded; the bounds checks that follow refuse such numbers. */
export function readU64(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + 4) * 0x1_0000_0000 + bytes.readUInt32LE(at);
}

/** Length of the longest key that LMDB accepts at this page size. */
export function keyBytesMax(pageBytes: number): number {
  return nodeBytesMax(pageBytes) - (nodeHeaderBytes + treeRecordBytes);
}

function nodeBytesMax(pageBytes: number): number {
  return (((pageBytes - pageHeaderBytes) >> 1) & ~1) - 2;
}

/** Number of pages that a value takes which does not fit a leaf. */
export function countOverflowPages(valueBytes: number, pageBytes: number): number {
  return Math.floor((pageHeaderBytes - 1 + valueBytes) / pageBytes) + 1;
}

/** Reads the page size from the first meta page. Throws Failure "damage" where it is not a possible page size. */
export function readPageBytes(firstPage: Buffer): number {
  if (firstPage.length < metaBytes) throw makeDamage("page 0", "the file ends inside it");
  const pageBytes = firstPage.readUInt32LE(48);
  const isPossible = pageBytes >= 4096 && pageBytes <= 65536 && (pageBytes & (pageBytes - 1)) === 0;
  if (!isPossible) throw makeDamage("page 0", `names a page size of ${pageBytes}`);
  return pageBytes;
}

/** Decodes a meta page. Throws Failure "damage" where a constant field differs or a variable one is out of range. */
export function readMeta(bytes: Buffer, slot: number, pageBytes: number): Meta {
  const where = `page ${slot}`;
  if (bytes.length < metaBytes) throw makeDamage(where, "the file ends inside it");
  const isMetaPage =
    readU64(bytes, 0) === slot &&
    readU64(bytes, 8) === 0 &&
    bytes.readUInt16LE(16) === 0 &&
    bytes.readUInt16LE(18) === PageFlag.meta &&
    bytes.readUInt32LE(24) === magic &&
    bytes.readUInt32LE(28) === dataVersion &&
    readU64(bytes, 32) === 0;
  if (!isMetaPage) throw makeDamage(where, "it is not a meta page");
  const hasOurFlags = bytes.readUInt32LE(48) === pageBytes && bytes.readUInt16LE(52) === integerKeyFlag;
  if (!hasOurFlags || bytes.readUInt32LE(96) !== 0 || bytes.readUInt16LE(100) !== 0) {
    throw makeDamage(where, "its page size or flags are not those of this store");
  }
  const transactionId = readU64(bytes, 152);
  if (transactionId % 2 !== slot && transactionId !== 0)
    throw makeDamage(where, `it cannot hold snapshot ${transactionId}`);
  const lastPage = readU64(bytes, 144);
  if (lastPage > lastPageMax) throw makeDamage(where, `it claims ${lastPage} pages`);
  return {
    slot,
    transactionId,
    lastPage,
    free: readTree(bytes, 48, where),
    main: readTree(bytes, 96, where),
    bytes: Buffer.from(bytes.subarray(0, metaBytes)),
  };
}

/** The two meta pages of an empty environment. */
export function buildEmptyDataFile(pageBytes: number, mapBytes: number): Buffer {
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

function readTree(bytes: Buffer, at: number, where: string): TreeRecord {
  const empty = bytes.readUInt32LE(at + 40) === 0xffffffff && bytes.readUInt32LE(at + 44) === 0xffffffff;
  const depth = bytes.readUInt16LE(at + 6);
  if (empty !== (depth === 0) || depth > 31) throw makeDamage(where, `a tree of depth ${depth}`);
  return {
    depth,
    branchPages: readU64(bytes, at + 8),
    leafPages: readU64(bytes, at + 16),
    overflowPages: readU64(bytes, at + 24),
    entries: readU64(bytes, at + 32),
    root: empty ? undefined : readU64(bytes, at + 40),
  };
}

/** A page of a tree. The constructor checks its header and bounds; nodes are checked and decoded one by one. */
export class Page {
  readonly number: number;
  readonly isLeaf: boolean;
  readonly nodeCount: number;
  /** The transaction that wrote the page. */
  readonly transactionId: number;
  readonly #bytes: Buffer;
  /** Offset of the first node's bytes. */
  readonly #nodesStart: number;

  /**
   * Throws Failure "damage" unless `bytes` are page `number`, of that kind, written by transaction `newest` or earlier.
   */
  constructor(bytes: Buffer, number: number, isLeaf: boolean, newest: number) {
    const lower = bytes.readUInt16LE(20);
    this.#bytes = bytes;
    this.#nodesStart = bytes.readUInt16LE(22) + pageHeaderBytes;
    this.number = number;
    this.isLeaf = isLeaf;
    this.nodeCount = lower >> 1;
    this.transactionId = readU64(bytes, 8);
    if (readU64(bytes, 0) !== number) throw this.#damage("it bears another page number");
    if (this.transactionId > newest) throw this.#damage(`it is newer than snapshot ${newest}`);
    if (
      bytes.readUInt16LE(16) !== 0 ||
      bytes.readUInt16LE(18) !== (isLeaf ? PageFlag.leaf : PageFlag.branch)
    ) {
      throw this.#damage(`it is not a ${isLeaf ? "leaf" : "branch"} page`);
    }
    if ((lower & 1) !== 0 || lower + pageHeaderBytes > this.#nodesStart || this.#nodesStart > bytes.length) {
      throw this.#damage("its bounds are impossible");
    }
  }

  /** Offset of a node in the page. */
  #nodeAt(index: number): number {
    const at = this.#bytes.readUInt16LE(pageHeaderBytes + 2 * index) + pageHeaderBytes;
    if (at < this.#nodesStart || (at & 1) !== 0 || at + nodeHeaderBytes > this.#bytes.length) {
      throw this.#damage(`node ${index} stands outside it`);
    }
    return at;
  }

  #key(at: number): Buffer {
    const end = at + nodeHeaderBytes + this.#bytes.readUInt16LE(at + 6);
    if (end > this.#bytes.length) throw this.#damage("a key runs past its end");
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
    if (flags > 1) throw this.#damage(`node ${index} has flags ${flags}`);
    if (dataAt + (flags === 1 ? overflowReferenceBytes : length) > this.#bytes.length) {
      throw this.#damage(`the value of node ${index} runs past its end`);
    }
    const pageBytes = this.#bytes.length;
    if (flags === 0) return { key, length, offset: this.number * pageBytes + dataAt, overflow: undefined };
    const page = readU64(this.#bytes, dataAt);
    const pages = readU64(this.#bytes, dataAt + 16);
    const writer = readU64(this.#bytes, dataAt + 8);
    if (pages !== countOverflowPages(length, pageBytes) || writer > this.transactionId) {
      throw this.#damage(`node ${index} names ${pages} pages for ${length} bytes`);
    }
    return { key, length, offset: page * pageBytes + pageHeaderBytes, overflow: { page, pages } };
  }

  /**
   * Index of the last node whose key is at most `key`; -1 where there is none. The first node of a branch has no key.
   */
  search(key: Uint8Array): number {
    let low = this.isLeaf ? 0 : 1;
    let high = this.nodeCount - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const order = Buffer.compare(this.#key(this.#nodeAt(middle)), key);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle - 1;
    }
    return low - 1;
  }

  /** Throws Failure "damage" unless the nodes fill the page from the first node to its end without gap or overlap. */
  checkTiling(): void {
    const starts = new Uint16Array(this.nodeCount);
    for (let i = 0; i < this.nodeCount; i++) starts[i] = this.#nodeAt(i);
    starts.sort();
    let end = this.#nodesStart;
    for (const from of starts) {
      if (from !== end) throw this.#damage("its nodes overlap or leave gaps");
      end = from + this.#nodeBytes(from);
    }
    if (end !== this.#bytes.length) throw this.#damage("its nodes do not reach its end");
  }

  #nodeBytes(at: number): number {
    let bytes = nodeHeaderBytes + this.#bytes.readUInt16LE(at + 6);
    if (this.isLeaf) {
      const isOverflow = (this.#bytes.readUInt16LE(at + 4) & 1) === 1;
      bytes += isOverflow ? overflowReferenceBytes : this.#bytes.readUInt32LE(at);
    }
    return bytes + (bytes & 1);
  }

  #damage(what: string): Failure {
    return makeDamage(`page ${this.number}`, what);
  }
}

/** Throws Failure "damage" unless `header` is the header of these overflow pages, written by `newest` or earlier. */
export function checkOverflowHeader(header: Buffer, page: number, pages: number, newest: number): void {
  const isExpected =
    readU64(header, 0) === page &&
    readU64(header, 8) <= newest &&
    header.readUInt16LE(18) === PageFlag.overflow &&
    header.readUInt32LE(20) === pages;
  if (!isExpected) throw makeDamage(`page ${page}`, `it does not begin ${pages} pages of a value`);
}
