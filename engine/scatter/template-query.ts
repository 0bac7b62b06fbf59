/** Finds the most frequent templates of messages, over all scan threads and the sum of whole days that is kept. */
import type {
  AggregatedPoints,
  CountedTemplate,
  CountedTemplates,
  TemplateQuery,
} from "../plan/aggregation.ts";
import { checkCaps, type QueryControl } from "../plan/query-control.ts";
import type { DaysSum, TemplateDetail } from "../summary/days-sum.ts";
import { textAt } from "../vector/text.ts";
import { aggregateBesideDaysSum } from "./aggregate-query.ts";
import type { QueryContext } from "./scatter-gather.ts";
import { letOthersRun, mergedATurn } from "./turn-taking.ts";

/** Each point has the rows of one template and level. */
const templateGroups = {
  groupBy: [{ kind: "template" }, { kind: "level" }],
  aggregates: [{ op: "count" }, { op: "first" }, { op: "last" }],
} as const;

/** Memory of a template's id and its entry in the map by id, roughly. */
const addedIdBytes = 100;

/** Throws Failure "input", "deadline", "cancelled", "limit". */
export async function queryTemplates(context: QueryContext, query: TemplateQuery): Promise<CountedTemplates> {
  const { control } = context;
  const { signal, fromNs, toNs, steps, limit } = query;
  const { groupBy, aggregates } = templateGroups;
  const asked = { signal, fromNs, toNs, steps, groupBy: [...groupBy], aggregates: [...aggregates] };
  const { found, daysSum } = await aggregateBesideDaysSum(context, asked);
  const ranking = new TemplateRanking(daysSum, found);
  const rows = await ranking.addUp(control);
  const first = await ranking.mostFrequent(limit, control);
  return {
    templates: await ranking.detailsOf(first, control),
    rows,
    distinct: ranking.templateCount,
    scanned: found.scanned,
  };
}

/** The rows of a sum of days and of points, by template. A template of the sum has the number that it has there. */
class TemplateRanking {
  readonly #daysSum: DaysSum | undefined;
  readonly #found: AggregatedPoints;
  /** Templates of the points that the sum of days does not have: their numbers by their ids, and the ids in order. */
  readonly #added = new Map<string, number>();
  readonly #addedIds: string[] = [];
  /** The template of each point. */
  readonly #pointTemplates: Uint32Array;
  readonly #rows: Float64Array;

  constructor(daysSum: DaysSum | undefined, found: AggregatedPoints) {
    this.#daysSum = daysSum;
    this.#found = found;
    this.#pointTemplates = new Uint32Array(found.points.groups.length);
    this.#rows = new Float64Array(this.#summedCount + this.#pointTemplates.length);
    if (daysSum !== undefined) this.#rows.set(daysSum.rows);
  }

  get #summedCount(): number {
    return this.#daysSum?.ids.length ?? 0;
  }

  get templateCount(): number {
    return this.#summedCount + this.#addedIds.length;
  }

  /** Adds the points to the sum of days; returns the rows of all. Throws Failure "deadline", "cancelled", "limit". */
  async addUp(control: QueryControl): Promise<number> {
    const { labels, points } = this.#found;
    const [counts] = points.values as [Float64Array, Float64Array, Float64Array];
    for (const [point, group] of points.groups.entries()) {
      if (point % mergedATurn === 0) {
        await letOthersRun(control);
        this.#charge(control);
      }
      const template = this.#numberOf(textAt(labels, group * 2));
      this.#pointTemplates[point] = template;
      this.#rows[template]! += counts[point]!;
    }
    let sum = 0;
    for (let template = 0; template < this.templateCount; template++) {
      if (template % mergedATurn === mergedATurn - 1) await letOthersRun(control);
      sum += this.#rows[template]!;
    }
    return sum;
  }

  /** Counts the memory of the points, and of what is made of them, to the query. */
  #charge(control: QueryControl): void {
    const { labels, points } = this.#found;
    const vectors = [labels.bytes, labels.offsets, points.groups, points.buckets, ...points.values];
    const foundBytes = vectors.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const ownBytes = this.#rows.byteLength + this.#pointTemplates.byteLength;
    const stateBytes = foundBytes + ownBytes + this.#addedIds.length * addedIdBytes;
    checkCaps(control, { columnBytes: 0, stateBytes, scannedRows: 0 });
  }

  /** The numbers of the templates with the most rows. */
  async mostFrequent(limit: number, control: QueryControl): Promise<number[]> {
    const first: number[] = [];
    let rowsMin = 0;
    const cut = () => {
      first.sort((a, b) => this.#rows[b]! - this.#rows[a]! || (this.#idOf(a) < this.#idOf(b) ? -1 : 1));
      first.length = Math.min(first.length, limit);
      if (first.length === limit) rowsMin = this.#rows[first.at(-1)!]!;
    };
    for (let template = 0; template < this.templateCount; template++) {
      if (template % mergedATurn === mergedATurn - 1) await letOthersRun(control);
      if (this.#rows[template]! < rowsMin) continue;
      first.push(template);
      if (first.length >= limit * 2 + 64) cut();
    }
    cut();
    return first;
  }

  /** What is known of some templates, in their order. */
  async detailsOf(templates: readonly number[], control: QueryControl): Promise<CountedTemplate[]> {
    const details = new Map(templates.map((template) => [template, this.#summedDetail(template)]));
    const { labels, points } = this.#found;
    const [counts, firsts, lasts] = points.values as [Float64Array, Float64Array, Float64Array];
    for (const [point, group] of points.groups.entries()) {
      if (point % mergedATurn === mergedATurn - 1) await letOthersRun(control);
      const detail = details.get(this.#pointTemplates[point]!);
      if (detail === undefined) continue;
      detail.firstMs = Math.min(detail.firstMs, firsts[point]!);
      detail.lastMs = Math.max(detail.lastMs, lasts[point]!);
      detail.levels.push([textAt(labels, group * 2 + 1), counts[point]!]);
    }
    return Array.from(details, ([template, { firstMs, lastMs, levels }]) => ({
      id: this.#idOf(template),
      rows: this.#rows[template]!,
      firstMs,
      lastMs,
      levels: addLevels(levels),
    }));
  }

  #summedDetail(template: number): TemplateDetail {
    if (template < this.#summedCount) return this.#daysSum!.detailOf(template);
    return { firstMs: Number.POSITIVE_INFINITY, lastMs: 0, levels: [] };
  }

  #idOf(template: number): string {
    return this.#daysSum?.ids[template] ?? this.#addedIds[template - this.#summedCount]!;
  }

  #numberOf(id: string): number {
    const known = this.#daysSum?.numberOf(id) ?? this.#added.get(id);
    if (known !== undefined) return known;
    const number = this.templateCount;
    this.#added.set(id, number);
    this.#addedIds.push(id);
    return number;
  }
}

function addLevels(levels: readonly [string, number][]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const [level, rows] of levels) sums.set(level, (sums.get(level) ?? 0) + rows);
  return sums;
}
