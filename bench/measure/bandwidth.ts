/** The speed of reading memory, which bounds every scan of columns. */
import { Worker } from "node:worker_threads";

export interface Bandwidth {
  /** Bytes a second that one thread reads. */
  oneThread: number;
  /** Bytes a second that two threads read together. */
  twoThreads: number;
  /** Bytes that each thread reads at a time. */
  arrayBytes: number;
}

const arrayBytes = 256 * 2 ** 20;
const rounds = 7;

/**
 * A thread searches its own array for a byte that it lacks: a vectorised loop of the C library that reads all and
 * writes nothing.
 */
const reader = `
const { parentPort, workerData } = require("node:worker_threads");
const bytes = Buffer.alloc(workerData, 1);
parentPort.on("message", () => { bytes.indexOf(2); parentPort.postMessage("read"); });
parentPort.postMessage("ready");
`;

export async function measureBandwidth(): Promise<Bandwidth> {
  return {
    oneThread: await measureBytesPerSecond(1),
    twoThreads: await measureBytesPerSecond(2),
    arrayBytes,
  };
}

async function measureBytesPerSecond(threads: number): Promise<number> {
  const workers = Array.from(
    { length: threads },
    () => new Worker(reader, { eval: true, workerData: arrayBytes }),
  );
  const nextMessage = (worker: Worker): Promise<void> =>
    new Promise((resolve, reject) => {
      worker.once("message", () => resolve());
      worker.once("error", reject);
    });
  try {
    await Promise.all(workers.map(nextMessage));
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < rounds; round++) {
      const begunMs = performance.now();
      await Promise.all(
        workers.map((worker) => {
          const read = nextMessage(worker);
          worker.postMessage("read");
          return read;
        }),
      );
      best = Math.min(best, (performance.now() - begunMs) / 1000);
    }
    return (threads * arrayBytes) / best;
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}
