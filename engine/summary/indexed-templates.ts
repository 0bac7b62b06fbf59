/** The templates of many chunks, each once, with the number of its rows in each chunk. */

import type { YieldThread } from "../plan/query-control.ts";
import { postingBytes, postingListBytes, TemplateTable } from "../template/template-table.ts";
import { groupOf } from "../template/variables/variable-columns.ts";
import type { TextVector } from "../vector/text.ts";
import { toByteSource } from "../vector/text-table.ts";
import { hash64 } from "../vector/xxhash.ts";

/** Number of templates that are added before other work of the thread may run. */
const templatesATurn = 256;

/** Chunks and templates are numbered from 0 in the order in which they were added. */
export class IndexedTemplates {
  readonly table = new TemplateTable();
  /** For each template: a chunk's number, the template's rows in that chunk, the next chunk's number … */
  readonly #rows: number[][] = [];
  #rowsCount = 0;
  /** The ids of the templates, made when they are first asked for. */
  readonly #ids: string[] = [];
  /** How many chunks were added as a whole. */
  chunkCount = 0;

  /** Estimated memory in bytes. */
  get byteLength(): number {
    return this.table.byteLength + this.#rows.length * postingListBytes + this.#rowsCount * 2 * postingBytes;
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
      if (template === this.#rows.length) this.#rows.push([]);
      this.#rows[template]!.push(chunk, rows[i]!);
      for (const classes of this.table.textOf(template).classes) groups |= 1 << groupOf(classes);
    }
    this.#rowsCount += rows.length;
    this.chunkCount++;
    return { chunk, templates, groups };
  }

  /** Adds the rows of a template to those of each chunk, up to the last that `rows` has. */
  addRows(template: number, rows: Float64Array): void {
    const own = this.#rows[template]!;
    for (let i = 0; i < own.length; i += 2) rows[own[i]!] = rows[own[i]!]! + own[i + 1]!;
  }

  /** Sets 1 for each chunk that has a template, up to the last that `chunks` has. */
  markChunks(template: number, chunks: Uint8Array): void {
    const own = this.#rows[template]!;
    for (let i = 0; i < own.length; i += 2) chunks[own[i]!] = 1;
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
      const kept: number[] = [];
      const own = this.#rows[template]!;
      for (let i = 0; i < own.length; i += 2) {
        const chunk = chunks[own[i]!]!;
        if (chunk >= 0) kept.push(chunk, own[i + 1]!);
      }
      if (kept.length === 0) continue;
      const { bytes, from, to, classes } = this.table.textOf(template);
      const key = toByteSource(bytes.subarray(from, to + classes.length));
      templates[template] = index.table.add(key, 0, key.bytes.length);
      index.#rows.push(kept);
      index.#rowsCount += kept.length / 2;
    }
    return { index, templates };
  }
}
