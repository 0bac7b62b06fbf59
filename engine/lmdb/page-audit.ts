/**
 * Audits the trees of an LMDB data file: that LMDB's native code, which checks next to nothing, can be let loose on it
 * without leaving the file, running in circles, or handing out pages that are in use. Reads tree pages and free lists,
 * not the values that have pages of their own, so a partition of gigabytes costs a few megabytes of reading.
 */
import { Failure } from "../failure.ts";
import { DataFile } from "./data-file.ts";
import {
  type BranchNode,
  damage,
  keyBytesMax,
  type LeafNode,
  type Meta,
  Page,
  readU64,
  type Tree,
  type ValuePlace,
} from "./page.ts";

export interface PageTreeReport {
  /** Whether LMDB may map the file and write to it. */
  ok: boolean;
  /** The first problems found, a sentence each that names the page. */
  problems: string[];
  /** Every entry that could be reached, in the order of keys, and where its value stands in the file. */
  entries: TreeEntry[];
}

export interface TreeEntry extends ValuePlace {
  key: Uint8Array;
}

const problemsMax = 20;
/** Pages read at once; neighbours come in one call. */
const batchPages = 1024;
const spareUnusedPages = 1024;
/** Unneeded bytes that are cheaper to read along than a call of their own. */
const gapBytesMax = 64 * 1024;

/** Reads the page trees of `file` (a `data.mdb`), also while another thread or process commits to it. */
export function auditPageTree(file: string): PageTreeReport {
  let tree: DataFile | undefined;
  try {
    tree = new DataFile(file);
    return auditTree(tree);
  } catch (error) {
    return unreadable(error);
  } finally {
    tree?.close();
  }
}

/** The same of a file that is open. */
export function auditTree(tree: DataFile): PageTreeReport {
  try {
    return auditOpen(tree);
  } catch (error) {
    return unreadable(error);
  }
}

/** The report of a file that cannot be opened. Throws what is no Failure "damage". */
export function unreadable(error: unknown): PageTreeReport {
  if (!(error instanceof Failure) || error.kind !== "damage") throw error;
  return { ok: false, problems: [error.message], entries: [] };
}

/** All entries of the main tree in the order of keys. Throws Failure "damage" at the first unsound page. */
export function readEntries(file: DataFile): TreeEntry[] {
  return file.consistently((meta) => {
    const walk = new Walk(file, meta);
    const entries = walk.tree(meta.main, byteOrder);
    if (walk.problems.length > 0) throw damage(file.file, walk.problems.join("; "));
    return entries;
  });
}

/** What a walk found unsound may be a commit's doing; it counts where the snapshot still stands, and is thrown there. */
class UnsoundTree extends Error {
  readonly report: PageTreeReport;

  constructor(report: PageTreeReport) {
    super("unsound");
    this.report = report;
  }
}

function auditOpen(file: DataFile): PageTreeReport {
  try {
    return file.consistently((meta) => {
      const report = new Walk(file, meta).audit();
      if (!report.ok) throw new UnsoundTree(report);
      return report;
    });
  } catch (error) {
    if (error instanceof UnsoundTree) return error.report;
    throw error;
  }
}

/** A page still to be read, and the bounds that its parent sets on its keys: not below `low`, below `high`. */
interface Child {
  page: number;
  low: Buffer | undefined;
  high: Buffer | undefined;
}

type KeyOrder = (a: Buffer, b: Buffer) => number;

function byteOrder(a: Buffer, b: Buffer): number {
  return Buffer.compare(a, b);
}

/** Keys of the free tree are numbers of eight bytes. */
function numberOrder(a: Buffer, b: Buffer): number {
  return readU64(a, 0) - readU64(b, 0);
}

class Walk {
  readonly problems: string[] = [];
  readonly #file: DataFile;
  readonly #meta: Meta;
  readonly #filePages: number;
  readonly #used: Uint8Array;
  #freeBeyondFile = 0;

  constructor(file: DataFile, meta: Meta) {
    this.#file = file;
    this.#meta = meta;
    this.#filePages = Math.floor(file.size() / file.pageBytes);
    this.#used = new Uint8Array(this.#filePages);
    this.#used.fill(1, 0, 2);
  }

  audit(): PageTreeReport {
    const meta = this.#meta;
    const entries = this.tree(meta.main, byteOrder);
    const lists = this.tree(meta.free, numberOrder);
    for (const list of lists) this.#attempt(() => this.#freeList(list));
    this.#attempt(() => this.#checkRoots());
    this.#attempt(() => this.#checkLastPage());
    return { ok: this.problems.length === 0, problems: this.problems, entries };
  }

  /** Entries of one tree. What is unsound is noted and passed over. */
  tree(tree: Tree, order: KeyOrder): LeafNode[] {
    const found = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: [] as LeafNode[] };
    let level: Child[] =
      tree.root === undefined ? [] : [{ page: tree.root, low: undefined, high: undefined }];
    const before = this.problems.length;
    for (let depth = 1; depth <= tree.depth; depth++) {
      const below: Child[] = [];
      for (const { child, bytes } of this.#readPages(level)) {
        this.#attempt(() => {
          const page = new Page(bytes, child.page, depth === tree.depth, this.#meta.snapshot);
          page.checkTiling();
          if (page.leaf) {
            found.leafPages++;
            found.overflowPages += this.#leaf(page, child, order, found.entries);
          } else {
            found.branchPages++;
            this.#branch(page, child, order, below);
          }
        });
      }
      level = below;
    }
    const counted = [found.branchPages, found.leafPages, found.overflowPages, found.entries.length].join(" ");
    const recorded = [tree.branchPages, tree.leafPages, tree.overflowPages, tree.entries].join(" ");
    if (this.problems.length === before && counted !== recorded) {
      this.#note(`a tree of ${recorded} branches, leaves, value pages and entries has ${counted}`);
    }
    return found.entries;
  }

  #leaf(page: Page, child: Child, order: KeyOrder, entries: LeafNode[]): number {
    let valuePages = 0;
    let last = child.low;
    const from = entries.length;
    if (page.nodes === 0) throw damage(`page ${page.number}`, "a leaf without entries");
    for (let i = 0; i < page.nodes; i++) {
      const node = page.leafNode(i);
      this.#checkKey(page, node.key, order);
      const above = last !== undefined && order(node.key, last) <= (i === 0 ? -1 : 0);
      if (above || (child.high !== undefined && order(node.key, child.high) >= 0)) {
        entries.length = from;
        throw damage(`page ${page.number}`, "its keys are out of order");
      }
      last = node.key;
      if (node.overflow !== undefined) {
        this.#use(node.overflow.page, node.overflow.pages);
        valuePages += node.overflow.pages;
      }
      entries.push(node);
    }
    return valuePages;
  }

  #branch(page: Page, child: Child, order: KeyOrder, below: Child[]): void {
    if (page.nodes < 2) throw damage(`page ${page.number}`, "a branch with fewer than two children");
    const nodes: BranchNode[] = [];
    for (let i = 0; i < page.nodes; i++) nodes.push(page.branchNode(i));
    let low = child.low;
    for (const [i, node] of nodes.entries()) {
      if (i > 0) {
        this.#checkKey(page, node.key, order);
        const right =
          (low === undefined || order(node.key, low) > 0) && this.#isBelow(node.key, child, order);
        if (!right) throw damage(`page ${page.number}`, "its keys are out of order");
        low = node.key;
      }
      below.push({ page: node.page, low, high: nodes[i + 1]?.key ?? child.high });
    }
  }

  #isBelow(key: Buffer, child: Child, order: KeyOrder): boolean {
    return child.high === undefined || order(key, child.high) < 0;
  }

  #checkKey(page: Page, key: Buffer, order: KeyOrder): void {
    const right =
      order === numberOrder
        ? key.length === 8
        : key.length > 0 && key.length <= keyBytesMax(this.#file.pageBytes);
    if (!right) throw damage(`page ${page.number}`, `a key of ${key.length} bytes`);
  }

  /** Pages that a transaction freed: a count, then page numbers, a run of n pages as -n and its first page. */
  #freeList(node: LeafNode): void {
    const where = `free list ${readU64(node.key, 0)}`;
    if (node.overflow !== undefined) this.#file.checkOverflow(this.#meta, node.overflow);
    const words = this.#file.read(node);
    const count = words.length < 8 ? -1 : readU64(words, 0);
    if (words.length % 8 !== 0 || count < 0 || count > words.length / 8 - 1) {
      throw damage(where, `a count of ${count} in ${words.length} bytes`);
    }
    for (let i = 1; i <= count; i++) {
      let first = Number(words.readBigInt64LE(8 * i));
      if (first === 0) continue;
      const pages = first < 0 ? -first : 1;
      if (first < 0) first = ++i <= count ? Number(words.readBigInt64LE(8 * i)) : -1;
      if (first < 2 || first + pages - 1 > this.#meta.lastPage)
        throw damage(where, "it names pages outside the file");
      const inFile = Math.min(pages, Math.max(this.#filePages - first, 0));
      if (inFile > 0) this.#use(first, inFile);
      this.#freeBeyondFile += pages - inFile;
    }
  }

  /** A commit always writes a root anew; where neither bears its number, an old record has been taken for the newest. */
  #checkRoots(): void {
    const { main, free, snapshot } = this.#meta;
    let newest = 0;
    for (const { root, depth } of [main, free]) {
      if (root === undefined) continue;
      newest = Math.max(newest, this.#file.readPage(this.#meta, root, depth === 1).snapshot);
    }
    if (newest !== snapshot) throw damage("pages 0 and 1", `snapshot ${snapshot} has no root of its own`);
  }

  /** LMDB maps as much as the last page asks for and appends behind it; pages without a use are few. */
  #checkLastPage(): void {
    const known = this.#used.reduce((sum, used) => sum + used, 0) + this.#freeBeyondFile;
    const { lastPage } = this.#meta;
    if (lastPage >= 2 * known + spareUnusedPages) throw damage("pages 0 and 1", `a last page of ${lastPage}`);
  }

  #use(first: number, pages: number): void {
    if (first < 2 || first + pages > this.#filePages || first + pages - 1 > this.#meta.lastPage) {
      throw damage(`page ${first}`, "the file ends before it");
    }
    for (let page = first; page < first + pages; page++) {
      if (this.#used[page] === 1) throw damage(`page ${page}`, "it has two uses");
      this.#used[page] = 1;
    }
  }

  *#readPages(level: Child[]): Iterable<{ child: Child; bytes: Buffer }> {
    const pageBytes = this.#file.pageBytes;
    for (let from = 0; from < level.length; from += batchPages) {
      const batch = level.slice(from, from + batchPages);
      const sound = batch.filter((child) => this.#attempt(() => this.#use(child.page, 1)));
      const bytes = new Map<number, Buffer>();
      for (const run of neighbours(
        sound.map((child) => child.page).sort((a, b) => a - b),
        pageBytes,
      )) {
        const block = this.#file.read({ offset: run.first * pageBytes, length: run.pages * pageBytes });
        for (let i = 0; i < run.pages; i++) {
          bytes.set(run.first + i, block.subarray(i * pageBytes, (i + 1) * pageBytes));
        }
      }
      for (const child of sound) yield { child, bytes: bytes.get(child.page)! };
    }
  }

  #attempt(check: () => void): boolean {
    try {
      check();
      return true;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#note(error.message);
      return false;
    }
  }

  #note(problem: string): void {
    if (this.problems.length < problemsMax) this.problems.push(problem);
  }
}

/** Ascending page numbers as runs to read in one call each. */
function neighbours(pages: number[], pageBytes: number): { first: number; pages: number }[] {
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
