/** How many rows of each chunk hold a text, by the static text of their templates. */

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
import type { GroupFilters } from "../template/variables/variable-needle.ts";
import { getOrMake } from "../vector/map-entry.ts";
import type { IndexedTemplates } from "./indexed-templates.ts";

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

/** A chunk whose templates are in the index. */
export interface IndexedChunk {
  /** Its number in the index. */
  number: number;
  /** The groups of variables that it has, one bit each. */
  groups: number;
}

/** The count for one text, indexed by `IndexedChunk.number`. */
export interface TextCount {
  /** Rows that pass by the static text of their templates. */
  rows: Float64Array;
  /** 1 at the number of each template whose messages all pass. */
  passing: Uint8Array;
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
const matchedMax = 16_384;

type MatchTemplate = (template: number) => AutomatonResult;

/** Counts texts in the messages of the chunks of an index. */
export class TextCounts {
  readonly #index: IndexedTemplates;
  /** What was counted for the filters of running queries; each query has filter objects of its own. */
  readonly #counts = new WeakMap<MessageTextFilter, readonly CountText[]>();

  constructor(index: IndexedTemplates) {
    this.#index = index;
  }

  /**
   * The count of a filter's text that is exact for a chunk; undefined where there is none, and for a chunk that was added
   * after the text was counted. `filters`: the n-gram and token filters of the chunk's variables.
   */
  exactCount(filter: MessageTextFilter, chunk: IndexedChunk, filters: GroupFilters): TextCount | undefined {
    for (const count of getOrMake(this.#counts, filter, () => this.#countsFor(filter))) {
      const found = count();
      const covers = found !== undefined && chunk.number < found.rows.length;
      if (covers && isExact(found, chunk, filters)) return found;
    }
    return undefined;
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
      const candidates =
        typeof needle === "string" ? undefined : findCandidateTemplates(this.#index.table, needle);
      return candidates === undefined || candidates.matching.length > candidatesMax
        ? undefined
        : this.#countRows(match, candidates);
    });
  }

  #countRows(match: MatchTemplate, { matching, occurrences }: CandidateTemplates): TextCount {
    const holding = new Set(matching);
    const rows = new Float64Array(this.#index.chunkCount);
    const isResidual = new Uint8Array(rows.length);
    const passing = new Uint8Array(this.#index.size);
    for (const template of holding) {
      const result = match(template);
      if (result === "all") {
        passing[template] = 1;
        this.#index.addRows(template, rows);
      } else if (result === "some") this.#index.markChunks(template, isResidual);
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
    const { bytes, from, to, classes } = this.#index.table.textOf(template);
    return matchTemplate(automaton, bytes.subarray(from, to), classes);
  }

  /**
   * Finds the chunks with templates for an occurrence. `isUndecided` returns whether a template's messages pass only by
   * such an occurrence.
   */
  #locate(occurrence: VariableOccurrence, isUndecided: (template: number) => boolean): ChunkOccurrence {
    const places = once(() => {
      return occurrence.findPlaces()?.map(({ groups, templates }) => {
        const chunks = new Uint8Array(this.#index.chunkCount);
        for (const template of templates) if (isUndecided(template)) this.#index.markChunks(template, chunks);
        return { groups, chunks };
      });
    });
    return { occurrence, places };
  }
}

/**
 * Returns whether the count of a chunk is exact: its variables cannot contain the text in any way that would add rows.
 */
function isExact(
  { isResidual, occurrences }: TextCount,
  { number, groups: present }: IndexedChunk,
  filters: GroupFilters,
): boolean {
  if (isResidual[number] === 1) return false;
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
