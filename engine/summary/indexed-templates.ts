/** The templates of many chunks, each once, with the number of its rows in each chunk. */

import { idDigits } from "../column/template-id-column.ts";
import type { YieldThread } from "../plan/query-control.ts";
import { TemplateTable } from "../template/template-table.ts";
import { groupOf } from "../template/variables/variable-columns.ts";
import { growArray } from "../vector/arrays.ts";
import type { TextVector } from "../vector/text.ts";
import { toByteSource } from "../vector/text-table.ts";

/** Number of templates that are added or copied before other work of the thread may run. */
const templatesATurn = 256;
/** Estimated memory of a template's array of rows, without its numbers. */
const rowsOverheadBytes = 120;

/** Templates, each once. */
export interface TemplateKeys {
  /** As `TemplateTable.add` takes them. */
  keys: TextVector;
  /** The ids by which queries name the templates, `idDigits` digits each. */
  ids: Uint8Array;
}

/** The templates of a chunk, each once, and the rows of each. */
export interface ChunkRows {
  /** Numbers of templates. */
  templates: Uint32Array;
  rows: Uint32Array;
}

/** Chunks and templates are numbered from 0 in the order in which they were added. */
export class IndexedTemplates {
  readonly table = new TemplateTable();
  /** For each template: a chunk's number, the template's rows in that chunk, the next chunk's number … */
  readonly #rows: Uint32Array<ArrayBuffer>[] = [];
  /** For each template how many entries of its array in `#rows` are in use; the others are spare room. */
  readonly #lengths: number[] = [];
  #rowsBytes = 0;
  /** For each template a bit mask of the groups (`variableGroups`) that its variables belong to. */
  readonly #groups: number[] = [];
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
    return this.#ids[template]!;
  }

  /** Adds those templates that the index lacks. Returns the number of each template. */
  async addTemplates({ keys, ids }: TemplateKeys, pause: YieldThread): Promise<Uint32Array> {
    const source = toByteSource(keys.bytes);
    const digits = Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength);
    const templates = new Uint32Array(keys.offsets.length - 1);
    for (let i = 0; i < templates.length; i++) {
      if (i % templatesATurn === templatesATurn - 1) await pause();
      const template = this.table.add(source, keys.offsets[i]!, keys.offsets[i + 1]!);
      if (template === this.#rows.length)
        this.#addRowsOf(template, digits.toString("latin1", i * idDigits, (i + 1) * idDigits));
      templates[i] = template;
    }
    return templates;
  }

  /**
   * Adds chunks whose templates are in the index. Returns the number of each, and a bit mask of the groups (`variableGroups`)
   * that the variables of its templates belong to.
   */
  async addChunks(
    chunks: readonly ChunkRows[],
    pause: YieldThread,
  ): Promise<{ number: number; groups: number }[]> {
    this.#reserve(chunks);
    const added: { number: number; groups: number }[] = [];
    for (const { templates, rows } of chunks) {
      const number = this.chunkCount;
      let groups = 0;
      for (let i = 0; i < templates.length; i++) {
        if (i % templatesATurn === templatesATurn - 1) await pause();
        const template = templates[i]!;
        this.#pushRows(template, number, rows[i]!);
        groups |= this.#groups[template]!;
      }
      this.chunkCount++;
      added.push({ number, groups });
    }
    return added;
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
      index.#addRowsOf(number, this.#ids[template]!);
      for (let i = 0; i < own.length; i += 2)
        if (isKept(i)) index.#pushRows(number, chunks[own[i]!]!, own[i + 1]!);
    }
    return { index, templates };
  }

  /** Records what is kept of each template for one that was just added to the table. */
  #addRowsOf(template: number, id: string): void {
    this.#rows.push(new Uint32Array(0));
    this.#lengths.push(0);
    this.#ids.push(id);
    let groups = 0;
    for (const classes of this.table.textOf(template).classes) groups |= 1 << groupOf(classes);
    this.#groups.push(groups);
  }

  /** Makes room for the rows of several chunks, so that an array grows once for all of them. */
  #reserve(chunks: readonly ChunkRows[]): void {
    if (chunks.length < 2) return;
    const counts = new Map<number, number>();
    for (const { templates } of chunks)
      for (const template of templates) counts.set(template, (counts.get(template) ?? 0) + 1);
    for (const [template, count] of counts) {
      const own = this.#rows[template]!.length;
      const length = this.#lengths[template]! + count * 2;
      if (length > own) this.#growRows(template, Math.max(length, own + ((own >> 2) << 1)));
    }
  }

  #growRows(template: number, length: number): void {
    const own = this.#rows[template]!;
    this.#rows[template] = growArray(own, length);
    this.#rowsBytes += this.#rows[template].byteLength - own.byteLength;
  }

  #pushRows(template: number, chunk: number, rows: number): void {
    const length = this.#lengths[template]!;
    // A template of one chunk takes no more than it needs; one of many grows by half.
    if (length === this.#rows[template]!.length)
      this.#growRows(template, length + 2 * Math.max(1, length >> 2));
    this.#rows[template]![length] = chunk;
    this.#rows[template]![length + 1] = rows;
    this.#lengths[template] = length + 2;
  }
}
