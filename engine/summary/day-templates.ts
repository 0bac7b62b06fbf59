/**
 * The templates of a day's chunks, with the number of each template's rows in each chunk. They count the messages that
 * contain a text without reading a column.
 */

import { type MessageTextFilter, toTextNeedle } from "../filter/message-search.ts";
import { planPattern } from "../filter/pattern-search.ts";
import type { Filter } from "../plan/filter.ts";
import {
  type AutomatonResult,
  buildAutomaton,
  matchTemplate,
  type PatternAutomaton,
} from "../regexp/pattern-automaton.ts";
import {
  type CandidateTemplates,
  findCandidateTemplates,
  findMatchingGroups,
  type VariableOccurrence,
} from "../template/candidate-templates.ts";
import { postingBytes, postingListBytes, TemplateTable } from "../template/template-table.ts";
import { groupOf } from "../template/variables/variable-columns.ts";
import type { GroupFilters } from "../template/variables/variable-needle.ts";
import { getOrMake } from "../vector/map-entry.ts";
import { toByteSource } from "../vector/text-table.ts";
import { hash64 } from "../vector/xxhash.ts";
import {
  groupLevelsMax,
  sumTemplateGroups,
  type TemplateGroups,
  templateGroupBytes,
} from "./template-groups.ts";
import type { ListedTemplates } from "./template-listing.ts";

/**
 * Returns whether templates can count the messages that pass. They cannot where the text can lie only within a
 * variable.
 */
export function canAnswerFromTemplates(filter: MessageTextFilter): boolean {
  const texts = filter.kind === "contains" ? [filter] : planPattern(filter).necessary;
  return texts.some((text) => {
    const needle = toTextNeedle(text);
    return typeof needle !== "string" && needle.shapes.length > 0;
  });
}

/** The rows of a chunk by template and level. */
export interface KnownGroups {
  groups: TemplateGroups;
  /** Names the templates; the same object for all chunks of a day. */
  names: Pick<DayTemplates, "size" | "idOf">;
  /** Returns whether the messages of a template pass the filters. */
  passes: (template: number) => boolean;
}

/** A chunk whose templates are known. */
interface KnownChunk {
  /** Its index among the chunks of the day. */
  number: number;
  /** The groups of variables that it has, one bit each. */
  groups: number;
  /** For each group of variables the bits of its n-gram filter; undefined where the group has none. */
  ngrams: (Uint8Array | undefined)[];
  /** Rows by the numbers that templates and levels have in the day. */
  rowGroups: TemplateGroups | undefined;
}

/** The count for one text, indexed by `KnownChunk.number`. */
interface TextCount {
  /** Rows that pass by the static text of their templates. */
  rows: Float64Array;
  /** The templates whose messages all pass. */
  passing: ReadonlySet<number>;
  /** 1 where more rows may pass: the count is not exact. */
  isResidual: Uint8Array;
  /**
   * The ways in which variables may contain the text. Where a chunk's filters do not exclude all of them, its count is
   * not exact.
   */
  occurrences: readonly ChunkOccurrence[];
}

/** Counts a text when first called. Undefined where templates cannot count the text, or too many contain it. */
type CountText = () => TextCount | undefined;

/** One way in which variables may contain a text, and the chunks that have templates for it. */
interface ChunkOccurrence {
  occurrence: VariableOccurrence;
  /** Undefined where any chunk may have it. */
  places: () => readonly ChunkPlaces[] | undefined;
}

/**
 * The chunks with a template that has neighbouring variables of these groups (one for each condition of the occurrence)
 * where the occurrence needs them.
 */
interface ChunkPlaces {
  groups: readonly number[];
  /** 1 for each such chunk, by its number. */
  chunks: Uint8Array;
}

/** Above this many templates that contain a text, the query thread leaves the chunks to the scan threads. */
const candidatesMax = 65_536;
/**
 * Maximum number of templates that the query thread matches with one pattern. Messages of further templates count as
 * undecided.
 */
const matchedMax = 8_192;
/** Number of templates that are added before other work of the thread may run. */
const templatesATurn = 256;

type MatchTemplate = (template: number) => AutomatonResult;

export class DayTemplates {
  readonly #table = new TemplateTable();
  /** For each template: a chunk's number, the template's rows in that chunk, the next chunk's number … */
  readonly #rows: number[][] = [];
  #rowsCount = 0;
  /** By chunk version; undefined for a chunk whose templates are not kept. */
  readonly #chunks = new Map<string, KnownChunk | undefined>();
  #chunkCount = 0;
  #ngramBytes = 0;
  #groupCount = 0;
  /** The groups of the chunks that were added up last. */
  #total: { chunks: ReadonlySet<string>; groups: TemplateGroups } | undefined;
  /** The levels of all groups, as they were sent; undefined stands for rows without one. */
  readonly #levels: (string | undefined)[] = [];
  /** The ids of the templates, made when they are first asked for. */
  readonly #ids: string[] = [];
  /** What was counted for the filters of running queries; each query has filter objects of its own. */
  #counts = new WeakMap<MessageTextFilter, readonly CountText[]>();

  /** Estimated memory in bytes. */
  get byteLength(): number {
    return (
      this.#table.byteLength +
      this.#rows.length * postingListBytes +
      this.#rowsCount * 2 * postingBytes +
      this.#ngramBytes +
      (this.#groupCount + (this.#total?.groups.rows.length ?? 0)) * templateGroupBytes
    );
  }

  /** How many templates there are. */
  get size(): number {
    return this.#table.size;
  }

  /** The id by which queries name a template. */
  idOf(template: number): string {
    const known = this.#ids[template];
    if (known !== undefined) return known;
    const { bytes, from, to } = this.#table.textOf(template);
    const id = hash64(bytes, from, to);
    this.#ids[template] = id;
    return id;
  }

  has(chunk: string): boolean {
    return this.#chunks.has(chunk);
  }

  /** Returns whether most of the known chunks are no longer among `chunks`. */
  isMostlyGone(chunks: ReadonlySet<string>): boolean {
    let known = 0;
    let gone = 0;
    for (const [chunk, templates] of this.#chunks) {
      if (templates === undefined) continue;
      known++;
      if (!chunks.has(chunk)) gone++;
    }
    return gone * 2 > known;
  }

  /** Notes that the templates of a chunk are not kept. */
  skip(chunk: string): void {
    this.#chunks.set(chunk, undefined);
  }

  async add(
    { chunk, keys, rows, ngrams, groups: listed }: ListedTemplates,
    pause: () => Promise<void>,
  ): Promise<void> {
    const number = this.#chunkCount++;
    const source = toByteSource(keys.bytes);
    const numbers = new Uint32Array(rows.length);
    let groups = 0;
    for (let i = 0; i < rows.length; i++) {
      if (i % templatesATurn === templatesATurn - 1) await pause();
      const template = this.#table.add(source, keys.offsets[i]!, keys.offsets[i + 1]!);
      numbers[i] = template;
      if (template === this.#rows.length) this.#rows.push([]);
      this.#rows[template]!.push(number, rows[i]!);
      for (const classes of this.#table.textOf(template).classes) groups |= 1 << groupOf(classes);
    }
    this.#rowsCount += rows.length;
    for (const bits of ngrams) this.#ngramBytes += bits?.byteLength ?? 0;
    this.#chunks.set(chunk, { number, groups, ngrams, rowGroups: this.#numberGroups(listed, numbers) });
    this.#counts = new WeakMap();
  }

  /**
   * Counts the rows of a chunk that pass; undefined where its templates do not decide that. `tokens` returns the token
   * filter of a group of the chunk's variables.
   */
  rowsOf(filter: MessageTextFilter, chunk: string, tokens: GroupFilters["tokens"]): number | undefined {
    const known = this.#chunks.get(chunk);
    return known === undefined ? undefined : this.#exactCount(filter, known, tokens)?.rows[known.number];
  }

  /**
   * The rows of a chunk by template and level, and which templates pass all filters; undefined where its templates do
   * not decide that. `tokens` as above.
   */
  groupsOf(
    filters: readonly MessageTextFilter[],
    chunk: string,
    tokens: GroupFilters["tokens"],
  ): KnownGroups | undefined {
    const known = this.#chunks.get(chunk);
    if (known?.rowGroups === undefined) return undefined;
    const passing: ReadonlySet<number>[] = [];
    for (const filter of filters) {
      const count = this.#exactCount(filter, known, tokens);
      if (count === undefined) return undefined;
      passing.push(count.passing);
    }
    const passes = (template: number) => passing.every((templates) => templates.has(template));
    return { groups: known.rowGroups, names: this, passes };
  }

  /** All rows of some chunks by template and level; undefined where that is not known of each of them. */
  async totalOf(chunks: readonly string[], pause: () => Promise<void>): Promise<KnownGroups | undefined> {
    const last = this.#total;
    const isSame = last?.chunks.size === chunks.length && chunks.every((chunk) => last.chunks.has(chunk));
    if (!isSame) {
      const parts: TemplateGroups[] = [];
      for (const chunk of chunks) {
        const groups = this.#chunks.get(chunk)?.rowGroups;
        if (groups === undefined) return undefined;
        parts.push(groups);
      }
      const groups = await sumTemplateGroups(parts, this.size, this.#levels, pause);
      if (groups === undefined) return undefined;
      this.#total = { chunks: new Set(chunks), groups };
    }
    return { groups: this.#total!.groups, names: this, passes: () => true };
  }

  /** The count of a text that is exact for a chunk. */
  #exactCount(
    filter: MessageTextFilter,
    chunk: KnownChunk,
    tokens: GroupFilters["tokens"],
  ): TextCount | undefined {
    for (const count of getOrMake(this.#counts, filter, () => this.#countsFor(filter))) {
      const found = count();
      if (found !== undefined && isExact(found, chunk, tokens)) return found;
    }
    return undefined;
  }

  /** Numbers the templates and levels of a chunk's groups as the day does. `numbers`: those of the chunk's templates. */
  #numberGroups(groups: TemplateGroups | undefined, numbers: Uint32Array): TemplateGroups | undefined {
    if (groups === undefined) return undefined;
    const added = groups.levelTexts.filter((text) => !this.#levels.includes(text));
    if (this.#levels.length + added.length > groupLevelsMax) return undefined;
    this.#levels.push(...added);
    const levels = groups.levelTexts.map((text) => this.#levels.indexOf(text));
    this.#groupCount += groups.rows.length;
    return {
      ...groups,
      templates: groups.templates.map((template) => numbers[template]!),
      levels: groups.levels.map((level) => levels[level]!),
      levelTexts: this.#levels,
    };
  }

  /**
   * For a pattern, returns one count for each text that every match must contain: where one count is not exact, another
   * may be.
   */
  #countsFor(filter: MessageTextFilter): CountText[] {
    if (filter.kind === "contains") return [this.#countFor(filter, () => "all")];
    const { necessary, isExact } = planPattern(filter);
    if (isExact && necessary.length === 1) return [this.#countFor(necessary[0]!, () => "all")];
    const automaton = buildAutomaton(filter.pattern, filter);
    if (automaton === undefined) return [];
    const results = new Map<number, AutomatonResult>();
    const match: MatchTemplate = (template) => {
      const result =
        results.get(template) ?? (results.size < matchedMax ? this.#match(template, automaton) : "some");
      results.set(template, result);
      return result;
    };
    return necessary.map((need) => this.#countFor(need, match));
  }

  /** `match`: which messages of a template pass, among those that hold the text. */
  #countFor(text: Filter, match: MatchTemplate): CountText {
    return once(() => {
      const needle = toTextNeedle(text);
      const candidates = typeof needle === "string" ? undefined : findCandidateTemplates(this.#table, needle);
      return candidates === undefined || candidates.matching.length > candidatesMax
        ? undefined
        : this.#countRows(match, candidates);
    });
  }

  #countRows(match: MatchTemplate, { matching, occurrences }: CandidateTemplates): TextCount {
    const holding = new Set(matching);
    const rows = new Float64Array(this.#chunkCount);
    const isResidual = new Uint8Array(rows.length);
    const passing = new Set<number>();
    for (const template of holding) {
      const result = match(template);
      if (result === "all") {
        passing.add(template);
        this.#addRows(template, rows);
      } else if (result === "some") this.#markChunks(template, isResidual);
    }
    // A template whose static text holds the needle was counted above, whatever its variables hold.
    const isUndecided = (template: number) => !holding.has(template) && match(template) !== "none";
    return {
      rows,
      passing,
      isResidual,
      occurrences: occurrences.map((each) => this.#locate(each, isUndecided)),
    };
  }

  #match(template: number, automaton: PatternAutomaton): AutomatonResult {
    const { bytes, from, to, classes } = this.#table.textOf(template);
    return matchTemplate(automaton, bytes.subarray(from, to), classes);
  }

  /**
   * Finds the chunks with templates for an occurrence. `isUndecided` returns whether a template's messages pass only by
   * such an occurrence.
   */
  #locate(occurrence: VariableOccurrence, isUndecided: (template: number) => boolean): ChunkOccurrence {
    const places = once(() => {
      return occurrence.findPlaces()?.map(({ groups, templates }) => {
        const chunks = new Uint8Array(this.#chunkCount);
        for (const template of templates) if (isUndecided(template)) this.#markChunks(template, chunks);
        return { groups, chunks };
      });
    });
    return { occurrence, places };
  }

  #addRows(template: number, rows: Float64Array): void {
    const own = this.#rows[template]!;
    for (let i = 0; i < own.length; i += 2) rows[own[i]!] = rows[own[i]!]! + own[i + 1]!;
  }

  #markChunks(template: number, chunks: Uint8Array): void {
    const own = this.#rows[template]!;
    for (let i = 0; i < own.length; i += 2) chunks[own[i]!] = 1;
  }
}

/**
 * Returns whether the count of a chunk is exact: its variables cannot contain the text in any way that would add rows.
 */
function isExact(
  { isResidual, occurrences }: TextCount,
  { number, groups: present, ngrams }: KnownChunk,
  tokens: GroupFilters["tokens"],
): boolean {
  if (isResidual[number] === 1) return false;
  const filters = { ngrams: (group: number) => ngrams[group], tokens };
  return !occurrences.some(({ occurrence, places }) => {
    const matching = findMatchingGroups(occurrence, present, filters);
    if (matching === undefined) return false;
    const found = places();
    return (
      found === undefined ||
      found.some(({ groups, chunks }) => {
        return chunks[number] === 1 && groups.every((group, i) => ((matching[i]! >> group) & 1) === 1);
      })
    );
  });
}

/** Makes a value when it is first asked for. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
