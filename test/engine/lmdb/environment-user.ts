/**
 * A thread (task in workerData) or process (task in its argument) that uses an environment at the same time as others.
 */
import { parentPort, workerData } from "node:worker_threads";
import { type LmdbEnvironment, openEnvironment } from "../../../engine/lmdb/environment.ts";

export interface EnvironmentTask {
  path: string;
  role: "read" | "write";
  /**
   * The reader ends when the first number is not 0, or after `rounds`. The writer stores the number of acknowledged
   * commits there and never ends. A thread that writes halts once the second number is 1, and makes it 2.
   */
  shared: Int32Array;
  rounds: number;
}

const keysOfGeneration = 50;
export const generationsKept = 20;

/** Writes the generation's number under every key but one, whose name contains the number. */
export async function writeGeneration(environment: LmdbEnvironment, generation: number): Promise<void> {
  await environment.write((to) => {
    to.remove(Buffer.from(`moving ${generation - 1}`));
    to.put(Buffer.from(`moving ${generation}`), Buffer.alloc(5_000));
    for (let i = 1; i < keysOfGeneration; i++) {
      const value = Buffer.alloc(i * 300);
      value.writeUInt32LE(generation, 0);
      to.put(Buffer.from(`key ${i}`), value);
    }
  });
}

/** Commits keys that are named after the commit's number, and removes those of an older commit. */
async function writeNumbered(environment: LmdbEnvironment, number: number): Promise<void> {
  await environment.write((to) => {
    for (let i = 0; i < 30; i++) {
      to.put(Buffer.from(`key ${number} ${i}`), Buffer.alloc(i * 200, number));
      to.remove(Buffer.from(`key ${number - generationsKept} ${i}`));
    }
  });
}

async function read({ path, shared, rounds }: EnvironmentTask): Promise<void> {
  let reads = 0;
  // A thread that starts late still reads at least once.
  for (let round = 0; round === 0 || (round < rounds && Atomics.load(shared, 0) === 0); round++) {
    const environment = openEnvironment(path, { readOnly: true });
    for (let i = 0; i < 20; i++) {
      let newest = 0;
      const keys = environment.keys();
      if (keys.length !== keysOfGeneration) throw new Error(`saw ${keys.length} keys`);
      for (const key of keys) {
        const value = environment.get(key);
        if (Buffer.from(key).toString().startsWith("moving")) continue;
        const generation = Buffer.from(value!).readUInt32LE(0);
        if (generation < newest) throw new Error(`generation ${generation} after ${newest}`);
        newest = generation;
      }
      reads++;
    }
    await environment.close();
  }
  parentPort?.postMessage(reads);
}

async function write({ path, shared }: EnvironmentTask): Promise<void> {
  const environment = openEnvironment(path, { readOnly: false });
  parentPort?.postMessage("open");
  if (parentPort !== null) setInterval(() => haltIfAsked(shared), 0);
  for (;;) {
    const next = shared[0]! + 1;
    await writeNumbered(environment, next);
    shared[0] = next;
  }
}

/**
 * Halts for ever where the thread is to be terminated, whatever LMDB is doing. A thread that is terminated while it calls
 * lmdb-js may end the whole process: Node-API refuses it an exception, and lmdb-js takes that for fatal.
 */
function haltIfAsked(shared: Int32Array): void {
  if (Atomics.compareExchange(shared, 1, 1, 2) === 1) Atomics.wait(shared, 1, 2);
}

if (parentPort !== null || process.argv[1] === import.meta.filename) {
  const task: EnvironmentTask = workerData ?? {
    shared: new Int32Array(1),
    ...(JSON.parse(process.argv[2]!) as Partial<EnvironmentTask>),
  };
  if (task.role === "read") await read(task);
  else await write(task);
}
