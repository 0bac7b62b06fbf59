/** The ingestion rules that hold for a cluster, for its exporter. */

import { createHash } from "node:crypto";
import type { CollectionEntry } from "../../control/collection.ts";
import type { IngestionRule } from "../../model/ingestion-rule.ts";

/** The rules of a cluster as they were at one moment. */
export interface ClusterRuleSet {
  /** Changes with the rules. */
  revision: string;
  rules: readonly (Omit<IngestionRule, "id"> & { id: string })[];
}

type Entries = readonly CollectionEntry<IngestionRule>[];

export class ClusterRules {
  /** The same list until a rule changes. */
  readonly #list: () => Entries;
  #known: { list: Entries; byCluster: Map<string, ClusterRuleSet> } = { list: [], byCluster: new Map() };

  constructor(list: () => Entries) {
    this.#list = list;
  }

  /** The rules without a cluster, and those of this one. */
  of(cluster: string): ClusterRuleSet {
    const list = this.#list();
    if (list !== this.#known.list) this.#known = { list, byCluster: new Map() };
    const known = this.#known.byCluster.get(cluster);
    if (known !== undefined) return known;
    const own = list.filter(({ value }) => (value.value.cluster ?? cluster) === cluster);
    const revision = createHash("sha256")
      .update(own.map(({ id, value }) => `${id}\0${value.revision}`).join("\0"))
      .digest("base64url")
      .slice(0, 22);
    const set = { revision, rules: own.map(({ id, value }) => ({ ...value.value, id })) };
    this.#known.byCluster.set(cluster, set);
    return set;
  }
}
