/** The threads that make chunks of images: the keeper, and others where there is more to do than it alone can. */
import { availableParallelism } from "node:os";
import type { ImageRef } from "../chunk/chunk-ref.ts";
import type { Signal } from "../model/signal.ts";
import type { PackedChunk } from "../partition/chunk-store.ts";
import { Shard } from "../threads/worker-thread.ts";

/** Beside the keeper: queries and readers of rows want the other cores. */
const othersMax = Math.floor(availableParallelism() / 2);

export class Packers {
  readonly #keeper: Shard;
  /** Made when first needed. */
  readonly #others: Shard[] = [];

  constructor(keeper: Shard) {
    this.#keeper = keeper;
  }

  /** Each part becomes one chunk, or several where it passes a chunk's caps. */
  async pack(signal: Signal, parts: readonly (readonly ImageRef[])[]): Promise<PackedChunk[]> {
    const threads = this.#threads(parts.length);
    const packed = parts.map((part, i) => {
      const images = part.map(({ bytes, arrivalBase }) => ({ bytes, arrivalBase }));
      return threads[i % threads.length]!.run<PackedChunk[]>({ kind: "pack", signal, images });
    });
    // None goes on working when the first failure is told.
    await Promise.allSettled(packed);
    return (await Promise.all(packed)).flat();
  }

  async close(): Promise<void> {
    await Promise.all(this.#others.map((shard) => shard.close()));
  }

  #threads(most: number): Shard[] {
    const others = Math.min(most - 1, othersMax);
    while (this.#others.length < others) {
      this.#others.push(new Shard({ concurrent: false, columnCacheBytes: 0 }));
    }
    return [this.#keeper, ...this.#others.slice(0, others)];
  }
}
