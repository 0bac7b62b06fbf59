/** Enriches and filters OTLP bodies in JSON: decoded, changed, and encoded again. */

import { stringifyExact } from "../../../ingest/json/exact-json.ts";
import { type JsonFields, RowProblem, refuseBodyOnProblem } from "../../../ingest/json/json-row.ts";
import { spanKeySet } from "../../../ingest/json/span-row.ts";
import { forEachRecord, type ListNames, parseBody } from "../../../ingest/otlp/json-body.ts";
import {
  type Attributes,
  addAttributes,
  beginRecord,
  stringOf,
  toObject,
  toObjects,
} from "../../../ingest/otlp/json-value.ts";
import { logRowOf } from "../../../ingest/otlp/log-row.ts";
import { spanRowOf } from "../../../ingest/otlp/span-row.ts";
import { serviceKey } from "../../../ingest/service-name.ts";
import { type ExcludableRow, findExcludingRule } from "../../../model/exclusion.ts";
import { findEnrichment, type PodLookup } from "../resource-enrichment.ts";
import type { GatewaySignal, TestedFields } from "./tested-fields.ts";

const listNames: Readonly<Record<GatewaySignal, ListNames>> = {
  logs: { resources: "resourceLogs", scopes: "scopeLogs", records: "logRecords" },
  traces: { resources: "resourceSpans", scopes: "scopeSpans", records: "spans" },
  metrics: { resources: "resourceMetrics", scopes: "scopeMetrics", records: "metrics" },
};
const noNames: ReadonlySet<string> = new Set();
/** Names of the samples of each kind of metric; see `point-reader.ts`. */
const suffixesOf: Readonly<Record<string, readonly string[]>> = {
  gauge: [""],
  sum: [""],
  histogram: ["_bucket", "_sum", "_count"],
  exponentialHistogram: ["_bucket", "_sum", "_count"],
  summary: ["", "_sum", "_count"],
};
/** Rows are made for their texts alone: nothing is stored, so nothing is counted. */
const sink = { countRepeatedBytes: () => undefined, arrivalNs: () => 0n };

export class JsonBody {
  readonly #signal: GatewaySignal;
  readonly #json: JsonFields;
  readonly #names: ListNames;
  #isChanged = false;

  /** Throws Refusal 400 where the body is not JSON of this shape, 413 where it has too many values. */
  constructor(body: Buffer, signal: GatewaySignal) {
    this.#signal = signal;
    this.#json = parseBody(body);
    this.#names = listNames[signal];
  }

  get isChanged(): boolean {
    return this.#isChanged;
  }

  /** Adds what resources lack. Throws Refusal 400. */
  enrich(peer: string | undefined, pods: PodLookup): void {
    refuseBodyOnProblem(() => {
      for (const group of this.#resources()) this.#enrichResource(group, peer, pods);
    });
  }

  /** Leaves out excluded records. Returns their numbers by rule. Throws Refusal 400. */
  filter({ exclusions }: TestedFields): Map<string, number> {
    const dropped = new Map<string, number>();
    if (exclusions.length === 0) return dropped;
    const excluded = new Set<unknown>();
    const test = (record: unknown, row: () => readonly ExcludableRow[]) => {
      const rules = this.#readRows(row).map((each) => findExcludingRule(exclusions, each));
      const [rule] = rules;
      if (rule === undefined || rules.includes(undefined)) return;
      excluded.add(record);
      dropped.set(rule, (dropped.get(rule) ?? 0) + 1);
    };
    const reservedNames = this.#signal === "traces" ? spanKeySet : noNames;
    forEachRecord(this.#json, { names: this.#names, reservedNames, sink }, (record, base) =>
      this.#visit(record, base, test),
    );
    if (excluded.size > 0) this.#remove(excluded);
    return dropped;
  }

  /** The body's bytes; undefined where no record is left. */
  encode(): Buffer | undefined {
    if (this.#isChanged && this.#resources().length === 0) return undefined;
    return Buffer.from(stringifyExact(this.#json, () => undefined));
  }

  #resources(): readonly JsonFields[] {
    return toObjects(this.#json[this.#names.resources], this.#names.resources);
  }

  #enrichResource(group: JsonFields, peer: string | undefined, pods: PodLookup): void {
    const resource = toObject(group.resource, "resource") ?? {};
    const sent = toObjects(resource.attributes, "resource.attributes");
    const texts = new Map(
      sent.flatMap(({ key, value }): [unknown, string][] => {
        const text = toObject(value, "resource.attributes.value");
        return text === undefined
          ? []
          : [[key, typeof text.stringValue === "string" ? text.stringValue : ""]];
      }),
    );
    const { added, serviceName } = findEnrichment((key) => texts.get(key), peer, pods);
    if (added.length === 0 && serviceName === undefined) return;
    const kept = serviceName === undefined ? sent : sent.filter(({ key }) => key !== serviceKey);
    const pairs = serviceName === undefined ? added : [...added, [serviceKey, serviceName] as const];
    const more = pairs.map(([key, stringValue]) => ({ key, value: { stringValue } }));
    group.resource = { ...resource, attributes: [...kept, ...more] };
    this.#isChanged = true;
  }

  /** A record that cannot be read is kept: the hub refuses it and says why. */
  #readRows(read: () => readonly ExcludableRow[]): readonly ExcludableRow[] {
    try {
      return read();
    } catch (problem) {
      if (problem instanceof RowProblem) return [];
      throw problem;
    }
  }

  #visit(
    record: JsonFields,
    base: Attributes,
    test: (record: unknown, rows: () => readonly ExcludableRow[]) => void,
  ): void {
    if (this.#signal === "logs") test(record, () => [logRowOf(record, beginRecord(base), sink)]);
    else if (this.#signal === "traces")
      test(record, () => [spanRowOf(record, beginRecord(base), { cutElements: 0 })]);
    else {
      for (const [kind, suffixes] of Object.entries(suffixesOf)) {
        for (const point of toObjects(toObject(record[kind], kind)?.dataPoints, "dataPoints")) {
          test(point, () => {
            const attributes = beginRecord(base);
            addAttributes(attributes, point.attributes, "attributes");
            const name = stringOf(record.name, "name");
            return suffixes.map((suffix) => ({ name: name + suffix, attributes: attributes.texts }));
          });
        }
      }
    }
  }

  /** Removes these records, and whatever had records and has none left. */
  #remove(excluded: ReadonlySet<unknown>): void {
    this.#isChanged = true;
    const lists = [this.#names.resources, this.#names.scopes, this.#names.records];
    const kinds = Object.keys(suffixesOf);
    const prune = (parent: JsonFields, list: string, level: number): void => {
      if (!Array.isArray(parent[list])) return;
      parent[list] = (parent[list] as unknown[]).filter((each) => {
        if (excluded.has(each)) return false;
        if (typeof each !== "object" || each === null) return true;
        const child = each as JsonFields;
        const next = lists[level + 1];
        if (next !== undefined) {
          const isFilled = hasElements(child[next]);
          prune(child, next, level + 1);
          return !isFilled || hasElements(child[next]);
        }
        const data = kinds.map((kind) => child[kind] as JsonFields | null | undefined);
        const filled = data.filter((one) => hasElements(one?.dataPoints));
        for (const one of filled) prune(one!, "dataPoints", level + 1);
        return filled.length === 0 || filled.some((one) => hasElements(one!.dataPoints));
      });
    };
    prune(this.#json, this.#names.resources, 0);
  }
}

function hasElements(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}
