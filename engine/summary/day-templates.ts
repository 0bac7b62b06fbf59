/** The templates of a day's chunks with the rows of each: what counts the messages that hold a text without a look at them. */

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
  groupsThatMayMatch,
  type VariableOccurrence,
} from "../template/candidate-templates.ts";
import { entryBytes, listBytes, TemplateTable } from "../template/template-table.ts";
import type { TokenFilter } from "../template/token-filter.ts";
import { groupOf } from "../template/variable-columns.ts";
import { byteSource } from "../vector/text-table.ts";
import type { ListedTemplates } from "./template-listing.ts";

/** Whether templates can tell how many messages pass: not of text that stands in variables alone. */
export function canAnswerFromTemplates(filter: MessageTextFilter): boolean {
  const texts = filter.kind === "contains" ? [filter] : planPattern(filter).needs;
  return texts.some((text) => {
    const needle = toTextNeedle(text);
    return typeof needle !== "string" && needle.shapes.length > 0;
  });
}

/** A chunk whose templates are known. */
interface KnownChunk {
  number: number;
  /** Groups of variables that it has, a bit each. */
  groups: number;
  /** Of each group the bits of its runs of letters. */
  ngrams: (Uint8Array | undefined)[];
}

/** What the templates tell of a filter, by the numbers of chunks. */
interface Found {
  /** Rows that pass whatever their variables. */
  rows: Float64Array;
  /** 1 where rows may pass that are not counted. */
  open: Uint8Array;
  /** The same, where a chunk's variables can stand in that way. */
  ways: readonly ChunkWay[];
}

/** Undefined where nothing is told. */
type Find = () => Found | undefined;

interface ChunkWay {
  way: VariableOccurrence;
  /** Undefined where any chunk may have such a place. */
  places: () => readonly ChunkPlaces[] | undefined;
}

/** `chunks`: 1 where a chunk has messages with such a place. */
interface ChunkPlaces {
  groups: readonly number[];
  chunks: Uint8Array;
}

/** More templates that hold a text are not looked through on the calling thread, */
const holdersMax = 65_536;
/** nor matched with a pattern. */
const matchedMax = 8_192;
/** Templates taken in before other work of the thread has its turn, if that is due. */
const templatesATurn = 256;

export class DayTemplates {
  readonly #table = new TemplateTable();
  /** Of each template a chunk's number and its rows there, one after the other. */
  readonly #rows: number[][] = [];
  #rowsCount = 0;
  /** Undefined for a chunk of which nothing is told. */
  readonly #chunks = new Map<string, KnownChunk | undefined>();
  #chunkCount = 0;
  #ngramBytes = 0;
  /** Of the filters of queries that run; each has its own. */
  #finds = new WeakMap<MessageTextFilter, readonly Find[]>();

  /** Bytes that it takes up, about. */
  get byteLength(): number {
    return (
      this.#table.byteLength +
      this.#rows.length * listBytes +
      this.#rowsCount * 2 * entryBytes +
      this.#ngramBytes
    );
  }

  has(chunk: string): boolean {
    return this.#chunks.has(chunk);
  }

  /** Whether most of the chunks that it tells of are not among these. */
  isMostlyGone(chunks: ReadonlySet<string>): boolean {
    let known = 0;
    let gone = 0;
    for (const [chunk, told] of this.#chunks) {
      if (told === undefined) continue;
      known++;
      if (!chunks.has(chunk)) gone++;
    }
    return gone * 2 > known;
  }

  /** Of this chunk nothing will be told. */
  leave(chunk: string): void {
    this.#chunks.set(chunk, undefined);
  }

  async add({ chunk, keys, rows, ngrams }: ListedTemplates, pause: () => Promise<void>): Promise<void> {
    const number = this.#chunkCount++;
    const source = byteSource(keys.bytes);
    let groups = 0;
    for (let i = 0; i < rows.length; i++) {
      if (i % templatesATurn === templatesATurn - 1) await pause();
      const template = this.#table.add(source, keys.offsets[i]!, keys.offsets[i + 1]!);
      if (template === this.#rows.length) this.#rows.push([]);
      this.#rows[template]!.push(number, rows[i]!);
      for (const classes of this.#table.textOf(template).classes) groups |= 1 << groupOf(classes);
    }
    this.#rowsCount += rows.length;
    for (const bits of ngrams) this.#ngramBytes += bits?.byteLength ?? 0;
    this.#chunks.set(chunk, { number, groups, ngrams });
    this.#finds = new WeakMap();
  }

  /** How many rows of a chunk pass; undefined where its templates do not tell. `tokens`: of each of the chunk's groups of variables. */
  rowsOf(
    filter: MessageTextFilter,
    chunk: string,
    tokens: (group: number) => TokenFilter | undefined,
  ): number | undefined {
    const known = this.#chunks.get(chunk);
    if (known === undefined) return undefined;
    let finds = this.#finds.get(filter);
    if (finds === undefined) {
      finds = this.#findsFor(filter);
      this.#finds.set(filter, finds);
    }
    for (const find of finds) {
      const found = find();
      if (found !== undefined && !isOpen(found, known, tokens)) return found.rows[known.number];
    }
    return undefined;
  }

  /** Of a pattern one for each text that matches must hold: what one leaves open, another may not. */
  #findsFor(filter: MessageTextFilter): Find[] {
    if (filter.kind === "contains") return [this.#findFor(filter, () => "all")];
    const { needs, exact } = planPattern(filter);
    if (exact && needs.length === 1) return [this.#findFor(needs[0]!, () => "all")];
    const machine = buildAutomaton(filter.pattern, filter);
    if (machine === undefined) return [];
    const verdicts = new Map<number, AutomatonResult>();
    const verdictOn = (template: number): AutomatonResult => {
      const verdict =
        verdicts.get(template) ?? (verdicts.size < matchedMax ? this.#verdictOn(template, machine) : "some");
      verdicts.set(template, verdict);
      return verdict;
    };
    return needs.map((need) => this.#findFor(need, verdictOn));
  }

  /** `verdictOn`: whether messages that hold the text pass, template by template. */
  #findFor(text: Filter, verdictOn: (template: number) => AutomatonResult): Find {
    return once(() => {
      const needle = toTextNeedle(text);
      const holders = typeof needle === "string" ? undefined : findCandidateTemplates(this.#table, needle);
      return holders === undefined || holders.whole.length > holdersMax
        ? undefined
        : this.#rowsPassing(verdictOn, holders);
    });
  }

  #rowsPassing(
    verdictOn: (template: number) => AutomatonResult,
    { whole, occurrences }: CandidateTemplates,
  ): Found {
    const settled = new Set(whole);
    const rows = new Float64Array(this.#chunkCount);
    const open = new Uint8Array(rows.length);
    for (const template of settled) {
      const verdict = verdictOn(template);
      if (verdict === "all") this.#addRows(template, rows);
      else if (verdict === "some") this.#markChunks(template, open);
    }
    // What holds the text anyway does so whatever its variables.
    const isOpen = (template: number) => !settled.has(template) && verdictOn(template) !== "none";
    return { rows, open, ways: occurrences.map((way) => this.#chunkWay(way, isOpen)) };
  }

  #verdictOn(template: number, machine: PatternAutomaton): AutomatonResult {
    const { bytes, from, to, classes } = this.#table.textOf(template);
    return matchTemplate(machine, bytes.subarray(from, to), classes);
  }

  /** `isOpen`: whether messages of a template depend on the way. */
  #chunkWay(way: VariableOccurrence, isOpen: (template: number) => boolean): ChunkWay {
    const places = once(() => {
      return way.places()?.map(({ groups, templates }) => {
        const chunks = new Uint8Array(this.#chunkCount);
        for (const template of templates) if (isOpen(template)) this.#markChunks(template, chunks);
        return { groups, chunks };
      });
    });
    return { way, places };
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

/** Whether a chunk may have passing rows that are not counted. */
function isOpen(
  { open, ways }: Found,
  { number, groups: present, ngrams }: KnownChunk,
  tokens: (group: number) => TokenFilter | undefined,
): boolean {
  if (open[number] === 1) return true;
  const filters = { ngrams: (group: number) => ngrams[group], tokens };
  return ways.some(({ way, places }) => {
    const meets = groupsThatMayMatch(way, present, filters);
    if (meets === undefined) return false;
    const found = places();
    return (
      found === undefined ||
      found.some(({ groups, chunks }) => {
        return chunks[number] === 1 && groups.every((group, i) => ((meets[i]! >> group) & 1) === 1);
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
