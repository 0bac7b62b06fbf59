/**
 * Types and units of metric families for remote write 1.0. Senders describe them in requests of their own, once a
 * minute, so they are remembered for the samples that follow. They are in memory only: after a restart senders describe
 * them again.
 */

import { metricFamiliesMax } from "../limits.ts";
import { makeSharedReader, type SharedJson, shareJson } from "../shared-memory-json.ts";

export interface Family {
  /** The type's number in MetricMetadata. */
  type: number;
  name: string;
  unit: string;
}

export class Families {
  shared: SharedJson = shareJson([]);
  /** By sender and name: a sender's descriptions apply to its own samples only. */
  readonly #known = new Map<string, Family>();

  add(sender: string, families: readonly Family[]): void {
    let isNew = false;
    for (const family of families) {
      const key = familyKey(sender, family.name);
      const earlier = this.#known.get(key);
      if (earlier?.type === family.type && earlier.unit === family.unit) continue;
      if (earlier === undefined && this.#known.size >= metricFamiliesMax) continue;
      this.#known.set(key, family);
      isNew = true;
    }
    if (isNew) this.shared = shareJson([...this.#known]);
  }
}

export function familyKey(sender: string, name: string): string {
  return `${sender}\0${name}`;
}

/** Reads the shared families; for decoding threads. */
export const readFamilies: (shared: SharedJson) => ReadonlyMap<string, Family> = makeSharedReader(
  (entries: [string, Family][]) => new Map(entries),
);
