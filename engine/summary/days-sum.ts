/**
 * The rows of several whole days by template and level. Days may have many templates that no other day has, so the sum is
 * kept for the next query over these days.
 */
import { dayStartMs } from "../model/day.ts";
import type { YieldThread } from "../plan/query-control.ts";
import { growArray } from "../vector/arrays.ts";
import { toLabel } from "./header-counts.ts";
import type { IndexedTemplates } from "./indexed-templates.ts";
import type { TemplateGroups } from "./template-groups.ts";

/** All rows of a day by template and level. */
export interface DayGroups {
  groups: TemplateGroups;
  /** Names the templates of the groups. */
  names: Pick<IndexedTemplates, "size" | "idOf">;
  /** The day's number since the epoch. */
  day: number;
  /** Names the chunks whose rows these are. */
  key: string;
}

/** What is known of the rows of one template. */
export interface TemplateDetail {
  /** Times of the first and the last row, whole milliseconds since the epoch. */
  firstMs: number;
  lastMs: number;
  /** Rows by level, in lower case; "" for those without one. */
  levels: [string, number][];
}

/** Maximum number of different levels in a sum; of days with more, no sum is made. Chosen, not measured. */
const sumLevelsMax = 32;
/** Groups that are added before other work of the thread may run. */
const groupsATurn = 1_024;
/** Memory of a template's id and its entry in the map by id, roughly. */
const idBytes = 100;

export class DaysSum {
  readonly #keys: readonly string[];
  readonly #numbers = new Map<string, number>();
  /** The id of each template. */
  readonly ids: string[] = [];
  readonly #levels: readonly string[];
  #rows = new Float64Array(1_024);
  #firstMs = new Float64Array(1_024);
  #lastMs = new Float64Array(1_024);
  /** Those of template t and level l are at t × levels + l. */
  #rowsByLevel: Float64Array<ArrayBuffer>;

  private constructor(days: readonly DayGroups[], levels: readonly string[]) {
    this.#keys = days.map(({ key }) => key);
    this.#levels = levels;
    this.#rowsByLevel = new Float64Array(1_024 * levels.length);
  }

  /** Adds up days; undefined where they have too many levels. Throws what `pause` throws. */
  static async of(days: readonly DayGroups[], pause: YieldThread): Promise<DaysSum | undefined> {
    const levels = [...new Set(days.flatMap(({ groups }) => groups.levelTexts.map(toLevelLabel)))];
    if (levels.length > sumLevelsMax) return undefined;
    const sum = new DaysSum(days, levels);
    const numbersOf = new Map<DayGroups["names"], Uint32Array<ArrayBuffer>>();
    for (const day of days) {
      // Nearly always the same for all days.
      const numbers = numbersOf.get(day.names) ?? new Uint32Array(day.names.size);
      const grown = numbers.length < day.names.size ? growArray(numbers, day.names.size) : numbers;
      numbersOf.set(day.names, grown);
      await sum.#add(day, grown, pause);
    }
    return sum;
  }

  /** Estimated memory in bytes. */
  get byteLength(): number {
    return this.ids.length * idBytes + this.#rows.length * (3 + this.#levels.length) * 8;
  }

  /** The rows of each template. */
  get rows(): Float64Array {
    return this.#rows.subarray(0, this.ids.length);
  }

  /** Whether it is the sum of these days. */
  isOf(days: readonly DayGroups[]): boolean {
    return this.#keys.length === days.length && days.every(({ key }, i) => this.#keys[i] === key);
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

  /** `numbers`: the number of each template that was added, plus 1. */
  async #add({ groups, names, day }: DayGroups, numbers: Uint32Array, pause: YieldThread): Promise<void> {
    const levels = groups.levelTexts.map((text) => this.#levels.indexOf(toLevelLabel(text)));
    for (const [i, template] of groups.templates.entries()) {
      if (i % groupsATurn === groupsATurn - 1) await pause();
      numbers[template] ||= this.#findOrAdd(names.idOf(template)) + 1;
      const number = numbers[template]! - 1;
      const cell = number * this.#levels.length + levels[groups.levels[i]!]!;
      this.#rows[number]! += groups.rows[i]!;
      this.#rowsByLevel[cell]! += groups.rows[i]!;
      const beginMs = dayStartMs(day);
      this.#firstMs[number] = Math.min(this.#firstMs[number]!, beginMs + groups.firstMs[i]!);
      this.#lastMs[number] = Math.max(this.#lastMs[number]!, beginMs + groups.lastMs[i]!);
    }
  }

  #findOrAdd(id: string): number {
    const known = this.#numbers.get(id);
    if (known !== undefined) return known;
    const number = this.ids.length;
    this.#numbers.set(id, number);
    this.ids.push(id);
    if (number === this.#rows.length) this.#grow();
    this.#firstMs[number] = Number.POSITIVE_INFINITY;
    return number;
  }

  #grow(): void {
    const length = this.#rows.length * 2;
    this.#rows = growArray(this.#rows, length);
    this.#firstMs = growArray(this.#firstMs, length);
    this.#lastMs = growArray(this.#lastMs, length);
    this.#rowsByLevel = growArray(this.#rowsByLevel, length * this.#levels.length);
  }
}

function toLevelLabel(text: string | undefined): string {
  return toLabel({ kind: "level" }, text);
}
