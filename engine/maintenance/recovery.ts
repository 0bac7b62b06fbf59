/** What a start finds in the folders of the partitions. */

import { join } from "node:path";
import { daysIn } from "../model/day.ts";
import { signals } from "../model/signal.ts";
import type { Catalog } from "../partition/catalog.ts";
import type { WorkerThread } from "../threads/worker-thread.ts";
import type { InspectAnswer, MaintenanceTask } from "./maintenance-task.ts";
import { removeLeftovers } from "./maintenance-worker.ts";

/** Fills the catalog; the greatest arrival number that a partition has sealed. */
export async function recoverPartitions(
  dataDir: string,
  catalog: Catalog,
  keeper: WorkerThread<MaintenanceTask>,
  reportDamage: (where: string, problem: string) => void,
): Promise<number> {
  let arrivalMax = 0;
  for (const signal of signals) {
    const folder = join(dataDir, signal);
    await removeLeftovers(folder);
    for (const day of daysIn(folder)) {
      const partition = catalog.partition(signal, day);
      const { dir } = partition;
      const task = { kind: "inspect", dir, day } as const;
      const { manifest, damage } = await keeper.run<InspectAnswer>(task);
      partition.manifest = manifest;
      arrivalMax = Math.max(arrivalMax, manifest.arrivalSealed);
      for (const { where, problem } of damage) reportDamage(where, problem);
    }
  }
  return arrivalMax;
}
