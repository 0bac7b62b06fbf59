/**
 * What remote write 1.0 tells of metric families: their types and units come in requests of their own, once a minute, and are kept
 * for the samples that follow. They are kept in memory alone: after a restart the sender tells them again.
 */

import { metricFamiliesMax } from "../../limits.ts";

export interface Family {
  /** Number of the type in MetricMetadata. */
  type: number;
  name: string;
  unit: string;
}

/** All families as JSON text in shared memory, so that handing them to a worker costs nothing. */
export interface SharedFamilies {
  /** Tells one state from another. */
  version: number;
  json: Uint8Array<SharedArrayBuffer>;
}

export class Families {
  shared: SharedFamilies = sharedOf(0, []);
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
    if (isNew) this.shared = sharedOf(this.shared.version + 1, [...this.#known]);
  }
}

function sharedOf(version: number, entries: readonly [string, Family][]): SharedFamilies {
  const text = Buffer.from(JSON.stringify(entries));
  const json = new Uint8Array(new SharedArrayBuffer(text.length));
  json.set(text);
  return { version, json };
}

export function familyKey(sender: string, name: string): string {
  return `${sender}\0${name}`;
}

/** What was read last on this thread. */
let last: { version: number; json: Uint8Array; families: ReadonlyMap<string, Family> } | undefined;

/** On a worker thread. */
export function readFamilies({ version, json }: SharedFamilies): ReadonlyMap<string, Family> {
  if (last?.version !== version || last.json.length !== json.length) {
    const entries = JSON.parse(Buffer.from(json).toString("utf8")) as [string, Family][];
    last = { version, json, families: new Map(entries) };
  }
  return last.families;
}
