/** Counts rows by template and level from the templates that the query thread knows, without reading a column. */
import { chunkSize } from "../chunk/chunk-ref.ts";
import { isMessageTextFilter } from "../filter/message-search.ts";
import { compileRowTest } from "../filter/predicate.ts";
import { timeMs } from "../model/day.ts";
import type { Aggregation } from "../plan/aggregation.ts";
import type { Filter } from "../plan/filter.ts";
import { checkControl } from "../plan/query-control.ts";
import { countSkippedChunk } from "../plan/scan-statistics.ts";
import type { AnswerSource, ChunkAnswerSource } from "../summary/answer-source.ts";
import { listFields, toLabel } from "../summary/header-counts.ts";
import type { KnownGroups, TemplateCounts } from "../summary/template-counts.ts";
import type { DayGroups } from "../summary/template-total.ts";
import { addDays, bucketOfExtent, commonBucket } from "./aggregate-metadata.ts";
import type { AggregationState } from "./aggregation-state.ts";

/** Aggregations that templates have the numbers for. */
const templateOps: ReadonlySet<Aggregation["op"]> = new Set(["count", "first", "last"]);

/**
 * Adds chunks whose rows lie in the query's range and in one bucket, where rows are grouped by template, with or
 * without the level, and filtered by texts in messages that templates decide, and by the level.
 */
export function fromTemplates(state: AggregationState, templates: TemplateCounts): ChunkAnswerSource {
  const { scanned } = state;
  const isAnswerable = isGroupedByTemplate(state);
  const adder = new GroupAdder(state);
  return (chunk) => {
    const bucket = isAnswerable ? bucketOfExtent(state, chunk.view.day, chunk.view.header) : undefined;
    if (bucket === undefined) return false;
    const texts = chunk.residual.filter(isMessageTextFilter);
    const others = chunk.residual.filter((filter) => !isMessageTextFilter(filter));
    if (!others.every(readsLevelAlone)) return false;
    const known = templates.groupsOf(texts, chunk.ref, chunk.view);
    if (known === undefined) return false;
    adder.add(known, { kind: "and", of: others }, chunk.view.day, bucket);
    scanned.chunksCounted++;
    countSkippedChunk(scanned, chunkSize(chunk.ref));
    return true;
  };
}

/**
 * The same for all chunks of a day at once, where nothing is filtered. Where a query may use it and there are many days, the
 * sum of the days between the first and the last is the answer's `templateTotal`.
 */
export function fromTemplateDays(state: AggregationState, templates: TemplateCounts): AnswerSource {
  const { task, scanned, yieldThread } = state;
  const isAnswerable = isGroupedByTemplate(state) && task.steps.length === 0;
  const adder = new GroupAdder(state);
  return async (chunks) => {
    if (!isAnswerable) return chunks;
    const days: WholeDay[] = [];
    const residual = await addDays(chunks, async (refs) => {
      await yieldThread();
      checkControl(task.control);
      const bucket = commonBucket(state, refs);
      const known = bucket === undefined ? undefined : await templates.dayGroupsOf(refs, yieldThread);
      if (known === undefined) return false;
      days.push({ ...known, day: refs[0]!.day, bucket: bucket! });
      for (const { entry } of refs) countSkippedChunk(scanned, entry);
      scanned.chunksCounted += refs.length;
      return true;
    });
    for (const day of await addToTotal(state, templates, days)) {
      await yieldThread();
      adder.add(day, { kind: "always" }, day.day, day.bucket);
    }
    return residual;
  };
}

interface WholeDay extends KnownGroups, DayGroups {
  bucket: number;
}

/** Fewer days are added up for each query. Chosen, not measured. */
const totalledDaysMin = 3;

/**
 * Makes the sum of days the answer's `templateTotal`; returns the days that are not part of it. These are at least the first
 * and the last day, of which the next query may ask for other chunks.
 */
async function addToTotal(
  state: AggregationState,
  templates: TemplateCounts,
  days: readonly WholeDay[],
): Promise<readonly WholeDay[]> {
  const inOrder = days.toSorted((a, b) => a.day - b.day);
  const between = inOrder.slice(1, -1);
  if (!state.task.mayUseTotal || between.length < totalledDaysMin) return days;
  state.templateTotal = await templates.totalOfDays(between, state.yieldThread);
  return state.templateTotal === undefined ? days : [inOrder[0]!, inOrder.at(-1)!];
}

function isGroupedByTemplate({ task, extraction }: AggregationState): boolean {
  return (
    extraction === undefined &&
    task.groupBy.some(({ kind }) => kind === "template") &&
    task.groupBy.every(({ kind }) => kind === "template" || kind === "level") &&
    task.aggregates.every(({ op }) => templateOps.has(op))
  );
}

function readsLevelAlone(filter: Filter): boolean {
  return filter.kind !== "arrived" && listFields(filter).every(({ kind }) => kind === "level");
}

/** Adds the groups of chunks to the points of an aggregation. */
class GroupAdder {
  readonly #state: AggregationState;
  /** The points of the day and bucket that were added last, plus 1, by template and level; 0 for those without one. */
  #points = new Uint32Array(0);
  #pointsOf: { day: object; bucket: number } | undefined;

  constructor(state: AggregationState) {
    this.#state = state;
  }

  add({ groups, names, passes }: KnownGroups, levelFilter: Filter, day: number, bucket: number): void {
    const { templates, levels, rows, firstNs, lastNs, levelTexts } = groups;
    const isLevelSelected = compileRowTest<string | undefined>(levelFilter, (text) => text);
    const selected = levelTexts.map((text) => isLevelSelected(text));
    const stride = levelTexts.length;
    this.#keepPointsOf(names, bucket, names.size * stride);
    for (let i = 0; i < templates.length; i++) {
      const template = templates[i]!;
      const level = levels[i]!;
      if (selected[level] !== true || !passes(template)) continue;
      const at = template * stride + level;
      this.#points[at] ||= this.#findOrAdd(names.idOf(template), levelTexts[level], bucket) + 1;
      const point = this.#points[at]! - 1;
      this.#state.states.addRows(point, rows[i]!, timeMs(day, firstNs[i]!), timeMs(day, lastNs[i]!));
    }
  }

  #keepPointsOf(day: object, bucket: number, length: number): void {
    const known = this.#pointsOf;
    if (known?.day === day && known.bucket === bucket && this.#points.length === length) return;
    this.#points = new Uint32Array(length);
    this.#pointsOf = { day, bucket };
  }

  #findOrAdd(template: string, level: string | undefined, bucket: number): number {
    const { task, groups, points } = this.#state;
    for (const field of task.groupBy)
      groups.stageText(field.kind === "template" ? template : toLabel(field, level));
    return points.findOrAdd(groups.findOrAddStaged(), bucket);
  }
}
