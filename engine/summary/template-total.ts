/**
 * The rows of several whole days by template and level. Days may have many templates that no other day has, so the sum is
 * kept for the next query over these days.
 */
import { timeMs } from "../model/day.ts";
import type { YieldThread } from "../plan/query-control.ts";
import { toLabel } from "./header-counts.ts";
import type { KnownGroups } from "./known-templates.ts";

/** All rows of a day by template and level. */
export interface DayGroups extends Pick<KnownGroups, "groups" | "names"> {
  /** The day's number since the epoch. */
  day: number;
}

/** What is known of the rows of one template. */
export interface TemplateDetail {
  /** Times of the first and the last row, whole milliseconds since the epoch. */
  firstMs: number;
  lastMs: number;
  /** Rows by level, in lower case; "" for those without one. */
  levels: [string, number][];
}

/** Levels of all days together; with more there is no sum. Chosen, not measured. */
const totalLevelsMax = 32;
/** Groups that are added before other work of the thread may run. */
const groupsATurn = 1_024;
/** Memory of a template's entry in the map by id, roughly. */
const mapEntryBytes = 100;

export class TemplateTotal {
  /** The sums of days that were added up. They are never changed, so that the same objects stand for the same rows. */
  readonly #parts: readonly DayGroups["groups"][];
  readonly #numbers: ReadonlyMap<string, number>;
  /** The id of each template. */
  readonly ids: readonly string[];
  /** The rows of each template. */
  readonly rows: Float64Array;
  readonly #firstMs: Float64Array;
  readonly #lastMs: Float64Array;
  readonly #levels: readonly string[];
  /** Those of template t and level l are at t × levels + l. */
  readonly #rowsByLevel: Float64Array;

  private constructor(
    days: readonly DayGroups[],
    numbers: ReadonlyMap<string, number>,
    levels: readonly string[],
  ) {
    this.#parts = days.map(({ groups }) => groups);
    this.#numbers = numbers;
    this.ids = [...numbers.keys()];
    this.rows = new Float64Array(numbers.size);
    this.#firstMs = new Float64Array(numbers.size).fill(Number.POSITIVE_INFINITY);
    this.#lastMs = new Float64Array(numbers.size);
    this.#levels = levels;
    this.#rowsByLevel = new Float64Array(numbers.size * levels.length);
  }

  /** Adds up days; undefined where they have too many levels. */
  static async of(days: readonly DayGroups[], pause: YieldThread): Promise<TemplateTotal | undefined> {
    const levels = [...new Set(days.flatMap(({ groups }) => groups.levelTexts.map(toLevelLabel)))];
    if (levels.length > totalLevelsMax) return undefined;
    const numbers = new Map<string, number>();
    const numbersOf: Uint32Array[] = [];
    for (const day of days) numbersOf.push(await numberTemplates(day, numbers, pause));
    const total = new TemplateTotal(days, numbers, levels);
    for (const [i, day] of days.entries()) await total.#add(day, numbersOf[i]!, pause);
    return total;
  }

  /** Estimated memory in bytes. */
  get byteLength(): number {
    return this.ids.length * (mapEntryBytes + 3 * 8 + this.#levels.length * 8);
  }

  /** Whether it is the sum of these days. */
  isOf(days: readonly DayGroups[]): boolean {
    return this.#parts.length === days.length && days.every(({ groups }, i) => this.#parts[i] === groups);
  }

  /** The number of a template, by which `ids` and `rows` have it; undefined where no row has the template. */
  numberOf(id: string): number | undefined {
    return this.#numbers.get(id);
  }

  detailOf(number: number): TemplateDetail {
    const levels: [string, number][] = [];
    for (const [level, label] of this.#levels.entries()) {
      const rows = this.#rowsByLevel[number * this.#levels.length + level]!;
      if (rows > 0) levels.push([label, rows]);
    }
    return { firstMs: this.#firstMs[number]!, lastMs: this.#lastMs[number]!, levels };
  }

  async #add({ groups, day }: DayGroups, numbers: Uint32Array, pause: YieldThread): Promise<void> {
    const levels = groups.levelTexts.map((text) => this.#levels.indexOf(toLevelLabel(text)));
    for (const [i, template] of groups.templates.entries()) {
      if (i % groupsATurn === groupsATurn - 1) await pause();
      const number = numbers[template]! - 1;
      const cell = number * this.#levels.length + levels[groups.levels[i]!]!;
      this.rows[number]! += groups.rows[i]!;
      this.#rowsByLevel[cell]! += groups.rows[i]!;
      this.#firstMs[number] = Math.min(this.#firstMs[number]!, timeMs(day, groups.firstNs[i]!));
      this.#lastMs[number] = Math.max(this.#lastMs[number]!, timeMs(day, groups.lastNs[i]!));
    }
  }
}

/** Returns for each template of a day with rows its number in `numbers`, plus 1; adds those that are not there. */
async function numberTemplates(
  { groups, names }: DayGroups,
  numbers: Map<string, number>,
  pause: YieldThread,
): Promise<Uint32Array> {
  const found = new Uint32Array(names.size);
  for (const [i, template] of groups.templates.entries()) {
    if (i % groupsATurn === groupsATurn - 1) await pause();
    if (found[template] !== 0) continue;
    const id = names.idOf(template);
    const number = numbers.get(id) ?? numbers.size;
    numbers.set(id, number);
    found[template] = number + 1;
  }
  return found;
}

function toLevelLabel(text: string | undefined): string {
  return toLabel({ kind: "level" }, text);
}
