/** Keeps partitions and chunks open between the queries of one thread. */

import { ChunkColumns } from "../chunk/chunk-columns.ts";
import type { ChunkSource } from "../chunk/chunk-header.ts";
import type { ChunkRef, SealedChunkRef } from "../chunk/chunk-ref.ts";
import { ChunkView } from "../chunk/chunk-view.ts";
import { openPart } from "../chunk/part.ts";
import { loadNextBlock } from "../column/text-blocks.ts";
import { openChunksMax, openPartitionsMax, openPartsMax } from "../limits.ts";
import { type LmdbEnvironment, openEnvironment } from "../lmdb/environment.ts";
import { openChunk } from "../partition/chunk-store.ts";
import type { ColumnCache } from "./column-cache.ts";

export class ChunkReaders {
  readonly #memory: ColumnCache;
  /** By folder. This map and the next two are in order of last use. */
  readonly #environments = new Map<string, LmdbEnvironment>();
  readonly #chunks = new Map<string, ChunkColumns>();
  /** Memtable parts by their id. A part held here keeps its memory after it was sealed. */
  readonly #parts = new Map<string, ChunkColumns>();

  constructor(memory: ColumnCache) {
    this.#memory = memory;
  }

  /** Opens a chunk; its columns stay in memory until the view is closed. Throws Failure "damage". */
  open(ref: ChunkRef): ChunkView {
    const [known, name, most] =
      ref.kind === "sealed"
        ? [this.#chunks, nameOf(ref), openChunksMax]
        : [this.#parts, String(ref.id), openPartsMax];
    const chunk = known.get(name) ?? new ChunkColumns(this.#source(ref), ref.day);
    known.delete(name);
    known.set(name, chunk);
    const [oldest] = known.size > most ? known.keys() : [];
    if (oldest !== undefined) this.#drop(known, oldest);
    return new ChunkView(chunk, this.#memory.lease());
  }

  /** Whether the header of a sealed chunk is in memory. */
  isOpen(ref: SealedChunkRef): boolean {
    return this.#chunks.has(nameOf(ref));
  }

  /** Closes a partition whose folder is about to be removed. */
  forget(dir: string): void {
    this.#environments.get(dir)?.close();
    this.#environments.delete(dir);
    for (const name of [...this.#chunks.keys()])
      if (name.startsWith(`${dir}/`)) this.#drop(this.#chunks, name);
  }

  /** Drops chunks that are about to be removed: nobody asks for them again. */
  forgetChunks(dir: string, ids: readonly number[]): void {
    const removed = new Set(ids.map(String));
    for (const name of [...this.#chunks.keys()]) {
      if (!name.startsWith(`${dir}/`)) continue;
      const [id] = name.slice(dir.length + 1).split("/");
      if (removed.has(id!)) this.#drop(this.#chunks, name);
    }
  }

  /** Reads a part of a column that is likely to be asked for. Returns whether there are more such parts. */
  readAhead(): boolean {
    return loadNextBlock();
  }

  /** Closes all files and frees the memory of all columns, which nobody may use any more. */
  close(): void {
    for (const environment of this.#environments.values()) environment.close();
    this.#environments.clear();
    for (const known of [this.#chunks, this.#parts])
      for (const name of [...known.keys()]) this.#drop(known, name);
  }

  environment(dir: string): LmdbEnvironment {
    const known = this.#environments.get(dir);
    if (known !== undefined) {
      this.#environments.delete(dir);
      this.#environments.set(dir, known);
      return known;
    }
    const environment = openEnvironment(dir, { readOnly: true });
    this.#environments.set(dir, environment);
    for (const [oldest, open] of this.#environments) {
      if (this.#environments.size <= openPartitionsMax) break;
      open.close();
      this.#environments.delete(oldest);
    }
    return environment;
  }

  #source(ref: ChunkRef): ChunkSource {
    if (ref.kind === "part") return openPart(ref.bytes, ref.arrivalBase);
    // Columns are read later, when the environment may have been closed to make room: it is looked up for each read.
    const environment: Pick<LmdbEnvironment, "view" | "viewParts"> = {
      view: (key, isIntact) => this.environment(ref.dir).view(key, isIntact),
      viewParts: (key, parts, isIntact) => this.environment(ref.dir).viewParts(key, parts, isIntact),
    };
    return openChunk(environment, ref.entry, ref.dir);
  }

  #drop(known: Map<string, ChunkColumns>, name: string): void {
    for (const held of [...(known.get(name)?.held ?? [])]) this.#memory.release(held);
    known.delete(name);
  }
}

function nameOf({ dir, entry }: SealedChunkRef): string {
  return `${dir}/${entry.id}/${entry.checksum}`;
}
