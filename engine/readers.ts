/** What one thread keeps open between queries: partitions, and chunks with their decoded columns. */
import { type ChunkSource, openImage } from "./chunk.ts";
import type { ColumnMemory } from "./columnmemory.ts";
import { openPartitionsMax, openViewsMax } from "./limits.ts";
import { type Environment, openEnvironment } from "./lmdb.ts";
import { openChunk } from "./partition.ts";
import type { ChunkRef } from "./protocol.ts";
import { ChunkView } from "./view.ts";

export class Readers {
  readonly #memory: ColumnMemory;
  /** Both maps are in order of last use. */
  readonly #environments = new Map<string, Environment>();
  readonly #views = new Map<string, ChunkView>();

  constructor(memory: ColumnMemory) {
    this.#memory = memory;
  }

  /** Begins a turn of the column memory: of the views opened before, nothing may be in use. Throws Failure "damage". */
  open(ref: ChunkRef): ChunkView {
    this.#memory.beginTurn();
    const name =
      ref.kind === "sealed" ? `${ref.dir}/${ref.entry.id}/${ref.entry.checksum}` : `image/${ref.id}`;
    let view = this.#views.get(name);
    if (view === undefined) view = new ChunkView(this.#source(ref), ref.day, this.#memory);
    else this.#views.delete(name);
    this.#views.set(name, view);
    this.#evict();
    return view;
  }

  /** Closes a partition whose folder is about to go. */
  forget(dir: string): void {
    this.#environments.get(dir)?.close();
    this.#environments.delete(dir);
    for (const [name, view] of this.#views) {
      if (!name.startsWith(`${dir}/`)) continue;
      view.release();
      this.#views.delete(name);
    }
  }

  close(): void {
    for (const environment of this.#environments.values()) environment.close();
    this.#environments.clear();
    this.#views.clear();
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
    for (const [oldest, view] of this.#views) {
      if (this.#views.size <= openViewsMax) return;
      view.release();
      this.#views.delete(oldest);
    }
  }
}
