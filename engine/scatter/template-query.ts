/** Finds the most frequent templates of messages over all scan threads, and the sum of whole days where it is kept. */
import type {
  AggregatedPoints,
  CountedTemplate,
  CountedTemplates,
  TemplateQuery,
} from "../plan/aggregation.ts";
import { checkCaps, type QueryControl } from "../plan/query-control.ts";
import type { TemplateDetail, TemplateTotal } from "../summary/template-total.ts";
import { textAt } from "../vector/text.ts";
import { aggregateBesideTotal, letOthersRun, mergedATurn } from "./aggregate-query.ts";
import type { QueryContext } from "./scatter-gather.ts";

/** Each point has the rows of one template and level. */
const templateGroups = {
  groupBy: [{ kind: "template" }, { kind: "level" }],
  aggregates: [{ op: "count" }, { op: "first" }, { op: "last" }],
} as const;

/** Throws Failure "input", "deadline", "cancelled", "limit". */
export async function queryTemplates(context: QueryContext, query: TemplateQuery): Promise<CountedTemplates> {
  const { control } = context;
  const { signal, fromNs, toNs, steps, limit } = query;
  const { groupBy, aggregates } = templateGroups;
  const asked = { signal, fromNs, toNs, steps, groupBy: [...groupBy], aggregates: [...aggregates] };
  const { found, total } = await aggregateBesideTotal(context, asked);
  const sum = new TemplateSum(total, found);
  await sum.add(control);
  const first = await sum.mostFrequent(limit, control);
  return {
    templates: await sum.detailsOf(first, control),
    rows: sum.rowCount,
    distinct: sum.templateCount,
    scanned: found.scanned,
  };
}

/** The rows of a kept sum and of points, by template. A template of the kept sum has the number that it has there. */
class TemplateSum {
  readonly #total: TemplateTotal | undefined;
  readonly #found: AggregatedPoints;
  /** Templates of the points that the kept sum does not have: their numbers by their ids, and the ids in order. */
  readonly #added = new Map<string, number>();
  readonly #addedIds: string[] = [];
  /** The template of each point. */
  readonly #pointTemplates: Uint32Array;
  readonly #rows: Float64Array;

  constructor(total: TemplateTotal | undefined, found: AggregatedPoints) {
    this.#total = total;
    this.#found = found;
    this.#pointTemplates = new Uint32Array(found.points.groups.length);
    this.#rows = new Float64Array(this.#totalCount + this.#pointTemplates.length);
    if (total !== undefined) this.#rows.set(total.rows);
  }

  get #totalCount(): number {
    return this.#total?.ids.length ?? 0;
  }

  get templateCount(): number {
    return this.#totalCount + this.#addedIds.length;
  }

  get rowCount(): number {
    return this.#rows.reduce((sum, rows) => sum + rows, 0);
  }

  /** Adds the points. Throws Failure "deadline", "cancelled", "limit". */
  async add(control: QueryControl): Promise<void> {
    const { labels, points } = this.#found;
    const [counts] = points.values as [Float64Array, Float64Array, Float64Array];
    const stateBytes = this.#rows.byteLength + this.#pointTemplates.byteLength;
    checkCaps(control, { columnBytes: 0, stateBytes, scannedRows: 0 });
    for (const [point, group] of points.groups.entries()) {
      if (point % mergedATurn === mergedATurn - 1) await letOthersRun(control);
      const template = this.#numberOf(textAt(labels, group * 2));
      this.#pointTemplates[point] = template;
      this.#rows[template]! += counts[point]!;
    }
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
    const details = new Map(templates.map((template) => [template, this.#totalDetail(template)]));
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

  #totalDetail(template: number): TemplateDetail {
    const isOfTotal = template < this.#totalCount;
    return isOfTotal
      ? this.#total!.detailOf(template)
      : { firstMs: Number.POSITIVE_INFINITY, lastMs: 0, levels: [] };
  }

  #idOf(template: number): string {
    return this.#total?.ids[template] ?? this.#addedIds[template - this.#totalCount]!;
  }

  #numberOf(id: string): number {
    const known = this.#total?.numberOf(id) ?? this.#added.get(id);
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
