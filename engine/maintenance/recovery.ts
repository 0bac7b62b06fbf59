/** Recovery of partitions when a store is opened. */

import { join } from "node:path";
import { listDays } from "../model/day.ts";
import { signals } from "../model/signal.ts";
import type { Catalog } from "../partition/catalog.ts";
import type { WorkerThread } from "../threads/worker-thread.ts";
import type { InspectAnswer, MaintenanceTask } from "./maintenance-task.ts";
import { removeLeftovers } from "./maintenance-worker.ts";

/**
 * Inspects every partition on disk and adds it to the catalog. Returns the greatest arrival number that is sealed, 0 if
 * none.
 */
export async function recoverPartitions(
  dataDir: string,
  catalog: Catalog,
  maintenanceThread: WorkerThread<MaintenanceTask>,
  reportDamage: (where: string, problem: string) => void,
): Promise<number> {
  let arrivalMax = 0;
  for (const signal of signals) {
    const folder = join(dataDir, signal);
    await removeLeftovers(folder);
    for (const day of listDays(folder)) {
      const partition = catalog.partition(signal, day);
      const { dir } = partition;
      const task = { kind: "inspect", dir, day } as const;
      const { manifest, damage } = await maintenanceThread.run<InspectAnswer>(task);
      catalog.setManifest(partition, manifest);
      arrivalMax = Math.max(arrivalMax, manifest.arrivalSealed);
      for (const { where, problem } of damage) reportDamage(where, problem);
    }
  }
  return arrivalMax;
}
