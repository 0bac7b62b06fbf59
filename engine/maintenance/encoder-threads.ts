/**
 * Threads that encode parts as chunks: the maintenance thread, and helper threads when there are several chunks to
 * encode.
 */

import type { ChunkCaps } from "../chunk/chunk-caps.ts";
import type { PartBytes } from "../chunk/chunk-ref.ts";
import type { PackedChunk } from "../chunk/packed-chunk.ts";
import { isPackedPart } from "../chunk/part.ts";
import type { Signal } from "../model/signal.ts";
import type { WorkerThread } from "../threads/worker-thread.ts";
import type { ChunkToSeal, MaintenanceTask } from "./maintenance-task.ts";

interface EncoderOptions {
  /** Threads beside the maintenance thread. */
  helpersMax: number;
  /** How large chunks become. */
  caps: ChunkCaps;
  openThread: () => WorkerThread<MaintenanceTask>;
}

export class EncoderThreads {
  readonly #maintenanceThread: WorkerThread<MaintenanceTask>;
  /** Started when first needed. */
  readonly #helpers: WorkerThread<MaintenanceTask>[] = [];

  readonly #options: EncoderOptions;

  constructor(maintenanceThread: WorkerThread<MaintenanceTask>, options: EncoderOptions) {
    this.#maintenanceThread = maintenanceThread;
    this.#options = options;
  }

  /**
   * Encodes each group of parts as one chunk, or as several where it exceeds a chunk's size caps. A packed part that is a
   * group by itself is one already.
   */
  async encode(signal: Signal, groups: readonly (readonly PartBytes[])[]): Promise<ChunkToSeal[]> {
    const threads = this.#startThreads(groups.filter((group) => !isPacked(group)).length);
    let next = 0;
    const packed = groups.map((group) => {
      const parts = group.map(({ bytes, arrivalBase }) => ({ bytes, arrivalBase }));
      if (isPacked(group)) return parts;
      return threads[next++ % threads.length]!.run<PackedChunk[]>({
        kind: "encode-parts",
        signal,
        parts,
        caps: this.#options.caps,
      });
    });
    // Waits for all of them, so that no thread is still encoding when the first failure is thrown.
    await Promise.allSettled(packed);
    return (await Promise.all(packed)).flat();
  }

  async close(): Promise<void> {
    await Promise.all(this.#helpers.map((thread) => thread.close()));
  }

  /** Starts helper threads as needed; returns at most `threadsMax` threads. */
  #startThreads(threadsMax: number): WorkerThread<MaintenanceTask>[] {
    const { helpersMax, openThread } = this.#options;
    const helpers = Math.min(Math.max(0, threadsMax - 1), helpersMax);
    while (this.#helpers.length < helpers) this.#helpers.push(openThread());
    return [this.#maintenanceThread, ...this.#helpers.slice(0, helpers)];
  }
}

function isPacked([part, ...others]: readonly PartBytes[]): boolean {
  return part !== undefined && others.length === 0 && isPackedPart(part.bytes);
}
