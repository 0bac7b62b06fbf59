/** The ingestion rules in shared memory, for the decoding threads. */

import type { ExclusionRule } from "../model/exclusion.ts";
import { type SharedJson, shareJson } from "./shared-memory-json.ts";

/** The list and each of its rules are the same objects as long as they do not change. */
export type StoredRules = readonly { id: string; value: { value: Omit<ExclusionRule, "id"> } }[];

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
    if (!isSame(rules, this.#lastRules)) {
      this.#shared = shareJson(rules.map(({ id, value }) => ({ ...value.value, id })));
    }
    this.#lastRules = rules;
    return this.#shared;
  }
}

function isSame(rules: StoredRules, others: StoredRules): boolean {
  if (rules === others) return true;
  return rules.length === others.length && rules.every(({ value }, i) => value === others[i]!.value);
}
