/**
 * What remote write 1.0 tells of metric families: their types and units come in requests of their own, once a minute, and are kept
 * for the samples that follow. They are kept in memory alone: after a restart the sender tells them again.
 */

import { metricFamiliesMax } from "../limits.ts";
import { type SharedJson, sharedJson, sharedReader } from "../shared-json.ts";

export interface Family {
  /** Number of the type in MetricMetadata. */
  type: number;
  name: string;
  unit: string;
}

export class Families {
  shared: SharedJson = sharedJson([]);
  /** By sender and name: what one sender says holds for its own samples. */
  readonly #known = new Map<string, Family>();

  add(sender: string, families: readonly Family[]): void {
    let isNew = false;
    for (const family of families) {
      const key = familyKey(sender, family.name);
      const known = this.#known.get(key);
      if (known?.type === family.type && known.unit === family.unit) continue;
      if (known === undefined && this.#known.size >= metricFamiliesMax) continue;
      this.#known.set(key, family);
      isNew = true;
    }
    if (isNew) this.shared = sharedJson([...this.#known]);
  }
}

export function familyKey(sender: string, name: string): string {
  return `${sender}\0${name}`;
}

/** On a worker thread. */
export const readFamilies: (shared: SharedJson) => ReadonlyMap<string, Family> = sharedReader(
  (entries: [string, Family][]) => new Map(entries),
);
