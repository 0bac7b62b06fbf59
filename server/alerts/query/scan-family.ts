/** Scans that differ only in the texts that some fields must have: one scan, grouped by those fields, answers all of them. */
import type { AggregateQuery, AggregateResult, Field, Filter } from "../../../engine/index.ts";
import { textAt } from "../../../engine/index.ts";

/** A scan seen as a member of its family. */
export interface FamilyScan {
  /** The same for all of a family. */
  family: string;
  /** What the family's scan keeps of the rows. */
  rest: Filter[];
  fields: Field[];
  /** Of each field the text that this member's rows have. */
  values: string[];
}

/** What comes out the same in a group of many as alone. */
const separable = new Set(["count", "first", "last", "sum", "avg", "min", "max", "stddev"]);

/** Undefined for a scan that has to run by itself. */
export function scanKeyOf(query: AggregateQuery): FamilyScan | undefined {
  const { steps, groupBy, aggregates, signal, fromNs, toNs, bucketNs } = query;
  // What is extracted may bear the name of a field that a row lacks.
  const filters = steps.flatMap((step) => (step.kind === "filter" ? [step.filter] : []));
  if (filters.length !== steps.length || !aggregates.every(({ op }) => separable.has(op))) return undefined;
  const conditions = filters.flatMap((filter) => (filter.kind === "and" ? filter.of : [filter]));
  const grouped = new Set(groupBy.map(keyOf));
  const texts = new Map<string, { field: Field; value: string }>();
  const rest: Filter[] = [];
  for (const condition of conditions) {
    const key = condition.kind === "equals" ? keyOf(condition.field) : "";
    const isText = condition.kind === "equals" && isLabel(condition.field);
    if (isText && !texts.has(key) && !grouped.has(key)) texts.set(key, condition);
    else rest.push(condition);
  }
  if (texts.size === 0) return undefined;
  const sorted = [...texts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
  const fields = sorted.map(({ field }) => field);
  const range = [fromNs, toNs, bucketNs].map(String);
  const family = JSON.stringify([signal, range, rest, fields, groupBy, aggregates]);
  return { family, rest, fields, values: sorted.map(({ value }) => value) };
}

export function familyQuery(query: AggregateQuery, { rest, fields }: FamilyScan): AggregateQuery {
  const steps: AggregateQuery["steps"] = rest.map((filter) => ({ kind: "filter", filter }));
  return { ...query, steps, groupBy: [...fields, ...query.groupBy] };
}

/** The answer of each member; `width` is the number of fields that the members group by. */
export function answersOf(
  whole: AggregateResult,
  members: readonly FamilyScan[],
  width: number,
): AggregateResult[] {
  const { points, labels } = whole;
  const lead = members[0]!.fields.length;
  const groupsOf = new Map<string, number[]>();
  for (let group = 0; group < whole.groups; group++) {
    const values = Array.from({ length: lead }, (_, i) => textAt(labels, group * (lead + width) + i));
    const key = JSON.stringify(values);
    const known = groupsOf.get(key);
    if (known === undefined) groupsOf.set(key, [group]);
    else known.push(group);
  }
  const pointsOf: number[][] = Array.from({ length: whole.groups }, () => []);
  for (const [point, group] of points.groups.entries()) pointsOf[group]!.push(point);
  return members.map(({ values }) => {
    const groups = groupsOf.get(JSON.stringify(values)) ?? [];
    const own = groups.flatMap((group) => pointsOf[group]!);
    const numbers = groups.flatMap((group, number) => pointsOf[group]!.map(() => number));
    const texts = groups.flatMap((group) =>
      Array.from({ length: width }, (_, i) => Buffer.from(textAt(labels, group * (lead + width) + lead + i))),
    );
    return {
      groups: groups.length,
      labels: textVector(texts),
      points: {
        groups: Uint32Array.from(numbers),
        buckets: Float64Array.from(own, (point) => points.buckets[point]!),
        values: points.values.map((all) => Float64Array.from(own, (point) => all[point]!)),
      },
      scanned: whole.scanned,
    };
  });
}

function textVector(texts: readonly Buffer[]): AggregateResult["labels"] {
  const offsets = new Uint32Array(texts.length + 1);
  for (const [i, text] of texts.entries()) offsets[i + 1] = offsets[i]! + text.length;
  return { offsets, bytes: Buffer.concat(texts) };
}

function isLabel({ kind }: Field): boolean {
  return kind === "attribute" || kind === "level";
}

function keyOf(field: Field): string {
  return field.kind === "attribute" ? `attribute ${field.key}` : field.kind;
}
