/** What one thread keeps open between queries: partitions, and chunks with their decoded columns. */
import { type ChunkSource, openImage } from "./chunk.ts";
import type { ColumnMemory } from "./columnmemory.ts";
import { openChunksMax, openPartitionsMax } from "./limits.ts";
import { type Environment, openEnvironment } from "./lmdb.ts";
import { openChunk } from "./partition.ts";
import type { ChunkRef } from "./protocol.ts";
import { ChunkColumns, ChunkView } from "./view.ts";

export class Readers {
  readonly #memory: ColumnMemory;
  /** Both maps are in order of last use. */
  readonly #environments = new Map<string, Environment>();
  readonly #chunks = new Map<string, ChunkColumns>();

  constructor(memory: ColumnMemory) {
    this.#memory = memory;
  }

  /** The view's columns stay until it is closed. Throws Failure "damage". */
  open(ref: ChunkRef): ChunkView {
    const name =
      ref.kind === "sealed" ? `${ref.dir}/${ref.entry.id}/${ref.entry.checksum}` : `image/${ref.id}`;
    const chunk = this.#chunks.get(name) ?? new ChunkColumns(this.#source(ref), ref.day);
    this.#chunks.delete(name);
    this.#chunks.set(name, chunk);
    this.#evict();
    return new ChunkView(chunk, this.#memory.lease());
  }

  /** Closes a partition whose folder is about to go. */
  forget(dir: string): void {
    this.#environments.get(dir)?.close();
    this.#environments.delete(dir);
    for (const name of [...this.#chunks.keys()]) if (name.startsWith(`${dir}/`)) this.#drop(name);
  }

  close(): void {
    for (const environment of this.#environments.values()) environment.close();
    this.#environments.clear();
    this.#chunks.clear();
  }

  environment(dir: string): Environment {
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
    if (ref.kind === "image") return openImage(ref.bytes, ref.arrivalBase);
    // Columns are read later, when the environment may have been closed for others: ask for it each time.
    const environment = { get: (key: Uint8Array) => this.environment(ref.dir).get(key) };
    return openChunk(environment, ref.entry, ref.dir);
  }

  /** Columns go by themselves; this bounds the headers. */
  #evict(): void {
    for (const oldest of [...this.#chunks.keys()].slice(0, this.#chunks.size - openChunksMax))
      this.#drop(oldest);
  }

  #drop(name: string): void {
    for (const held of [...(this.#chunks.get(name)?.held ?? [])]) this.#memory.release(held);
    this.#chunks.delete(name);
  }
}
