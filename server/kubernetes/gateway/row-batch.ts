/** Rows that the exporter itself makes, as JSON lines: logs of containers, metrics of nodes, objects of the cluster. */

import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { type ExcludableRow, findExcludingRule } from "../../model/exclusion.ts";
import { ruleSignalOf } from "../../model/rule-signal.ts";
import { packBytesMin } from "./limits.ts";
import type { PreparedBody } from "./outgoing.ts";
import type { RuleSet } from "./rule-set.ts";

/** A row in the form of `POST /api/v1/ingest/{logs|metrics|kubernetes_resources}`. */
export interface ExporterRow {
  log_level?: string;
  message?: string;
  /** Name of a metric. */
  name?: string;
  /** An object of the cluster, as JSON. */
  body?: string;
  attributes?: Readonly<Record<string, string>>;
  labels?: Readonly<Record<string, string>>;
}

export interface RowBatch {
  signal: "logs" | "metrics" | "kubernetes_resources";
  /** The same where the batch is sent again. */
  key: string;
  rows: readonly ExporterRow[];
}

/** The type of bodies of rows. */
export const jsonLinesType = "application/x-ndjson";
const compress = promisify(zstdCompress);
const packing = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** Leaves out what rules exclude, and packs the rest. */
export async function prepareRows({ signal, key, rows }: RowBatch, rules: RuleSet): Promise<PreparedBody> {
  const exclusions = rules.exclusionsOf(ruleSignalOf[signal]);
  const dropped = new Map<string, number>();
  const kept = rows.filter((row) => {
    const rule = exclusions.length === 0 ? undefined : findExcludingRule(exclusions, toExcludable(row));
    if (rule !== undefined) dropped.set(rule, (dropped.get(rule) ?? 0) + 1);
    return rule === undefined;
  });
  if (kept.length === 0) return { outgoing: undefined, dropped };
  const text = Buffer.from(kept.map((row) => JSON.stringify(row)).join("\n"));
  const isPacked = text.length >= packBytesMin;
  const outgoing = {
    path: `/api/v1/ingest/${signal}`,
    contentType: jsonLinesType,
    contentEncoding: isPacked ? "zstd" : "identity",
    key,
    body: isPacked ? await compress(text, packing) : text,
  };
  return { outgoing, dropped };
}

function toExcludable({ log_level, message, body, name, attributes, labels }: ExporterRow): ExcludableRow {
  const text = message ?? body;
  return {
    ...(log_level === undefined ? {} : { level: log_level }),
    ...(text === undefined ? {} : { message: text }),
    ...(name === undefined ? {} : { name }),
    attributes: attributes ?? labels ?? {},
  };
}
