/** How fast the memory is read: the bound of everything that looks at columns. */
import { Worker } from "node:worker_threads";

export interface Bandwidth {
  /** Bytes a second that one thread reads, and two at once together. */
  oneThread: number;
  twoThreads: number;
  /** Bytes that each thread reads at a time. */
  arrayBytes: number;
}

const arrayBytes = 256 * 2 ** 20;
const rounds = 7;

/** Each thread looks for a byte that its own array does not hold: a loop of the C library over vectors, which stores nothing. */
const reader = `
const { parentPort, workerData } = require("node:worker_threads");
const bytes = Buffer.alloc(workerData, 1);
parentPort.on("message", () => { bytes.indexOf(2); parentPort.postMessage("read"); });
parentPort.postMessage("ready");
`;

export async function measureBandwidth(): Promise<Bandwidth> {
  return { oneThread: await bytesPerSecond(1), twoThreads: await bytesPerSecond(2), arrayBytes };
}

async function bytesPerSecond(threads: number): Promise<number> {
  const workers = Array.from(
    { length: threads },
    () => new Worker(reader, { eval: true, workerData: arrayBytes }),
  );
  const answer = (worker: Worker): Promise<void> =>
    new Promise((resolve, reject) => {
      worker.once("message", () => resolve());
      worker.once("error", reject);
    });
  try {
    await Promise.all(workers.map(answer));
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < rounds; round++) {
      const begunMs = performance.now();
      await Promise.all(
        workers.map((worker) => {
          const read = answer(worker);
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
