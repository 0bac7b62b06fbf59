/** The fields of a signal that rules test, with a number each, and where a body holds them. */

import { ExclusionFilter, type TextField } from "../../../../engine/index.ts";
import { spanKeySet, spanKeys } from "../../../ingest/json/span-row.ts";
import type { CompiledExclusion } from "../../../model/exclusion.ts";
import { AttributeIndex } from "./attribute-numbers.ts";

export type GatewaySignal = "logs" | "traces" | "metrics";

/** Attributes that the hub makes of fields of a record or a scope, besides attributes of that name. */
const keysOfFields: ReadonlySet<string> = new Set([
  ...["trace_id", "span_id", "event.name", "otel.scope.name", "otel.scope.version"],
  ...["trace_state", "events", "links", "le", "quantile"],
  ...spanKeys,
]);

export class TestedFields {
  readonly exclusions: readonly CompiledExclusion[];
  readonly count: number;
  readonly attributes: AttributeIndex;
  readonly #fields: readonly TextField[];
  /** For each exclusion: see `wordsThatOverride`. */
  readonly #words: (readonly Buffer[] | undefined)[];

  constructor(exclusions: readonly CompiledExclusion[], signal: GatewaySignal) {
    this.exclusions = exclusions;
    this.#fields = new ExclusionFilter(exclusions).fields;
    this.count = this.#fields.length;
    this.attributes = new AttributeIndex(findAttributes(this.#fields, signal));
    this.#words = exclusions.map(wordsOf);
  }

  /** The number of a field, -1 where no rule tests it. */
  find(kind: "level" | "message" | "name"): number {
    return this.#fields.findIndex((field) => field.kind === kind);
  }

  findAttribute(key: string): number {
    return this.#fields.findIndex((field) => field.kind === "attribute" && field.key === key);
  }

  /**
   * Bytes without which no scope or record can have an attribute that this exclusion tests, so that its resource alone
   * decides; undefined where records may have one without them.
   */
  wordsThatOverride(exclusion: number): readonly Buffer[] | undefined {
    return this.#words[exclusion];
  }
}

/** Names of attributes in a body, with their fields. The hub renames attributes that are named as a field of a span. */
function findAttributes(fields: readonly TextField[], signal: GatewaySignal): Map<string, number> {
  const found = new Map<string, number>();
  for (const [number, field] of fields.entries()) {
    if (field.kind !== "attribute") continue;
    const { key } = field;
    const renamed = key.replace(/^attributes\./, "");
    if (signal === "traces" && spanKeySet.has(key)) continue;
    if (signal === "traces" && renamed !== key && spanKeySet.has(renamed)) found.set(renamed, number);
    found.set(key, number);
  }
  return found;
}

/** However a name is nested in maps, what stands before its first dot is in one piece. */
function wordsOf({ tests }: CompiledExclusion): readonly Buffer[] | undefined {
  const words: Buffer[] = [];
  for (const { field } of tests) {
    if (field.kind !== "attribute" || keysOfFields.has(field.key)) return undefined;
    const word = field.key.split(".", 1)[0]!;
    if (word === "" || word === "attributes") return undefined;
    words.push(Buffer.from(word));
  }
  return words;
}
