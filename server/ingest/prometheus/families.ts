/**
 * Types and units of metric families for remote write 1.0. Senders describe them in requests of their own, once a
 * minute, so they are remembered for the samples that follow, and forgotten once nobody describes them any more. They are
 * in memory only: after a restart senders describe them again.
 */

import { SharedBudget } from "../../throttle/shared-budget.ts";
import {
  metricFamiliesBytesMax,
  metricFamilyAgeMs,
  metricFamilyOverhead,
  sharedFamilyBytesPerSecond,
} from "../limits.ts";
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
  sender: string;
  /** What it takes of the sender's budget. */
  bytes: number;
  /** When the sender described it last. */
  describedMs: number;
}

export class Families {
  readonly #elapsed: () => number;
  /**
   * By sender and name: a sender's descriptions apply to its own samples only. The first was not described for the
   * longest time.
   */
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
    this.#forgetOld(nowMs);
    if (this.#isChanged && nowMs >= this.#nextShareMs) {
      this.#shared = shareJson([...this.#known].map(([key, { type, unit }]) => [key, type, unit]));
      this.#isChanged = false;
      this.#nextShareMs = nowMs + (this.#bytes.total / sharedFamilyBytesPerSecond) * 1_000;
    }
    return this.#shared;
  }

  /** Remembers families as far as there is room. Their names and units have the lengths that the store takes. */
  add(sender: string, families: readonly Family[]): void {
    const describedMs = this.#elapsed();
    this.#forgetOld(describedMs);
    for (const { name, type, unit } of families) {
      const key = familyKey(sender, name);
      const earlier = this.#known.get(key);
      this.#known.delete(key);
      if (earlier?.type === type && earlier.unit === unit) {
        this.#known.set(key, { ...earlier, describedMs });
        continue;
      }
      const bytes = metricFamilyOverhead + Buffer.byteLength(JSON.stringify([key, type, unit]));
      this.#bytes.give(sender, earlier?.bytes ?? 0);
      const hasRoom = this.#bytes.take(sender, bytes);
      if (hasRoom) this.#known.set(key, { type, unit, sender, bytes, describedMs });
      // Where there is no room for the new description, the old one is gone: it is wrong now.
      this.#isChanged ||= hasRoom || earlier !== undefined;
    }
  }

  /** Forgets families that their sender has not described for `metricFamilyAgeMs`, such as those of a sender that is gone. */
  #forgetOld(nowMs: number): void {
    for (const [key, { sender, bytes, describedMs }] of this.#known) {
      if (nowMs - describedMs < metricFamilyAgeMs) return;
      this.#known.delete(key);
      this.#bytes.give(sender, bytes);
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
