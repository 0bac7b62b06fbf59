import type {
  Field,
  FieldValueCounts,
  QueryLimits,
  RowSignal,
  Store,
  ValueCounts,
} from "../../engine/index.ts";
import { templateTextOf } from "../../engine/index.ts";
import { resolveSteps } from "../ordered/resolution.ts";
import { columnsBySignal, fieldNameOf } from "../plan/field.ts";
import { planSearch } from "../plan/search-plan.ts";
import { simplifyRowSteps, simplifySteps } from "../plan/simplification.ts";
import { deductElapsedTime, WorkDeadline } from "../time/deadline.ts";
import { type TimeRange, toRangeNs } from "../time/range.ts";
import { firstInTurns } from "../time/sort-in-turns.ts";
import { collectPlanWarnings } from "../warning/unknown-names.ts";
import { chanceOf, contrastOf } from "./contrast.ts";

/** The part of a store that a comparison needs. */
export type ComparisonStore = Pick<Store, "readColumns" | "countValues" | "search" | "attributeKeys">;

/** Rows of one side of a comparison. */
interface ComparedRows extends TimeRange {
  /** A search for rows of the signal; "" takes all that the common search finds. */
  query: string;
}

/** Two selections of rows to compare. */
export interface ComparisonQuery {
  signal: RowSignal;
  /** A search that holds for both sides. */
  query: string;
  /** What is looked into. */
  selection: ComparedRows;
  /** What is usual. */
  baseline: ComparedRows;
  /** The most fields, and the most patterns, to return, from 1. */
  limit: number;
}

interface Difference {
  /** Rows of the selection. */
  selection: number;
  /** Rows of the baseline. */
  baseline: number;
  /** In standard deviations; above zero where it is more frequent in the selection. */
  score: number;
}

/** One value of a field; null stands for rows that lack the field. */
interface ComparedValue extends Difference {
  value: string | null;
}

/** A field whose values are differently frequent. */
export interface ComparedField {
  /** The name of the field in queries. */
  field: string;
  /** The greatest score of its values, without sign. */
  score: number;
  /** The values that differ, those that differ most first; at most `comparedValuesMax`. */
  values: ComparedValue[];
}

/** A pattern of messages that is differently frequent. */
export interface ComparedPattern extends Difference {
  /** The id of the template, which `template="…"` selects. */
  template: string;
  /** The text of the template, with `<*>` for each variable. */
  text: string;
  /** The newest message of the side that has more of them. */
  example: string;
  /** The level of that message. */
  level: string;
}

/** How two selections of rows differ, beyond what chance and the usual changes explain. */
export interface Comparison {
  /** Rows of the selection. */
  selection: number;
  /** Rows of the baseline. */
  baseline: number;
  /** Those that differ most first. */
  fields: ComparedField[];
  /** Those that differ most first; for logs. */
  patterns: ComparedPattern[];
  /** Fields that were not compared, because they have too many values or hardly any on both sides: ids. By name. */
  uncompared: string[];
  /** Sentences for people. */
  warnings: string[];
}

/** A field with more values than this, on one side, is not compared. */
const valuesMax = 5_000;
/** Fields that identify a trace or a span. They differ whenever time passes. */
const idFields: ReadonlySet<string> = new Set(["trace_id", "span_id", "parent_span_id"]);
/** A field with more values than `idValuesMin`, of which a smaller share than this is on both sides, holds ids. */
const sharedValuesMin = 0.1;
const idValuesMin = 100;
/** Values of one field that are listed at most. */
const comparedValuesMax = 10;
/** What differs by chance in fewer than one comparison of a hundred is listed. */
const chanceMax = 0.01;
/** What changes as much without a reason is not listed: in standard deviations. */
const scoreMin = 2;

/**
 * Compares the rows of two selections: which values of which fields, and which patterns of messages, are more or less
 * frequent in one of them. Throws a QueryError for a mistake in a query, and what the store throws.
 */
export async function queryComparison(
  store: ComparisonStore,
  query: ComparisonQuery,
  limits?: QueryLimits,
): Promise<Comparison> {
  const startedAtMs = performance.now();
  const sides = [
    await planSide(store, query, query.selection, limits),
    await planSide(store, query, query.baseline, limits),
  ] as const;
  const [selection, baseline] = await Promise.all(
    sides.map(({ scan }) => store.countValues({ ...scan, valuesMax }, limits)),
  );
  const warnings = sides.flatMap(({ plans, scan }) =>
    plans.flatMap((plan) => collectPlanWarnings(store, plan, scan)),
  );
  const work = new WorkDeadline(startedAtMs, limits);
  const compared = await compareCounts(selection!, baseline!, query.signal, work);
  const readPattern = makePatternReader(store, sides, deductElapsedTime(startedAtMs, limits));
  const patterns = await Promise.all(compared.templates.slice(0, query.limit).map(readPattern));
  return {
    selection: selection!.rows,
    baseline: baseline!.rows,
    fields: compared.fields.slice(0, query.limit),
    patterns: patterns.flat(),
    uncompared: compared.uncompared,
    warnings: [...new Set([...warnings, ...warnOfEmptySides(selection!, baseline!)])],
  };
}

async function planSide(
  store: ComparisonStore,
  { signal, query }: ComparisonQuery,
  rows: ComparedRows,
  limits: QueryLimits | undefined,
) {
  const plans = [planSearch(signal, query), planSearch(signal, rows.query)];
  const range = { signal, ...toRangeNs(rows.startMs, rows.endMs) };
  const selected = { ...range, steps: simplifySteps(plans.flatMap((plan) => plan.steps)) };
  const { steps } = await resolveSteps(store, selected, limits);
  return { plans, scan: { ...range, steps } };
}

function warnOfEmptySides(selection: ValueCounts, baseline: ValueCounts): string[] {
  return [
    ...(selection.rows === 0 ? ["the selection has no rows, so there is nothing to compare"] : []),
    ...(baseline.rows === 0 ? ["the baseline has no rows, so there is nothing to compare with"] : []),
  ];
}

/** A value of a field before it is known whether its difference is worth listing. */
interface Candidate extends ComparedValue {
  field: Field;
  chance: number;
}

async function compareCounts(
  selection: ValueCounts,
  baseline: ValueCounts,
  signal: RowSignal,
  work: WorkDeadline,
) {
  const uncompared: string[] = [];
  const candidates: Candidate[] = [];
  let comparisons = 0;
  for (const pair of pairFields(selection.fields, baseline.fields)) {
    if (work.isTurnOver(1 + (pair.a?.size ?? 0) + (pair.b?.size ?? 0))) await work.yield();
    if (!isComparable(pair)) {
      uncompared.push(nameField(pair.field, signal));
      continue;
    }
    if (selection.rows === 0 || baseline.rows === 0) continue;
    for (const candidate of compareValues(pair, selection.rows, baseline.rows)) {
      if (work.isTurnOver()) await work.yield();
      comparisons++;
      if (candidate.chance < chanceMax && Math.abs(candidate.score) >= scoreMin) candidates.push(candidate);
    }
  }
  // Bonferroni: with so many comparisons, one of them would differ by chance alone.
  const unlikely = candidates.filter(({ chance }) => chance * comparisons < chanceMax);
  const byRank = (x: Candidate, y: Candidate) => rankOf(y) - rankOf(x);
  const listed = await firstInTurns(unlikely, unlikely.length, byRank, work);
  const fields = new Map<string, ComparedField>();
  for (const { field, value, selection: inSelection, baseline: inBaseline, score } of listed) {
    if (field.kind === "template") continue;
    const name = nameField(field, signal);
    const own = fields.get(name) ?? { field: name, score: Math.abs(score), values: [] };
    fields.set(name, own);
    if (own.values.length < comparedValuesMax)
      own.values.push({ value, selection: inSelection, baseline: inBaseline, score });
  }
  const isPattern = ({ field, value }: Candidate) =>
    field.kind === "template" && signal === "logs" && value !== null;
  return { fields: [...fields.values()], templates: listed.filter(isPattern), uncompared: uncompared.sort() };
}

/** What is more frequent in the selection stands before what is less frequent by as much. */
function rankOf({ score }: Candidate): number {
  return Math.abs(score) + (score > 0 ? 1e-6 : 0);
}

/** One field on both sides; undefined where it has too many values there. */
interface FieldPair {
  field: Field;
  a: ReadonlyMap<string, number> | undefined;
  b: ReadonlyMap<string, number> | undefined;
}

interface ComparableField extends FieldPair {
  a: ReadonlyMap<string, number>;
  b: ReadonlyMap<string, number>;
}

function pairFields(a: readonly FieldValueCounts[], b: readonly FieldValueCounts[]): FieldPair[] {
  const pairs = new Map<string, FieldPair>();
  const none = new Map<string, number>();
  const keyOf = ({ field }: FieldValueCounts) => JSON.stringify(field);
  for (const each of a) pairs.set(keyOf(each), { field: each.field, a: each.values, b: none });
  for (const each of b) {
    const pair = pairs.get(keyOf(each));
    if (pair === undefined) pairs.set(keyOf(each), { field: each.field, a: none, b: each.values });
    else pair.b = each.values;
  }
  return [...pairs.values()];
}

function isComparable(pair: FieldPair): pair is ComparableField {
  const { field, a, b } = pair;
  if (a === undefined || b === undefined) return false;
  if (field.kind !== "attribute") return true;
  const shared = a.keys().reduce((sum, value) => sum + (b.has(value) ? 1 : 0), 0);
  const values = a.size + b.size - shared;
  return !idFields.has(field.key) && (values <= idValuesMin || shared >= values * sharedValuesMin);
}

function* compareValues({ field, a, b }: ComparableField, ofA: number, ofB: number): Generator<Candidate> {
  const compare = (value: string | null, inA: number, inB: number): Candidate => {
    const [selection, baseline] = [
      { rows: inA, of: ofA },
      { rows: inB, of: ofB },
    ];
    const score = contrastOf(selection, baseline);
    return { field, value, selection: inA, baseline: inB, score, chance: chanceOf(selection, baseline) };
  };
  for (const [value, rows] of a) yield compare(value, rows, b.get(value) ?? 0);
  for (const [value, rows] of b) if (!a.has(value)) yield compare(value, 0, rows);
  const sum = (counts: ReadonlyMap<string, number>) =>
    counts.values().reduce((total, rows) => total + rows, 0);
  const [lackingA, lackingB] = [ofA - sum(a), ofB - sum(b)];
  if (lackingA + lackingB > 0) yield compare(null, lackingA, lackingB);
}

function nameField(field: Field, signal: RowSignal): string {
  if (field.kind === "attribute") return fieldNameOf(field.key, signal);
  const [name] = Object.entries(columnsBySignal[signal]).find(([, { kind }]) => kind === field.kind) ?? [];
  return name ?? field.kind;
}

/**
 * Returns a function that reads the newest message of a template on the side that has more of it. It returns none where
 * the rows were deleted after they were counted.
 */
function makePatternReader(
  store: ComparisonStore,
  [selection, baseline]: readonly [Side, Side],
  limits: QueryLimits,
): (candidate: Candidate) => Promise<ComparedPattern[]> {
  return async ({ value, field, chance: _, ...difference }) => {
    const { scan } = difference.score > 0 ? selection : baseline;
    const filter = { kind: "equals", field, value: value! } as const;
    const steps = simplifyRowSteps([...scan.steps, { kind: "filter", filter }]);
    const { rows } = await store.search({ ...scan, steps, limit: 1 }, limits);
    if (rows[0] === undefined) return [];
    const { message: example, level } = rows[0];
    return [{ template: value!, text: templateTextOf(example), example, level, ...difference }];
  };
}

type Side = Awaited<ReturnType<typeof planSide>>;
