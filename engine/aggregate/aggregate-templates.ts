/** Counts rows by template and level from the templates that the query thread knows, without reading a column. */
import { chunkSize } from "../chunk/chunk-ref.ts";
import { isMessageTextFilter } from "../filter/message-search.ts";
import { compileRowTest } from "../filter/predicate.ts";
import { dayStartMs } from "../model/day.ts";
import type { Aggregation } from "../plan/aggregation.ts";
import type { Filter } from "../plan/filter.ts";
import { checkControl, type YieldThread } from "../plan/query-control.ts";
import { countSkippedChunk } from "../plan/scan-statistics.ts";
import type { AnswerSource, ChunkAnswerSource } from "../summary/answer-source.ts";
import type { DayGroups } from "../summary/days-sum.ts";
import { listFields, toLabel } from "../summary/header-counts.ts";
import type { KnownGroups, TemplateCounts } from "../summary/template-counts.ts";
import { passAll } from "../summary/template-groups.ts";
import { getOrMake } from "../vector/map-entry.ts";
import { addDays, bucketOfExtent, commonBucket } from "./aggregate-metadata.ts";
import type { AggregateTask } from "./aggregate-task.ts";
import type { AggregationState } from "./aggregation-state.ts";

/** Aggregations that templates have the numbers for. */
const templateOps: ReadonlySet<Aggregation["op"]> = new Set(["count", "first", "last"]);

/**
 * Adds chunks whose rows lie in the query's range and in one bucket, where rows are grouped by template, with or
 * without the level, and filtered by texts in messages that templates decide, and by the level.
 */
export function fromTemplates(state: AggregationState, templates: TemplateCounts): ChunkAnswerSource {
  const { scanned } = state;
  const isAnswerable = state.extraction === undefined && isGroupedByTemplate(state.task);
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
 * Adds all chunks of a day at once, where nothing is filtered. Where there are many days and the query may use a sum of
 * days, the days between the first and the last are not added: their sum is the answer's `daysSum`.
 */
export function fromTemplateDays(state: AggregationState, templates: TemplateCounts): AnswerSource {
  const { task, scanned } = state;
  const isAnswerable = countsAllByTemplate(task);
  const adder = new GroupAdder(state);
  const pause = async () => {
    await state.yieldThread();
    checkControl(task.control);
  };
  return async (chunks) => {
    if (!isAnswerable) return chunks;
    const days: WholeDay[] = [];
    const residual = await addDays(chunks, async (refs) => {
      await pause();
      const bucket = commonBucket(state, refs);
      const known = bucket === undefined ? undefined : await templates.dayGroupsOf(refs, pause);
      if (known === undefined) return false;
      days.push({ ...known, bucket: bucket! });
      for (const { entry } of refs) countSkippedChunk(scanned, entry);
      scanned.chunksCounted += refs.length;
      return true;
    });
    for (const day of await addToSum(state, templates, days, pause)) {
      await pause();
      adder.add({ ...day, passing: [] }, { kind: "always" }, day.day, day.bucket);
    }
    return residual;
  };
}

interface WholeDay extends DayGroups {
  bucket: number;
}

/** The least number of days of which a sum is kept. Chosen, not measured. */
const summedDaysMin = 3;

/**
 * Makes the sum of days the answer's `daysSum`; returns the days that are not part of it. These are at least the first and
 * the last day, of which the next query may ask for other chunks.
 */
async function addToSum(
  state: AggregationState,
  templates: TemplateCounts,
  days: readonly WholeDay[],
  pause: YieldThread,
): Promise<readonly WholeDay[]> {
  const inOrder = days.toSorted((a, b) => a.day - b.day);
  const between = inOrder.slice(1, -1);
  if (!state.task.mayUseDaysSum || between.length < summedDaysMin) return days;
  state.daysSum = await templates.sumOfDays(between, pause);
  return state.daysSum === undefined ? days : [inOrder[0]!, inOrder.at(-1)!];
}

/** Returns whether templates have the numbers for a task: it counts all rows. */
export function countsAllByTemplate(task: AggregateTask): boolean {
  return task.steps.length === 0 && isGroupedByTemplate(task);
}

/** Returns whether templates have the numbers for a task without extractions. */
function isGroupedByTemplate({ groupBy, aggregates }: AggregateTask): boolean {
  return (
    groupBy.some(({ kind }) => kind === "template") &&
    groupBy.every(({ kind }) => kind === "template" || kind === "level") &&
    aggregates.every(({ op }) => templateOps.has(op))
  );
}

function readsLevelAlone(filter: Filter): boolean {
  return filter.kind !== "arrived" && listFields(filter).every(({ kind }) => kind === "level");
}

/** Adds the groups of chunks to the points of an aggregation. */
class GroupAdder {
  readonly #state: AggregationState;
  /** For each level the group of each template that was added. */
  readonly #groups = new Map<string | undefined, TemplateNumbers>();
  /** The index that numbers these templates. */
  #names: KnownGroups["names"] | undefined;

  constructor(state: AggregationState) {
    this.#state = state;
  }

  add(
    { groups, names, passing: [passing, ...others] }: KnownGroups,
    levelFilter: Filter,
    day: number,
    bucket: number,
  ): void {
    const { templates, levels, rows, firstMs, lastMs, levelTexts } = groups;
    const beginMs = dayStartMs(day);
    const isLevelSelected = compileRowTest<string | undefined>(levelFilter, (text) => text);
    if (names !== this.#names) this.#groups.clear();
    this.#names = names;
    const groupsOf = levelTexts.map((text) =>
      isLevelSelected(text) ? getOrMake(this.#groups, text, () => new TemplateNumbers()) : undefined,
    );
    for (let i = 0; i < templates.length; i++) {
      const template = templates[i]!;
      // Most templates do not pass, so this comes first.
      if (passing !== undefined && passing[template] !== 1) continue;
      const known = groupsOf[levels[i]!];
      if (known === undefined || !passAll(others, template)) continue;
      let group = known.get(template);
      if (group === undefined) {
        group = this.#findOrAdd(names.idOf(template), levelTexts[levels[i]!]);
        known.set(template, group);
      }
      const point = this.#state.points.findOrAdd(group, bucket);
      this.#state.states.addRows(point, rows[i]!, beginMs + firstMs[i]!, beginMs + lastMs[i]!);
    }
  }

  #findOrAdd(template: string, level: string | undefined): number {
    const { task, groups } = this.#state;
    for (const field of task.groupBy)
      groups.stageText(field.kind === "template" ? template : toLabel(field, level));
    return groups.findOrAddStaged();
  }
}

/** Templates in a page. */
const pageTemplates = 1_024;

/** A number of each of some templates. Takes memory for the pages of templates that have one. */
class TemplateNumbers {
  /** The numbers, plus 1. */
  readonly #pages: (Uint32Array | undefined)[] = [];

  get(template: number): number | undefined {
    const stored = this.#pages[Math.floor(template / pageTemplates)]?.[template % pageTemplates];
    return stored === undefined || stored === 0 ? undefined : stored - 1;
  }

  set(template: number, number: number): void {
    const page = Math.floor(template / pageTemplates);
    this.#pages[page] ??= new Uint32Array(pageTemplates);
    this.#pages[page][template % pageTemplates] = number + 1;
  }
}
