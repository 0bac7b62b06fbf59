/** The ingestion rules in shared memory, for the decoding threads. */

import type { ExclusionRule } from "../model/exclusion.ts";
import { type SharedJson, shareJson } from "./shared-memory-json.ts";

/** Rules by id. A rule that does not change must stay the same object. */
export type StoredRules = readonly (readonly [id: string, stored: { value: Omit<ExclusionRule, "id"> }])[];

/** Shares the current rules. Each body is decoded under one state of them. */
export class SharedRules {
  readonly #read: () => StoredRules;
  #lastRules: StoredRules = [];
  #shared = shareJson([]);

  constructor(read: () => StoredRules) {
    this.#read = read;
  }

  get shared(): SharedJson {
    const rules = this.#read();
    const isUnchanged =
      rules.length === this.#lastRules.length &&
      rules.every(([, stored], i) => stored === this.#lastRules[i]![1]);
    if (!isUnchanged) {
      this.#lastRules = rules;
      this.#shared = shareJson(rules.map(([id, { value }]) => ({ ...value, id })));
    }
    return this.#shared;
  }
}
