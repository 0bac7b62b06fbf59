/** The worker threads of a store: as many, and as large, as its memory allows. */
import { columnCacheBytesMax } from "./limits.ts";
import { EncoderThreads } from "./maintenance/encoder-threads.ts";
import type { MaintenanceTask } from "./maintenance/maintenance-task.ts";
import type { MemoryBudget } from "./memory-budget.ts";
import { WorkerThread } from "./threads/worker-thread.ts";
import type { ScanThreadTask } from "./worker/scan-executor.ts";

/** With less memory than this, new objects of scan threads take less than V8 gives them by itself. */
const scarceBytes = 2 * 2 ** 30;

export class StoreThreads {
  readonly scan: readonly WorkerThread<ScanThreadTask>[];
  /** Decodes columns outside of any cache. */
  readonly maintenance: WorkerThread<MaintenanceTask>;
  readonly encoders: EncoderThreads;

  constructor(memory: MemoryBudget) {
    const { scanThreads, scanHeapBytes: heapBytes, encoderThreads: helpersMax, chunkCaps: caps } = memory;
    const columnCacheBytes = Math.min(memory.columnCacheBytes / scanThreads, columnCacheBytesMax);
    const hasUsualYoungGeneration = memory.bytes >= scarceBytes;
    // Where there is no memory for columns nobody is expected to ask.
    const isLazy = memory.parts.columns === 0;
    this.scan = Array.from(
      { length: scanThreads },
      () =>
        new WorkerThread<ScanThreadTask>({
          ...{ concurrent: true, isLazy },
          ...{ columnCacheBytes, heapBytes, hasUsualYoungGeneration },
        }),
    );
    const sharedGarbageBytes = memory.unsealedBytesStop;
    const openThread = () =>
      new WorkerThread<MaintenanceTask>({ concurrent: false, columnCacheBytes: 0, sharedGarbageBytes });
    this.maintenance = openThread();
    this.encoders = new EncoderThreads(this.maintenance, { helpersMax, caps, openThread });
  }

  async close(): Promise<void> {
    await Promise.all([...this.scan, this.maintenance, this.encoders].map((thread) => thread.close()));
  }
}
