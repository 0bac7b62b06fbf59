/** The templates of many chunks, each once, with the number of its rows in each chunk. */

import type { YieldThread } from "../plan/query-control.ts";
import { TemplateTable } from "../template/template-table.ts";
import { groupOf } from "../template/variables/variable-columns.ts";
import { growArray } from "../vector/arrays.ts";
import type { TextVector } from "../vector/text.ts";
import { toByteSource } from "../vector/text-table.ts";
import { hash64 } from "../vector/xxhash.ts";

/** Number of templates that are added or copied before other work of the thread may run. */
const templatesATurn = 256;
/** Estimated memory of a template's array of rows, without its numbers. */
const rowsOverheadBytes = 120;

/** Chunks and templates are numbered from 0 in the order in which they were added. */
export class IndexedTemplates {
  readonly table = new TemplateTable();
  /** For each template: a chunk's number, the template's rows in that chunk, the next chunk's number … */
  readonly #rows: Uint32Array<ArrayBuffer>[] = [];
  /** For each template how many numbers of its array are used. */
  readonly #lengths: number[] = [];
  #rowsBytes = 0;
  /** The ids of the templates, made when they are first asked for. */
  readonly #ids: string[] = [];
  /** How many chunks were added as a whole. */
  chunkCount = 0;

  /** Estimated memory in bytes. */
  get byteLength(): number {
    return this.table.byteLength + this.#rowsBytes + this.#rows.length * rowsOverheadBytes;
  }

  /** How many templates there are. */
  get size(): number {
    return this.table.size;
  }

  /** The id by which queries name a template. */
  idOf(template: number): string {
    const known = this.#ids[template];
    if (known !== undefined) return known;
    const { bytes, from, to } = this.table.textOf(template);
    const id = hash64(bytes, from, to);
    this.#ids[template] = id;
    return id;
  }

  /**
   * Adds the templates of a chunk, whose keys are as `TemplateTable.add` takes them, with their rows. Returns the number of
   * the chunk, those of the templates, and the groups of variables that they have, one bit each.
   */
  async add(
    keys: TextVector,
    rows: Uint32Array,
    pause: YieldThread,
  ): Promise<{ chunk: number; templates: Uint32Array; groups: number }> {
    const chunk = this.chunkCount;
    const source = toByteSource(keys.bytes);
    const templates = new Uint32Array(rows.length);
    let groups = 0;
    for (let i = 0; i < rows.length; i++) {
      if (i % templatesATurn === templatesATurn - 1) await pause();
      const template = this.table.add(source, keys.offsets[i]!, keys.offsets[i + 1]!);
      templates[i] = template;
      this.#pushRows(template, chunk, rows[i]!);
      for (const classes of this.table.textOf(template).classes) groups |= 1 << groupOf(classes);
    }
    this.chunkCount++;
    return { chunk, templates, groups };
  }

  /** Adds the rows of a template to the counts in `rows`, one for each chunk. Chunks that have no count there are left out. */
  addRows(template: number, rows: Float64Array): void {
    const own = this.#rows[template]!;
    const length = this.#lengths[template]!;
    for (let i = 0; i < length; i += 2) rows[own[i]!]! += own[i + 1]!;
  }

  /** Sets 1 in `chunks` for each chunk that has a template. Chunks that have no place there are left out. */
  markChunks(template: number, chunks: Uint8Array): void {
    const own = this.#rows[template]!;
    const length = this.#lengths[template]!;
    for (let i = 0; i < length; i += 2) chunks[own[i]!] = 1;
  }

  /**
   * A copy with some of the chunks, and the templates that they have. `chunks`: for each chunk of this index its number in
   * the copy, or -1. `templates`: for each template its number in the copy, where it has one.
   */
  async copy(
    chunks: Int32Array,
    pause: YieldThread,
  ): Promise<{ index: IndexedTemplates; templates: Uint32Array }> {
    const index = new IndexedTemplates();
    index.chunkCount = chunks.reduce((count, number) => (number < 0 ? count : count + 1), 0);
    const templates = new Uint32Array(this.size);
    for (let template = 0; template < templates.length; template++) {
      if (template % templatesATurn === templatesATurn - 1) await pause();
      const own = this.#rows[template]!.subarray(0, this.#lengths[template]);
      const isKept = (i: number) => chunks[own[i]!]! >= 0;
      if (!own.some((_, i) => i % 2 === 0 && isKept(i))) continue;
      const { bytes, from, to, classes } = this.table.textOf(template);
      const key = toByteSource(bytes.subarray(from, to + classes.length));
      const number = index.table.add(key, 0, key.bytes.length);
      templates[template] = number;
      for (let i = 0; i < own.length; i += 2)
        if (isKept(i)) index.#pushRows(number, chunks[own[i]!]!, own[i + 1]!);
    }
    return { index, templates };
  }

  #pushRows(template: number, chunk: number, rows: number): void {
    if (template === this.#rows.length) {
      this.#rows.push(new Uint32Array(0));
      this.#lengths.push(0);
    }
    const own = this.#rows[template]!;
    const length = this.#lengths[template]!;
    if (length === own.length) {
      // A template of one chunk takes no more than it needs; one of many grows by half.
      this.#rows[template] = growArray(own, length + 2 * Math.max(1, length >> 2));
      this.#rowsBytes += this.#rows[template].byteLength - own.byteLength;
    }
    this.#rows[template]![length] = chunk;
    this.#rows[template]![length + 1] = rows;
    this.#lengths[template] = length + 2;
  }
}
