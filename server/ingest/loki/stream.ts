/** The labels of a stream, and its entries as texts. */

import { checkSharedAttributes } from "../json/json-row.ts";
import { sharedAttributeCost } from "../limits.ts";
import { levelOfAttributes } from "../loggers/level.ts";
import type { RowSink } from "../row-sink.ts";
import { agentServiceName, serviceKey } from "../service-name.ts";

/** Texts by their names; names may be any, so the object has no prototype. */
export type Texts = Record<string, string>;

/** Labels of a stream, and the bytes that each entry is charged for its copy of them. */
export interface StreamLabels {
  labels: Readonly<Texts>;
  count: number;
  copyCost: number;
}

export interface StreamEntry {
  timeNs: bigint;
  line: string;
  metadata: Texts;
}

/** The labels of a stream, with the name of its service where that can be told from them. */
export function addServiceName(labels: Texts): StreamLabels {
  const name = agentServiceName(labels);
  if (name !== undefined) labels[serviceKey] = name;
  const entries = Object.entries(labels);
  const units = entries.reduce((sum, [key, text]) => sum + key.length + text.length, 0);
  return { labels, count: entries.length, copyCost: units + entries.length * sharedAttributeCost };
}

/** Adds the entry that `read` returns, or refuses it where that throws RowProblem. Throws Refusal. */
export function addEntry(
  sink: RowSink,
  { labels, count, copyCost }: StreamLabels,
  read: () => StreamEntry,
): void {
  sink.refuseOnProblem(() => {
    checkSharedAttributes(count);
    sink.countRepeatedBytes(copyCost);
    const { timeNs, line, metadata } = read();
    const attributes: Texts = Object.assign(Object.create(null), labels, metadata);
    const level = levelOfAttributes(attributes);
    sink.addText({ timeNs: timeNs === 0n ? sink.arrivalNs() : timeNs, level, message: line, attributes });
  });
}
