/**
 * Text search in a message column. It finds the rows that contain a text by searching templates and variables, without
 * rebuilding a message.
 */

import { sharedText, textPerRow } from "../kernels/decoding.ts";
import type { Needle } from "../kernels/needle.ts";
import { findLastAtMost } from "../vector/binary-search.ts";
import { areBitsSet, type Bitmap, hasBit, setBit } from "../vector/bitmap.ts";
import { equalsAt } from "../vector/equal-text.ts";
import { cutTexts } from "../vector/text.ts";
import type { MessageColumn } from "./message-column.ts";
import type { VariableCondition } from "./needle-shape.ts";
import type { TextNeedle } from "./text-needle.ts";
import { textsOfBlocks, textsPerBlock } from "./token-filter.ts";
import { isSingleVariable, slotByte } from "./tokenizer.ts";
import { findText, hasOwnTexts, type ReadableSlot } from "./variables/readable-slot.ts";
import { CharClass } from "./variables/slot-encoding.ts";
import type { FoundVariables, SearchMemory } from "./variables/stored-group.ts";
import { groupOf, type VariableGroup } from "./variables/variable-columns.ts";
import {
  type GroupFilters,
  mayContainNeedle,
  mayContainNeedleNgrams,
  type VariableNeedle,
} from "./variables/variable-needle.ts";

/** The memory and the filters that a search works with. */
export type SearchTools = SearchMemory & GroupFilters;

/**
 * Where at most one row in this many belongs to the matching templates, and the rows are sorted by template, their bits
 * are set one by one; otherwise a pass over the codes of all rows sets them.
 */
const sparseShare = 16;
/** Where at most one slot of a group in this many is searched, they are searched one by one. */
const fewSlotsDivisor = 16;

/** The messages that contain a needle. */
export interface MessageMatches {
  /** 1 for each template all of whose rows contain it. */
  templates: Uint8Array;
  /** Rows of other templates that contain it, as a bitmap on the scratch heap; undefined where there are none. */
  rows: Bitmap | undefined;
}

/** Finds the messages of a column that contain a needle. */
export function findMessages(column: MessageColumn, needle: TextNeedle, tools: SearchTools): MessageMatches {
  return new MessageSearch(column, needle, tools).run();
}

/**
 * Returns the matching rows as one bitmap on the scratch heap: the rows of the matching templates, and the matching
 * rows of other templates. Undefined where there are none.
 */
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
  if (rows * sparseShare > column.rows || !column.isOrdered) {
    const templateRows = scratch.uint8(found.length);
    kernels.codesInTable(column.codes, templates, templateRows);
    kernels.or(found, templateRows);
    return found;
  }
  for (let template = 0; template < templates.length; template++) {
    if (templates[template] === 0) continue;
    for (const row of column.rowsOf(template)) setBit(found, row);
  }
  return found;
}

/**
 * A condition that a variable must meet, in the search of one column. `groups`: the groups of variables that may meet
 * it, one bit each. `searched`: those of them whose texts were already searched for the condition's text.
 */
type SearchCondition = VariableCondition & VariableNeedle & { groups: number; searched: number };

/** How the slots of a group refer to its texts. */
type SlotReferences = Omit<FoundVariables, "found">;

/** One search of one column. */
class MessageSearch {
  readonly #column: MessageColumn;
  readonly #needle: TextNeedle;
  readonly #tools: SearchTools;
  /** 1 for each template all of whose rows contain the needle. */
  readonly #matchingTemplates: Uint8Array;
  /** A bit for each row of another template that contains it. */
  #matchingRows: Bitmap | undefined;

  constructor(column: MessageColumn, needle: TextNeedle, tools: SearchTools) {
    this.#column = column;
    this.#needle = needle;
    this.#tools = tools;
    this.#matchingTemplates = new Uint8Array(column.templateCount);
  }

  run(): MessageMatches {
    // The static shape comes first, so that the others can skip the templates that it matches.
    for (const { needle, conditions } of this.#needle.shapes) {
      const searchConditions = conditions.map((condition) => ({
        ...condition,
        groups: this.#findGroups(condition),
        searched: 0,
      }));
      if (searchConditions.some(({ groups }) => groups === 0)) continue;
      if (searchConditions.length === 0) this.#markStaticMatches(needle);
      else this.#searchShape(needle.bytes, searchConditions);
    }
    if (this.#needle.isWithinToken) this.#markVariableMatches(this.#column.slotsOf);
    else {
      if (this.#needle.isWithinLine) this.#markVariableMatches(this.#column.specialSlots.ofLines);
      this.#markSingleVariableTemplates();
    }
    return { templates: this.#matchingTemplates, rows: this.#matchingRows };
  }

  /** Marks the templates whose static text contains the needle. */
  #markStaticMatches(needle: Needle): void {
    const { offsets, bytes } = this.#column.templates;
    const hits = this.#tools.scratch.uint32(hitsPerPass);
    let template = 0;
    for (let from = 0; ; ) {
      const count = this.#tools.kernels.findHits(bytes, from, bytes.length, needle, hits);
      for (let i = 0; i < count; i++) {
        const at = hits[i]!;
        while (offsets[template + 1]! <= at) template++;
        if (at + needle.bytes.length <= offsets[template + 1]!) this.#matchingTemplates[template] = 1;
      }
      if (count < hitsPerPass) return;
      from = hits[count - 1]! + 1;
    }
  }

  /**
   * Finds a shape in the templates, and marks the rows whose variables meet the shape's conditions. It tries only the
   * slots whose group may meet the condition with the fewest such slots.
   */
  #searchShape(shape: Uint8Array, conditions: readonly SearchCondition[]): void {
    const candidates = conditions.map(({ groups }) =>
      this.#column.slotsOf.filter((_, group) => ((groups >> group) & 1) === 1),
    );
    const sizes = candidates.map((lists) => lists.reduce((sum, slots) => sum + slots.length, 0));
    const chosen = sizes.indexOf(Math.min(...sizes));
    let offset = -1;
    for (let i = 0; i <= chosen; i++) offset = shape.indexOf(slotByte, offset + 1);
    const { ignoreCase } = this.#needle;
    const { offsets, bytes } = this.#column.templates;
    for (const slots of candidates[chosen]!) {
      for (let i = 0; i < slots.length; i++) {
        const slot = slots[i]!;
        const at = this.#column.slotPlaces[slot]! - offset;
        if (at < 0 || !equalsAt(bytes, at, shape, ignoreCase)) continue;
        const template = this.#column.findTemplateOfSlot(slot);
        if (
          this.#matchingTemplates[template] === 1 ||
          at < offsets[template]! ||
          at + shape.length > offsets[template + 1]!
        )
          continue;
        this.#markShape(template, slot - chosen, conditions);
      }
    }
  }

  /** Marks the rows of a template whose variables from slot `slotFirst` on meet the conditions. */
  #markShape(template: number, slotFirst: number, conditions: readonly SearchCondition[]): void {
    for (let i = 0; i < conditions.length; i++) {
      const classes = this.#column.classes[slotFirst + i]!;
      const condition = conditions[i]!;
      if ((condition.classes & ~classes) !== 0 || !this.#canGroupMatch(condition, groupOf(classes))) return;
    }
    const rows = this.#column.rowsOf(template);
    let ranks: Uint8Array | undefined;
    for (const [i, condition] of conditions.entries())
      ranks = this.#matchRanks(slotFirst + i, condition, rows, ranks);
    const found = this.#reserveRows();
    for (let rank = 0; rank < rows.length; rank++) if (ranks![rank] === 1) setBit(found, rows[rank]!);
  }

  /**
   * Returns whether variables of a group may meet a condition. A text without a digit usually occurs in no variable.
   * One search over all texts of the group shows that; it is made once for each condition and group.
   */
  #canGroupMatch(condition: SearchCondition, group: number): boolean {
    const bit = 1 << group;
    if (
      (condition.groups & bit) !== 0 &&
      (condition.searched & bit) === 0 &&
      (condition.groupClasses & CharClass.digit) === 0 &&
      this.#column.specialSlots.repeating[group]!.length === 0
    ) {
      condition.searched |= bit;
      const { text } = this.#column.readGroup(group);
      const found = this.#tools.scratch.uint8((text.offsets.length + 6) >> 3);
      if (this.#tools.kernels.rowsHolding(text, condition.needle, found) === 0) condition.groups &= ~bit;
    }
    return (condition.groups & bit) !== 0;
  }

  /** Returns the groups with a variable that may contain a text, one bit for each group. */
  #findGroups(needle: VariableNeedle): number {
    let groups = 0;
    for (const [group, slots] of this.#column.slotsOf.entries())
      if (slots.length > 0 && mayContainNeedle(group, needle, this.#tools)) groups |= 1 << group;
    return groups;
  }

  /**
   * Tests the values of a slot. A rank is a row's index among the rows of the template, which are `rows`. The result is 1 for
   * each rank that is 1 in `candidates` (undefined: all ranks) and whose value meets the condition.
   */
  #matchRanks(
    slot: number,
    condition: VariableCondition,
    rows: Uint32Array,
    candidates: Uint8Array | undefined,
  ): Uint8Array {
    const values = this.#column.readSlot(slot);
    const { text, first } = values;
    const { ignoreCase } = this.#needle;
    const result = new Uint8Array(rows.length);
    // For each text 1 where it meets the condition, -1 where it does not, 0 where it was not tested.
    const known = hasOwnTexts(values) ? undefined : new Int8Array(values.count);
    for (let rank = 0; rank < rows.length; rank++) {
      if (candidates !== undefined && candidates[rank] === 0) continue;
      const index = findText(values, rank, rows[rank]!);
      let passes = known?.[index - first] ?? 0;
      if (passes === 0) {
        const [from, to] = [text.offsets[index]!, text.offsets[index + 1]!];
        passes = satisfies(text.bytes, from, to, condition, ignoreCase) ? 1 : -1;
        if (known !== undefined) known[index - first] = passes;
      }
      if (passes > 0) result[rank] = 1;
    }
    return result;
  }

  /** Searches variables for the needle: those of some slots of each group, or of all where these are many. */
  #markVariableMatches(slotsOf: readonly Uint32Array[]): void {
    const { inVariable } = this.#needle;
    for (const [group, all] of this.#column.slotsOf.entries()) {
      const slots = slotsOf[group]!;
      if (slots.length === 0 || !mayContainNeedleNgrams(group, inVariable, this.#tools)) continue;
      const { token } = inVariable;
      const blocks = token.length > 0 ? this.#tools.tokens(group)?.findBlocks(token) : undefined;
      if (blocks?.length === 0) continue;
      // In the filter, the values of attributes that slots repeat follow the texts.
      const mayRepeat = (texts: number) =>
        blocks === undefined || blocks.some((block) => (block + 1) * textsPerBlock > texts);
      if (blocks !== undefined || slots.length * fewSlotsDivisor >= all.length) {
        const stored = this.#column.searchGroup(group, inVariable.needle, blocks && textsOfBlocks(blocks));
        if (stored !== undefined) {
          const texts = stored.firstTexts.at(-1)!;
          if (mayRepeat(texts)) this.#markRepeated(group, stored);
          this.#markFound(group, stored, stored.found, 0, texts);
          continue;
        }
      }
      const variables = this.#column.readGroup(group);
      const texts = variables.text.offsets.length - 1;
      if (mayRepeat(texts)) this.#markRepeated(group, variables);
      if (blocks !== undefined)
        for (const block of blocks) {
          const from = block * textsPerBlock;
          if (from < texts) this.#markValues(group, variables, from, Math.min(texts, from + textsPerBlock));
        }
      else if (slots.length * fewSlotsDivisor < all.length)
        for (const slot of slots) this.#markSlotValues(group, slot);
      else this.#markValues(group, variables, 0, texts);
    }
  }

  /** Searches the values of one slot, unless none of them has characters of all classes that the needle has. */
  #markSlotValues(group: number, slot: number): void {
    const { classes, indexInGroup } = this.#column;
    if ((this.#needle.inVariable.classes & ~classes[slot]!) !== 0) return;
    const variables = this.#column.readGroup(group);
    const index = indexInGroup[slot]!;
    const [from, to] = [variables.firstTexts[index]!, variables.firstTexts[index + 1]!];
    if (from < to) this.#markValues(group, variables, from, to);
  }

  /** Searches the attributes that slots of a group repeat, and marks the rows of these slots that have the needle. */
  #markRepeated(group: number, { keys, valuePlaces }: SlotReferences): void {
    const partly: { template: number; values: ReadableSlot; holding: Bitmap }[] = [];
    for (const slot of this.#column.specialSlots.repeating[group]!) {
      const template = this.#column.findTemplateOfSlot(slot);
      if (this.#matchingTemplates[template] === 1) continue;
      if ((this.#needle.inVariable.classes & ~this.#column.classes[slot]!) !== 0) continue;
      const values = this.#column.readRepeated(keys[valuePlaces[this.#column.indexInGroup[slot]!]!] ?? "");
      const holding = this.#column.findHolding(values.text, this.#needle.inVariable.needle, this.#tools);
      if (holding === "all") this.#matchingTemplates[template] = 1;
      else if (holding !== "none") partly.push({ template, values, holding });
    }
    for (const { template, values, holding } of partly) {
      if (this.#matchingTemplates[template] === 1) continue;
      const found = this.#reserveRows();
      for (const row of this.#column.rowsOf(template))
        if (hasBit(holding, findText(values, 0, row))) setBit(found, row);
    }
  }

  /** Searches the templates of a single variable for a needle with separators. */
  #markSingleVariableTemplates(): void {
    const { templates, slotBase, classes } = this.#column;
    const { offsets, bytes } = templates;
    const groups = this.#findGroups(this.#needle.inVariable);
    for (let template = 0; groups !== 0 && template < this.#column.templateCount; template++) {
      if (!isSingleVariable(bytes, offsets[template]!, offsets[template + 1]!)) continue;
      const slot = slotBase[template]!;
      const group = groupOf(classes[slot]!);
      if (((groups >> group) & 1) === 1) this.#markSlotValues(group, slot);
    }
  }

  /** Searches the texts [from, to) of a group, and marks the rows that have one that contains the needle. */
  #markValues(group: number, variables: VariableGroup, from: number, to: number): void {
    const { needle } = this.#needle.inVariable;
    const { kernels, scratch } = this.#tools;
    const found = scratch.uint8((to - from + 7) >> 3);
    if (kernels.rowsHolding(cutTexts(variables.text, from, to), needle, found) > 0)
      this.#markFound(group, variables, found, from, to);
  }

  /** Marks the rows that have one of the texts [from, to) of a group whose bits are set; `found` begins with that of `from`. */
  #markFound(group: number, variables: SlotReferences, found: Bitmap, from: number, to: number): void {
    const { firstTexts } = variables;
    const { kernels, scratch } = this.#tools;
    const values = scratch.uint32(hitsPerPass);
    const slots = this.#column.slotsOf[group]!;
    let slotIndex = findLastAtMost(firstTexts, from);
    // Values before this one belong to a template that matches as a whole.
    let doneTo = 0;
    for (let next = 0; ; ) {
      const count = kernels.expand(found, next, values);
      for (let i = 0; i < count; i++) {
        const value = from + values[i]!;
        if (value < doneTo) continue;
        while (firstTexts[slotIndex + 1]! <= value) slotIndex++;
        const end = firstTexts[slotIndex + 1]!;
        if (value === firstTexts[slotIndex] && end <= to && areBitsSet(found, value - from, end - from)) {
          this.#matchingTemplates[this.#column.findTemplateOfSlot(slots[slotIndex]!)] = 1;
          doneTo = end;
          continue;
        }
        this.#markValue(slots[slotIndex]!, variables, slotIndex, value - firstTexts[slotIndex]!);
      }
      if (count < hitsPerPass) return;
      next = values[count - 1]! + 1;
    }
  }

  /** Marks the rows whose value in a slot is the slot's `index`-th text. */
  #markValue(slot: number, { valuePlaces, codes }: SlotReferences, slotIndex: number, index: number): void {
    const template = this.#column.findTemplateOfSlot(slot);
    if (this.#matchingTemplates[template] === 1) return;
    const at = valuePlaces[slotIndex]!;
    if (at === sharedText) {
      this.#matchingTemplates[template] = 1;
      return;
    }
    const rows = this.#column.rowsOf(template);
    const found = this.#reserveRows();
    if (at === textPerRow) {
      setBit(found, rows[index]!);
      return;
    }
    for (let rank = 0; rank < rows.length; rank++) if (codes[at + rank] === index) setBit(found, rows[rank]!);
  }

  /** Returns `#matchingRows`, which is made when the first row is marked. */
  #reserveRows(): Bitmap {
    this.#matchingRows ??= this.#tools.scratch.uint8((this.#column.rows + 7) >> 3);
    return this.#matchingRows;
  }
}

/** Maximum number of hits that one call of a kernel returns. */
const hitsPerPass = 4096;

function satisfies(
  bytes: Uint8Array,
  from: number,
  to: number,
  { match, text }: VariableCondition,
  ignoreCase: boolean,
): boolean {
  const { length } = text;
  if (to - from < length || (match === "equals" && to - from !== length)) return false;
  return equalsAt(bytes, match === "ends" ? to - length : from, text, ignoreCase);
}
