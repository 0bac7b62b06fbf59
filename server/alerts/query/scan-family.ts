/**
 * Families of scans: scans that differ only in the texts that some fields must equal. One scan, grouped by those
 * fields, gives the results of all of them.
 */
import {
  type AggregateQuery,
  type AggregateResult,
  type Field,
  type Filter,
  textAt,
  toTextVector,
} from "../../../engine/index.ts";
import { fieldKey } from "../../access/row-facts.ts";

/** A scan as a member of its family. */
export interface FamilyScan {
  /** Key of the family. */
  family: string;
  /** The filters that all members have in common. */
  rest: Filter[];
  /** The fields that every member compares with a text. */
  fields: Field[];
  /** The texts that this member compares them with, one for each of `fields`. */
  values: string[];
}

/** Aggregates whose result for a group does not depend on the other groups of the scan. */
const separableAggregates = new Set([
  ...["count", "first", "last", "sum", "avg", "min", "max", "stddev", "numbers", "squares"],
]);

/** Finds the family of a scan. Returns undefined for a scan that must run alone. */
export function scanKeyOf(query: AggregateQuery): FamilyScan | undefined {
  const { steps, groupBy, aggregates, signal, fromNs, toNs, bucketNs } = query;
  // A scan that extracts fields runs alone: an extracted field may have the name of an attribute that a row lacks.
  const filters = steps.flatMap((step) => (step.kind === "filter" ? [step.filter] : []));
  if (filters.length !== steps.length || !aggregates.every(({ op }) => separableAggregates.has(op)))
    return undefined;
  const conditions = filters.flatMap((filter) => (filter.kind === "and" ? filter.of : [filter]));
  const grouped = new Set(groupBy.map(fieldKey));
  const compared = new Map<string, { field: Field; value: string }>();
  const rest: Filter[] = [];
  for (const condition of conditions) {
    const key = condition.kind === "equals" ? fieldKey(condition.field) : "";
    const isOnLabel = condition.kind === "equals" && isLabel(condition.field);
    if (isOnLabel && !compared.has(key) && !grouped.has(key)) compared.set(key, condition);
    else rest.push(condition);
  }
  if (compared.size === 0) return undefined;
  const sorted = [...compared].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
  const fields = sorted.map(({ field }) => field);
  const range = [fromNs, toNs, bucketNs].map(String);
  const family = JSON.stringify([signal, range, rest, fields, groupBy, aggregates]);
  return { family, rest, fields, values: sorted.map(({ value }) => value) };
}

/** Makes the query of the family from the query of one member. It groups by the family's fields first. */
export function makeFamilyQuery(query: AggregateQuery, { rest, fields }: FamilyScan): AggregateQuery {
  const steps: AggregateQuery["steps"] = rest.map((filter) => ({ kind: "filter", filter }));
  return { ...query, steps, groupBy: [...fields, ...query.groupBy] };
}

/** Splits the family's result into one for each member. `width`: the number of fields that members group by. */
export function splitAnswer(
  answer: AggregateResult,
  members: readonly FamilyScan[],
  width: number,
): AggregateResult[] {
  const { points, labels } = answer;
  // In the labels of a group, the family's fields stand before those that members group by.
  const familyWidth = members[0]!.fields.length;
  const groupsOf = new Map<string, number[]>();
  for (let group = 0; group < answer.groups; group++) {
    const first = group * (familyWidth + width);
    const values = Array.from({ length: familyWidth }, (_, i) => textAt(labels, first + i));
    const key = JSON.stringify(values);
    const known = groupsOf.get(key);
    if (known === undefined) groupsOf.set(key, [group]);
    else known.push(group);
  }
  const pointsOf: number[][] = Array.from({ length: answer.groups }, () => []);
  for (const [point, group] of points.groups.entries()) pointsOf[group]!.push(point);
  return members.map(({ values }) => {
    const groups = groupsOf.get(JSON.stringify(values)) ?? [];
    const memberPoints = groups.flatMap((group) => pointsOf[group]!);
    const groupNumbers = groups.flatMap((group, number) => pointsOf[group]!.map(() => number));
    const texts = groups.flatMap((group) => {
      const first = group * (familyWidth + width) + familyWidth;
      return Array.from({ length: width }, (_, i) => textAt(labels, first + i));
    });
    return {
      groups: groups.length,
      labels: toTextVector(texts),
      points: {
        groups: Uint32Array.from(groupNumbers),
        buckets: Float64Array.from(memberPoints, (point) => points.buckets[point]!),
        values: points.values.map((all) => Float64Array.from(memberPoints, (point) => all[point]!)),
      },
      scanned: answer.scanned,
    };
  });
}

function isLabel({ kind }: Field): boolean {
  return kind === "attribute" || kind === "level";
}
