import type { ExclusionRule } from "../model/exclusion.ts";
import { type SharedJson, sharedJson } from "./shared-json.ts";

/** Rules by id; one that does not change stays the same object. */
export type StoredRules = readonly (readonly [id: string, stored: { value: Omit<ExclusionRule, "id"> }])[];

/** The ingestion rules as they stand, in shared memory: each body is read by one state of them. */
export class SharedRules {
  readonly #read: () => StoredRules;
  #last: StoredRules = [];
  #shared = sharedJson([]);

  constructor(read: () => StoredRules) {
    this.#read = read;
  }

  get shared(): SharedJson {
    const rules = this.#read();
    const isLast =
      rules.length === this.#last.length && rules.every(([, stored], i) => stored === this.#last[i]![1]);
    if (!isLast) {
      this.#last = rules;
      this.#shared = sharedJson(rules.map(([id, { value }]) => ({ ...value, id })));
    }
    return this.#shared;
  }
}
