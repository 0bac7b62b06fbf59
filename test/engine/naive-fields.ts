/** Counts of fields by a loop over rows. */
import type { FieldCounts, LogRow, Step } from "../../engine/index.ts";
import { runSteps } from "../query/naive.ts";

/** Counts of fields in a form that tests compare: attributes by their keys, in order. */
interface ComparedFields extends Pick<FieldCounts, "rows" | "levels" | "isWhole"> {
  attributes: [key: string, rows: number][];
}

export function toCompared({ rows, levels, attributes, isWhole }: FieldCounts): ComparedFields {
  return { rows, levels, attributes: [...attributes].sort(), isWhole };
}

/** What a store that holds these rows must answer. */
export function countFieldsNaively(rows: readonly LogRow[], steps: readonly Step[]): ComparedFields {
  const found: LogRow[] = rows.flatMap((row) => runSteps(steps, [row]));
  const attributes = new Map<string, number>();
  for (const row of found) {
    for (const key of Object.keys(row.attributes)) attributes.set(key, (attributes.get(key) ?? 0) + 1);
  }
  const levels = found.filter(({ level }) => level !== "").length;
  return { rows: found.length, levels, attributes: [...attributes].sort(), isWhole: true };
}
