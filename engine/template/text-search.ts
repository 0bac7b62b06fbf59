/** Which rows of a message column hold a text: decided on templates, then on variables, without rebuilding a row. */

import type { Kernels } from "../kernels/contract.ts";
import type { Heap } from "../kernels/heap.ts";
import { type Needle, needleOf } from "../kernels/needle.ts";
import { lastAtMost } from "../vector/binary-search.ts";
import { type Bitmap, setBit } from "../vector/bitmap.ts";
import { foldedByte } from "../vector/case-folding.ts";
import type { MessageColumn } from "./message-column.ts";
import { enumerateShapes, isWord, type VariableCondition } from "./needle-shape.ts";
import { mayContainNgrams, ngramsOf } from "./ngram-filter.ts";
import { CharClass, classesOf } from "./slot-encoding.ts";
import { blockTexts, type LongToken, longTokensOf, type TokenFilter } from "./token-filter.ts";
import { slotByte } from "./tokenizer.ts";
import {
  eachRow,
  groupClasses,
  groupOf,
  letterWidths,
  oneForAll,
  type VariableGroup,
} from "./variable-columns.ts";

/** What tells of a chunk's groups of variables what they cannot hold. */
export interface GroupFilters {
  /** Bits of the runs of letters in a group, where it has them. */
  ngrams: (group: number) => Uint8Array | undefined;
  /** The filter of a group for long runs of digits, where it has one. */
  tokens: (group: number) => TokenFilter | undefined;
}

/** What a search works with: vectors on the scratch heap live as long as the view. */
export interface SearchTools extends GroupFilters {
  kernels: Kernels<ArrayBufferLike>;
  scratch: Heap;
}

/** Where a text stands, prepared once for many chunks. */
export interface TextNeedle {
  ignoreCase: boolean;
  isWord: boolean;
  whole: VariableNeedle;
  shapes: readonly NeedleShape[];
}

/** A text to look for among templates, and what the variables in it must meet, in order. */
export interface NeedleShape {
  needle: Needle;
  conditions: readonly (VariableCondition & VariableNeedle)[];
}

/** What a text asks of the variable that is to hold it. */
export interface VariableNeedle {
  needle: Needle;
  /** Classes of characters that a slot must have. */
  classes: number;
  /** Classes that the slot's group must allow: of letters whose case is ignored, either case would do. */
  groupClasses: number;
  /** Runs as each group's filter has them. */
  ngrams: readonly (readonly number[])[];
  token: LongToken;
}

/** `bytes`: UTF-8, not empty; in lower case and ASCII where case is ignored. */
export function textNeedle(bytes: Uint8Array, ignoreCase: boolean): TextNeedle {
  const shapes = enumerateShapes(bytes).map(({ text, conditions }) => ({
    needle: needleOf(text, ignoreCase),
    conditions: conditions.map((condition) => ({ ...condition, ...partOf(condition.text, ignoreCase) })),
  }));
  return { ignoreCase, isWord: isWord(bytes), whole: partOf(bytes, ignoreCase), shapes };
}

function partOf(bytes: Uint8Array, ignoreCase: boolean): VariableNeedle {
  const groupClasses = classesOf(bytes, 0, bytes.length);
  const sure = CharClass.digit | CharClass.mark;
  return {
    needle: needleOf(bytes, ignoreCase),
    classes: ignoreCase ? groupClasses & sure : groupClasses,
    groupClasses,
    ngrams: letterWidths.map((width) => (width === undefined ? [] : ngramsOf(bytes, width))),
    token: longTokensOf(bytes).flat(),
  };
}

/** Whether a group's variables can hold a text. */
export function mayContainNeedle(group: number, part: VariableNeedle, filters: GroupFilters): boolean {
  if (!mayContainNeedleNgrams(group, part, filters)) return false;
  return part.token.length === 0 || filters.tokens(group)?.mayHold(part.token) !== false;
}

function mayContainNeedleNgrams(
  group: number,
  { groupClasses: classes, ngrams }: VariableNeedle,
  filters: GroupFilters,
): boolean {
  if ((classes & ~groupClasses[group]!) !== 0) return false;
  const needed = ngrams[group]!;
  const filter = needed.length > 0 ? filters.ngrams(group) : undefined;
  return filter === undefined || mayContainNgrams(filter, needed);
}

/** Whether a text is a message of one variable as a whole, which may have separators in it. */
export function isLoneSlot(bytes: Uint8Array, from: number, to: number): boolean {
  return to - from === 1 && bytes[from] === slotByte;
}

/** Rows of templates that hold the needle are set one by one where they are at most one in so many, else by a look at each row's code. */
const fewRows = 16;

/** The messages that hold a needle. */
export interface MessageMatches {
  /** 1 for each template whose rows all hold it. */
  templates: Uint8Array;
  /** Rows of other templates, a bit a row on the scratch heap; undefined where there are none. */
  rows: Bitmap | undefined;
}

export function findMessages(column: MessageColumn, needle: TextNeedle, tools: SearchTools): MessageMatches {
  return new MessageSearch(column, needle, tools).holding();
}

/** Adds the rows of the templates that are marked with 1 to others, a bit a row on the scratch heap; undefined where there are none. */
export function addTemplateRows(
  column: MessageColumn,
  { templates, rows: others }: MessageMatches,
  { kernels, scratch }: Pick<SearchTools, "kernels" | "scratch">,
): Bitmap | undefined {
  let rows = 0;
  for (let template = 0; template < templates.length; template++)
    if (templates[template] === 1) rows += column.rowCount(template);
  if (rows === 0) return others;
  const found = others ?? scratch.uint8((column.rows + 7) >> 3);
  if (rows * fewRows > column.rows) {
    const settled = scratch.uint8(found.length);
    kernels.codesInTable(column.codes, templates, settled);
    kernels.or(found, settled);
    return found;
  }
  for (let template = 0; template < templates.length; template++) {
    if (templates[template] === 0) continue;
    for (const row of column.rowsOf(template)) setBit(found, row);
  }
  return found;
}

/** A condition, the groups whose variables can meet it, and those of them that were searched for its text. */
type Asked = VariableCondition & VariableNeedle & { groups: number; searched: number };

class MessageSearch {
  readonly #column: MessageColumn;
  readonly #needle: TextNeedle;
  readonly #tools: SearchTools;
  /** 1 for each template whose rows all hold the needle. */
  readonly #whole: Uint8Array;
  #found: Bitmap | undefined;

  constructor(column: MessageColumn, needle: TextNeedle, tools: SearchTools) {
    this.#column = column;
    this.#needle = needle;
    this.#tools = tools;
    this.#whole = new Uint8Array(column.templateCount);
  }

  holding(): MessageMatches {
    // Static shapes come first, so that templates which they settle are settled for the others.
    for (const { needle, conditions } of this.#needle.shapes) {
      const asked = conditions.map((condition) => ({
        ...condition,
        groups: this.#groupsFor(condition),
        searched: 0,
      }));
      if (asked.some(({ groups }) => groups === 0)) continue;
      if (asked.length === 0) this.#markHolders(needle);
      else this.#eachPlace(needle.bytes, asked);
    }
    if (this.#needle.isWord) this.#markVariables();
    else this.#markLoneSlots();
    return { templates: this.#whole, rows: this.#found };
  }

  /** Settles the templates whose static text holds the needle. */
  #markHolders(needle: Needle): void {
    const { offsets, bytes } = this.#column.templates;
    const hits = this.#tools.scratch.uint32(hitsAtATime);
    let template = 0;
    for (let from = 0; ; ) {
      const count = this.#tools.kernels.findHits(bytes, from, bytes.length, needle, hits);
      for (let i = 0; i < count; i++) {
        const at = hits[i]!;
        while (offsets[template + 1]! <= at) template++;
        if (at + needle.bytes.length <= offsets[template + 1]!) this.#whole[template] = 1;
      }
      if (count < hitsAtATime) return;
      from = hits[count - 1]! + 1;
    }
  }

  /** Looks for a shape around the slots that can meet its most selective condition, and marks the rows that meet all. */
  #eachPlace(shape: Uint8Array, conditions: readonly Asked[]): void {
    const candidates = conditions.map(({ groups }) =>
      this.#column.slotsOf.filter((_, group) => ((groups >> group) & 1) === 1),
    );
    const sizes = candidates.map((lists) => lists.reduce((sum, slots) => sum + slots.length, 0));
    const chosen = sizes.indexOf(Math.min(...sizes));
    let within = -1;
    for (let i = 0; i <= chosen; i++) within = shape.indexOf(slotByte, within + 1);
    const { ignoreCase } = this.#needle;
    const { offsets, bytes } = this.#column.templates;
    for (const slots of candidates[chosen]!) {
      for (let i = 0; i < slots.length; i++) {
        const slot = slots[i]!;
        const at = this.#column.slotPlaces[slot]! - within;
        if (at < 0 || !equalsAt(bytes, at, shape, ignoreCase)) continue;
        const template = this.#column.templateOfSlot(slot);
        if (
          this.#whole[template] === 1 ||
          at < offsets[template]! ||
          at + shape.length > offsets[template + 1]!
        )
          continue;
        this.#markShape(template, slot - chosen, conditions);
      }
    }
  }

  /** Marks the rows of a template whose variables from a slot on meet the conditions. */
  #markShape(template: number, slotFirst: number, conditions: readonly Asked[]): void {
    for (let i = 0; i < conditions.length; i++) {
      const classes = this.#column.classes[slotFirst + i]!;
      const asked = conditions[i]!;
      if ((asked.classes & ~classes) !== 0 || !this.#isOpen(asked, groupOf(classes))) return;
    }
    const rows = this.#column.rowsOf(template);
    let open: Uint8Array | undefined;
    for (const [i, condition] of conditions.entries())
      open = this.#ranksMeeting(slotFirst + i, condition, rows.length, open);
    const found = this.#bits();
    for (let rank = 0; rank < rows.length; rank++) if (open![rank] === 1) setBit(found, rows[rank]!);
  }

  /** Whether a group's variables can meet a condition. Text without a digit is mostly in none of them, which one look at all tells. */
  #isOpen(asked: Asked, group: number): boolean {
    const bit = 1 << group;
    if (
      (asked.groups & bit) !== 0 &&
      (asked.searched & bit) === 0 &&
      (asked.groupClasses & CharClass.digit) === 0
    ) {
      asked.searched |= bit;
      const { text } = this.#column.group(group);
      const found = this.#tools.scratch.uint8((text.offsets.length + 6) >> 3);
      if (this.#tools.kernels.rowsHolding(text, asked.needle, found) === 0) asked.groups &= ~bit;
    }
    return (asked.groups & bit) !== 0;
  }

  /** The groups, a bit each, whose variables can hold a text. */
  #groupsFor(part: VariableNeedle): number {
    let groups = 0;
    for (const [group, slots] of this.#column.slotsOf.entries())
      if (slots.length > 0 && mayContainNeedle(group, part, this.#tools)) groups |= 1 << group;
    return groups;
  }

  /** 1 for each rank that is open still and whose value meets the condition. */
  #ranksMeeting(
    slot: number,
    condition: VariableCondition,
    rows: number,
    open: Uint8Array | undefined,
  ): Uint8Array {
    const { text, first, codesAt, codes } = this.#column.group(groupOf(this.#column.classes[slot]!));
    const place = this.#column.placeOf[slot]!;
    const base = first[place]!;
    const result = new Uint8Array(rows);
    const { ignoreCase } = this.#needle;
    const at = codesAt[place]!;
    if (at === eachRow) {
      for (let rank = 0; rank < rows; rank++) {
        if (open !== undefined && open[rank] === 0) continue;
        const from = text.offsets[base + rank]!;
        result[rank] = meets(text.bytes, from, text.offsets[base + rank + 1]!, condition, ignoreCase) ? 1 : 0;
      }
      return result;
    }
    const passes = new Uint8Array(first[place + 1]! - base);
    for (let i = 0; i < passes.length; i++) {
      const from = text.offsets[base + i]!;
      passes[i] = meets(text.bytes, from, text.offsets[base + i + 1]!, condition, ignoreCase) ? 1 : 0;
    }
    for (let rank = 0; rank < rows; rank++) {
      const code = at === oneForAll ? 0 : codes[at + rank]!;
      result[rank] = passes[code]! & (open === undefined ? 1 : open[rank]!);
    }
    return result;
  }

  /** A needle without separators may lie within a variable of any template. */
  #markVariables(): void {
    const { whole } = this.#needle;
    for (const [group, slots] of this.#column.slotsOf.entries()) {
      if (slots.length === 0 || !mayContainNeedleNgrams(group, whole, this.#tools)) continue;
      const { token } = whole;
      const blocks = token.length > 0 ? this.#tools.tokens(group)?.blocksHolding(token) : undefined;
      if (blocks?.length === 0) continue;
      const variables = this.#column.group(group);
      const texts = variables.text.offsets.length - 1;
      if (blocks === undefined) this.#markValues(group, variables, 0, texts);
      else
        for (const block of blocks) {
          const from = block * blockTexts;
          this.#markValues(group, variables, from, Math.min(texts, from + blockTexts));
        }
    }
  }

  /** A variable that is a whole message may have separators in it. */
  #markLoneSlots(): void {
    const { templates, slotBase, classes, placeOf } = this.#column;
    const { offsets, bytes } = templates;
    for (let template = 0; template < this.#column.templateCount; template++) {
      if (!isLoneSlot(bytes, offsets[template]!, offsets[template + 1]!)) continue;
      const slot = slotBase[template]!;
      if ((this.#needle.whole.classes & ~classes[slot]!) !== 0) continue;
      const group = groupOf(classes[slot]!);
      const variables = this.#column.group(group);
      const { first } = variables;
      this.#markValues(group, variables, first[placeOf[slot]!]!, first[placeOf[slot]! + 1]!);
    }
  }

  /** Marks the rows of those of a group's texts [from, to) that hold the needle. */
  #markValues(group: number, variables: VariableGroup, from: number, to: number): void {
    const { needle } = this.#needle.whole;
    const { text, first } = variables;
    const { kernels, scratch } = this.#tools;
    const found = scratch.uint8((to - from + 7) >> 3);
    const offsets = text.offsets.subarray(from, to + 1);
    if (kernels.rowsHolding({ offsets, bytes: text.bytes }, needle, found) === 0) return;
    const values = scratch.uint32(hitsAtATime);
    const slots = this.#column.slotsOf[group]!;
    let place = lastAtMost(first, from);
    for (let next = 0; ; ) {
      const count = kernels.expand(found, next, values);
      for (let i = 0; i < count; i++) {
        const value = from + values[i]!;
        while (first[place + 1]! <= value) place++;
        this.#markValue(slots[place]!, variables, place, value - first[place]!);
      }
      if (count < hitsAtATime) return;
      next = values[count - 1]! + 1;
    }
  }

  /** Marks the rows of a slot that have its `index`-th text. */
  #markValue(slot: number, { codesAt, codes }: VariableGroup, place: number, index: number): void {
    const template = this.#column.templateOfSlot(slot);
    if (this.#whole[template] === 1) return;
    const at = codesAt[place]!;
    if (at === oneForAll) {
      this.#whole[template] = 1;
      return;
    }
    const { order } = this.#column;
    const start = order.starts[template]!;
    const found = this.#bits();
    if (at === eachRow) {
      setBit(found, order.rows[start + index]!);
      return;
    }
    const rows = order.starts[template + 1]! - start;
    for (let rank = 0; rank < rows; rank++)
      if (codes[at + rank] === index) setBit(found, order.rows[start + rank]!);
  }

  #bits(): Bitmap {
    this.#found ??= this.#tools.scratch.uint8((this.#column.rows + 7) >> 3);
    return this.#found;
  }
}

const hitsAtATime = 4096;

function meets(
  bytes: Uint8Array,
  from: number,
  to: number,
  { how, text }: VariableCondition,
  ignoreCase: boolean,
): boolean {
  const { length } = text;
  if (to - from < length || (how === "equals" && to - from !== length)) return false;
  return equalsAt(bytes, how === "ends" ? to - length : from, text, ignoreCase);
}

/** Whether a text stands at a place; with `ignoreCase` it is in lower case. */
export function equalsAt(bytes: Uint8Array, at: number, text: Uint8Array, ignoreCase: boolean): boolean {
  if (ignoreCase) {
    for (let i = 0; i < text.length; i++) if (foldedByte[bytes[at + i]!] !== text[i]) return false;
    return true;
  }
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}
