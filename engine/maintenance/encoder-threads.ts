/** The threads that make chunks of images: the keeper, and others where there is more to do than it alone can. */

import { availableParallelism } from "node:os";
import type { PartBytes } from "../chunk/chunk-ref.ts";
import type { Signal } from "../model/signal.ts";
import type { PackedChunk } from "../partition/chunk-store.ts";
import { WorkerThread } from "../threads/worker-thread.ts";
import type { MaintenanceTask } from "./maintenance-task.ts";

/** Beside the keeper: queries and readers of rows want the other cores. */
const othersMax = Math.floor(availableParallelism() / 2);

export class EncoderThreads {
  readonly #keeper: WorkerThread<MaintenanceTask>;
  /** Made when first needed. */
  readonly #others: WorkerThread<MaintenanceTask>[] = [];

  constructor(keeper: WorkerThread<MaintenanceTask>) {
    this.#keeper = keeper;
  }

  /** Each part becomes one chunk, or several where it passes a chunk's caps. */
  async encode(signal: Signal, groups: readonly (readonly PartBytes[])[]): Promise<PackedChunk[]> {
    const threads = this.#threads(groups.length);
    const packed = groups.map((group, i) => {
      const parts = group.map(({ bytes, arrivalBase }) => ({ bytes, arrivalBase }));
      return threads[i % threads.length]!.run<PackedChunk[]>({ kind: "encode-parts", signal, parts });
    });
    // None goes on working when the first failure is told.
    await Promise.allSettled(packed);
    return (await Promise.all(packed)).flat();
  }

  async close(): Promise<void> {
    await Promise.all(this.#others.map((shard) => shard.close()));
  }

  #threads(most: number): WorkerThread<MaintenanceTask>[] {
    const others = Math.min(most - 1, othersMax);
    while (this.#others.length < others) {
      this.#others.push(new WorkerThread<MaintenanceTask>({ concurrent: false, columnCacheBytes: 0 }));
    }
    return [this.#keeper, ...this.#others.slice(0, others)];
  }
}
