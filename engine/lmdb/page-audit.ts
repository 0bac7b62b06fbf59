/**
 * Audits the page trees of an LMDB data file. LMDB's native code checks next to nothing; after a successful audit it
 * can work on the file without reading outside it, following a cycle of pages, or reusing pages that are in use. The
 * audit reads tree pages and free lists, not the overflow pages of values, so that it reads a few megabytes of a
 * partition of gigabytes.
 */
import { Failure, isDamage } from "../failure.ts";
import { DataFile } from "./data-file.ts";
import {
  type BranchNode,
  keyBytesMax,
  type LeafNode,
  type Meta,
  makeDamage,
  Page,
  readU64,
  type TreeRecord,
  type ValueLocation,
} from "./page.ts";

export interface PageTreeReport {
  /** True where LMDB may map the file and write to it. */
  ok: boolean;
  /** The first problems found; each names its page. */
  problems: string[];
  /** Every entry that the main tree leads to, in the order of keys. */
  entries: PageTreeEntry[];
}

/** A key, and where its value is in the file. */
export interface PageTreeEntry extends ValueLocation {
  key: Uint8Array;
}

const problemsMax = 20;
/** Pages of one level that are read before they are checked; neighbours are read in one call. */
const batchPages = 1024;
/** Pages without any use that are tolerated, in addition to as many as there are pages with a use. */
const unknownPagesMax = 1024;
/** A gap between two pages up to which one read of both is cheaper than two reads. */
const gapBytesMax = 64 * 1024;

/** Audits the file at `path`, a `data.mdb`. Another thread or process may commit to it meanwhile. */
export function auditPageTree(path: string): PageTreeReport {
  let file: DataFile | undefined;
  try {
    file = new DataFile(path);
    return auditDataFile(file);
  } catch (error) {
    return reportUnreadable(error);
  } finally {
    file?.close();
  }
}

/** Audits a data file that is open. */
export function auditDataFile(file: DataFile): PageTreeReport {
  try {
    return auditNewest(file);
  } catch (error) {
    return reportUnreadable(error);
  }
}

/** Turns a Failure "damage" into the report of a file that cannot be read; rethrows any other error. */
export function reportUnreadable(error: unknown): PageTreeReport {
  if (!isDamage(error)) throw error;
  return { ok: false, problems: [error.message], entries: [] };
}

/**
 * Returns all entries of the main tree in the order of keys. Throws Failure "damage" where any of its pages is damaged.
 */
export function readEntries(file: DataFile): PageTreeEntry[] {
  return file.readConsistently((meta) => {
    const walk = new TreeWalk(file, meta);
    const entries = walk.readTree(meta.main, compareBytes);
    if (walk.problems.length > 0) throw makeDamage(file.file, walk.problems.join("; "));
    return entries;
  });
}

/**
 * Checks the free tree and its lists, which LMDB reads in any commit. It is small. Throws Failure "damage" where any of
 * its pages is damaged.
 */
export function checkFreeTree(file: DataFile, meta: Meta): void {
  const walk = new TreeWalk(file, meta);
  walk.auditFreeTree();
  if (walk.problems.length > 0) throw makeDamage(file.file, walk.problems.join("; "));
}

/**
 * Carries a report with problems out of `readConsistently` as an error: a commit during the walk may have caused them,
 * and only an error is retried on the next snapshot.
 */
class UnsoundTreeError extends Error {
  readonly report: PageTreeReport;

  constructor(report: PageTreeReport) {
    super("unsound");
    this.report = report;
  }
}

function auditNewest(file: DataFile): PageTreeReport {
  try {
    return file.readConsistently((meta) => {
      const report = new TreeWalk(file, meta).audit();
      if (!report.ok) throw new UnsoundTreeError(report);
      return report;
    });
  } catch (error) {
    if (error instanceof UnsoundTreeError) return error.report;
    throw error;
  }
}

/** A page to be read, and the range [low, high) in which its parent says that its keys are. */
interface ChildPage {
  page: number;
  low: Buffer | undefined;
  high: Buffer | undefined;
}

type KeyOrder = (a: Buffer, b: Buffer) => number;

function compareBytes(a: Buffer, b: Buffer): number {
  return Buffer.compare(a, b);
}

/** Compares keys of the free tree, which are numbers of eight bytes. */
function compareNumbers(a: Buffer, b: Buffer): number {
  return readU64(a, 0) - readU64(b, 0);
}

/** Walks the trees of one snapshot level by level; collects problems, and notes every page in use. */
class TreeWalk {
  readonly problems: string[] = [];
  readonly #file: DataFile;
  readonly #meta: Meta;
  readonly #filePages: number;
  /** 1 for each page of the file that has a use: meta, tree, overflow or free. */
  readonly #used: Uint8Array;
  /** Free pages beyond the end of the file. */
  #freeBeyondFile = 0;

  constructor(file: DataFile, meta: Meta) {
    this.#file = file;
    this.#meta = meta;
    this.#filePages = Math.floor(file.byteLength() / file.pageBytes);
    this.#used = new Uint8Array(this.#filePages);
    this.#used.fill(1, 0, 2);
  }

  audit(): PageTreeReport {
    const meta = this.#meta;
    const entries = this.readTree(meta.main, compareBytes);
    this.auditFreeTree();
    this.#attempt(() => this.#checkRoots());
    this.#attempt(() => this.#checkLastPage());
    return { ok: this.problems.length === 0, problems: this.problems, entries };
  }

  /** Reads the free tree and its lists. Damaged pages become problems. */
  auditFreeTree(): void {
    const freeLists = this.readTree(this.#meta.free, compareNumbers);
    for (const list of freeLists) this.#attempt(() => this.#readFreeList(list));
  }

  /** Returns the entries of one tree. Damaged pages become problems and are skipped. */
  readTree(tree: TreeRecord, order: KeyOrder): LeafNode[] {
    const found = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: [] as LeafNode[] };
    let level: ChildPage[] =
      tree.root === undefined ? [] : [{ page: tree.root, low: undefined, high: undefined }];
    const problemsBefore = this.problems.length;
    for (let depth = 1; depth <= tree.depth; depth++) {
      const below: ChildPage[] = [];
      for (const { child, bytes } of this.#readPages(level)) {
        this.#attempt(() => {
          const page = new Page(bytes, child.page, depth === tree.depth, this.#meta.transactionId);
          page.checkTiling();
          if (page.isLeaf) {
            found.leafPages++;
            found.overflowPages += this.#readLeaf(page, child, order, found.entries);
          } else {
            found.branchPages++;
            this.#readBranch(page, child, order, below);
          }
        });
      }
      level = below;
    }
    const counted = [found.branchPages, found.leafPages, found.overflowPages, found.entries.length].join(" ");
    const recorded = [tree.branchPages, tree.leafPages, tree.overflowPages, tree.entries].join(" ");
    if (this.problems.length === problemsBefore && counted !== recorded) {
      this.#addProblem(`a tree of ${recorded} branches, leaves, value pages and entries has ${counted}`);
    }
    return found.entries;
  }

  /** Adds the entries of a leaf; returns the number of their overflow pages. */
  #readLeaf(page: Page, child: ChildPage, order: KeyOrder, entries: LeafNode[]): number {
    let valuePages = 0;
    let last = child.low;
    const from = entries.length;
    if (page.nodeCount === 0) throw makeDamage(`page ${page.number}`, "a leaf without entries");
    for (let i = 0; i < page.nodeCount; i++) {
      const node = page.leafNode(i);
      this.#checkKey(page, node.key, order);
      const isBelow = last !== undefined && order(node.key, last) <= (i === 0 ? -1 : 0);
      if (isBelow || (child.high !== undefined && order(node.key, child.high) >= 0)) {
        entries.length = from;
        throw makeDamage(`page ${page.number}`, "its keys are out of order");
      }
      last = node.key;
      if (node.overflow !== undefined) {
        this.#markUsed(node.overflow.page, node.overflow.pages);
        valuePages += node.overflow.pages;
      }
      entries.push(node);
    }
    return valuePages;
  }

  /** Adds the children of a branch to `below`. */
  #readBranch(page: Page, child: ChildPage, order: KeyOrder, below: ChildPage[]): void {
    if (page.nodeCount < 2) throw makeDamage(`page ${page.number}`, "a branch with fewer than two children");
    const nodes: BranchNode[] = [];
    for (let i = 0; i < page.nodeCount; i++) nodes.push(page.branchNode(i));
    let low = child.low;
    for (const [i, node] of nodes.entries()) {
      if (i > 0) {
        this.#checkKey(page, node.key, order);
        const isInOrder =
          (low === undefined || order(node.key, low) > 0) && this.#isBelow(node.key, child, order);
        if (!isInOrder) throw makeDamage(`page ${page.number}`, "its keys are out of order");
        low = node.key;
      }
      below.push({ page: node.page, low, high: nodes[i + 1]?.key ?? child.high });
    }
  }

  #isBelow(key: Buffer, child: ChildPage, order: KeyOrder): boolean {
    return child.high === undefined || order(key, child.high) < 0;
  }

  #checkKey(page: Page, key: Buffer, order: KeyOrder): void {
    const isValid =
      order === compareNumbers
        ? key.length === 8
        : key.length > 0 && key.length <= keyBytesMax(this.#file.pageBytes);
    if (!isValid) throw makeDamage(`page ${page.number}`, `a key of ${key.length} bytes`);
  }

  /**
   * Marks the pages of a free list as used. The list has a count of words, then page numbers; a run of n pages takes
   * two words, -n and its first page.
   */
  #readFreeList(node: LeafNode): void {
    const where = `free list ${readU64(node.key, 0)}`;
    if (node.overflow !== undefined) this.#file.checkOverflow(this.#meta, node.overflow);
    const words = this.#file.read(node);
    const count = words.length < 8 ? -1 : readU64(words, 0);
    if (words.length % 8 !== 0 || count < 0 || count > words.length / 8 - 1) {
      throw makeDamage(where, `a count of ${count} in ${words.length} bytes`);
    }
    for (let i = 1; i <= count; i++) {
      let first = Number(words.readBigInt64LE(8 * i));
      if (first === 0) continue;
      const pages = first < 0 ? -first : 1;
      if (first < 0) first = ++i <= count ? Number(words.readBigInt64LE(8 * i)) : -1;
      if (first < 2 || first + pages - 1 > this.#meta.lastPage)
        throw makeDamage(where, "it names pages outside the file");
      const inFile = Math.min(pages, Math.max(this.#filePages - first, 0));
      if (inFile > 0) this.#markUsed(first, inFile);
      this.#freeBeyondFile += pages - inFile;
    }
  }

  /**
   * A commit always writes at least one new root. Where neither root has the number of the newest transaction, an old
   * meta page has been taken for the newest.
   */
  #checkRoots(): void {
    const { main, free, transactionId } = this.#meta;
    let newest = 0;
    for (const { root, depth } of [main, free]) {
      if (root === undefined) continue;
      newest = Math.max(newest, this.#file.readPage(this.#meta, root, depth === 1).transactionId);
    }
    if (newest !== transactionId)
      throw makeDamage("pages 0 and 1", `snapshot ${transactionId} has no root of its own`);
  }

  /**
   * LMDB maps the file up to the last page that the meta page names, and appends after it. Pages without any use are
   * few, so a last page far beyond the known ones is damage.
   */
  #checkLastPage(): void {
    const known = this.#used.reduce((sum, used) => sum + used, 0) + this.#freeBeyondFile;
    const { lastPage } = this.#meta;
    if (lastPage >= 2 * known + unknownPagesMax)
      throw makeDamage("pages 0 and 1", `a last page of ${lastPage}`);
  }

  /** Throws Failure "damage" where a page is outside the file or already has a use. */
  #markUsed(first: number, pages: number): void {
    if (first < 2 || first + pages > this.#filePages || first + pages - 1 > this.#meta.lastPage) {
      throw makeDamage(`page ${first}`, "the file ends before it");
    }
    for (let page = first; page < first + pages; page++) {
      if (this.#used[page] === 1) throw makeDamage(`page ${page}`, "it has two uses");
      this.#used[page] = 1;
    }
  }

  /**
   * Reads the pages of a level. A page that is outside the file or has another use becomes a problem and is skipped.
   */
  *#readPages(level: ChildPage[]): Iterable<{ child: ChildPage; bytes: Buffer }> {
    const pageBytes = this.#file.pageBytes;
    for (let from = 0; from < level.length; from += batchPages) {
      const batch = level.slice(from, from + batchPages);
      const readable = batch.filter((child) => this.#attempt(() => this.#markUsed(child.page, 1)));
      const bytes = new Map<number, Buffer>();
      const pages = readable.map((child) => child.page).sort((a, b) => a - b);
      for (const run of groupNeighbours(pages, pageBytes)) {
        const block = this.#file.read({ offset: run.first * pageBytes, length: run.pages * pageBytes });
        for (let i = 0; i < run.pages; i++) {
          bytes.set(run.first + i, block.subarray(i * pageBytes, (i + 1) * pageBytes));
        }
      }
      for (const child of readable) yield { child, bytes: bytes.get(child.page)! };
    }
  }

  /** Runs a check. A Failure becomes a problem, and the result is false. */
  #attempt(check: () => void): boolean {
    try {
      check();
      return true;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#addProblem(error.message);
      return false;
    }
  }

  #addProblem(problem: string): void {
    if (this.problems.length < problemsMax) this.problems.push(problem);
  }
}

/** Groups ascending page numbers into runs, each to be read in one call. */
function groupNeighbours(pages: number[], pageBytes: number): { first: number; pages: number }[] {
  const runs: { first: number; pages: number }[] = [];
  for (const page of pages) {
    const run = runs.at(-1);
    if (run !== undefined && (page - run.first - run.pages) * pageBytes <= gapBytesMax) {
      run.pages = page - run.first + 1;
    } else {
      runs.push({ first: page, pages: 1 });
    }
  }
  return runs;
}
