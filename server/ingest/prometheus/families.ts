/**
 * Types and units of metric families for remote write 1.0. Senders describe them in requests of their own, once a
 * minute, so they are remembered for the samples that follow. They are in memory only: after a restart senders describe
 * them again.
 */

import { SharedBudget } from "../../throttle/shared-budget.ts";
import { metricFamiliesBytesMax, metricFamilyOverhead, sharedFamilyBytesPerSecond } from "../limits.ts";
import { makeSharedReader, type SharedJson, shareJson } from "../shared-memory-json.ts";

export interface FamilyType {
  /** The type's number in MetricMetadata. */
  type: number;
  unit: string;
}

export interface Family extends FamilyType {
  name: string;
}

interface KnownFamily extends FamilyType {
  /** What it takes of the budget. */
  bytes: number;
}

export class Families {
  readonly #elapsed: () => number;
  /** By sender and name: a sender's descriptions apply to its own samples only. */
  readonly #known = new Map<string, KnownFamily>();
  readonly #bytes = new SharedBudget(metricFamiliesBytesMax);
  #shared: SharedJson = shareJson([]);
  #isChanged = false;
  /** When families may be shared again. */
  #nextShareMs = Number.NEGATIVE_INFINITY;

  /** `elapsed`: milliseconds that go on steadily. */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  /** The known families. Few are shared at once when they change; many up to two seconds later. */
  get shared(): SharedJson {
    const nowMs = this.#elapsed();
    if (this.#isChanged && nowMs >= this.#nextShareMs) {
      this.#shared = shareJson([...this.#known].map(([key, { type, unit }]) => [key, type, unit]));
      this.#isChanged = false;
      this.#nextShareMs = nowMs + (this.#bytes.total / sharedFamilyBytesPerSecond) * 1_000;
    }
    return this.#shared;
  }

  /** Remembers families as far as there is room. Their names and units have the lengths that the store takes. */
  add(sender: string, families: readonly Family[]): void {
    for (const { name, type, unit } of families) {
      const key = familyKey(sender, name);
      const earlier = this.#known.get(key);
      if (earlier?.type === type && earlier.unit === unit) continue;
      const bytes = metricFamilyOverhead + Buffer.byteLength(JSON.stringify([key, type, unit]));
      this.#bytes.give(sender, earlier?.bytes ?? 0);
      if (this.#bytes.take(sender, bytes)) this.#known.set(key, { type, unit, bytes });
      // There is no room for the new description, and the old one is wrong now.
      else if (!this.#known.delete(key)) continue;
      this.#isChanged = true;
    }
  }
}

export function familyKey(sender: string, name: string): string {
  return `${sender}\0${name}`;
}

/** Reads the shared families; for decoding threads. */
export const readFamilies: (shared: SharedJson) => ReadonlyMap<string, FamilyType> = makeSharedReader(
  (entries: [key: string, type: number, unit: string][]) =>
    new Map(entries.map(([key, type, unit]) => [key, { type, unit }])),
);
