/**
 * Finds the templates of a table that contain a text, and the variables of other templates in which the rest of it
 * could be.
 */

import type { TemplateTable } from "./template-table.ts";
import type { NeedleShape, TextNeedle } from "./text-needle.ts";
import { groupOf, lineValueClass, variableGroups } from "./variables/variable-columns.ts";
import { type GroupFilters, mayContainNeedle, type VariableNeedle } from "./variables/variable-needle.ts";

export interface CandidateTemplates {
  /** Templates all of whose messages contain the text. */
  matching: readonly number[];
  /** The ways in which messages of other templates can contain it. */
  occurrences: readonly VariableOccurrence[];
}

/** A run of neighbouring variables in a template, each with the condition that it must meet. */
export interface VariableOccurrence {
  conditions: readonly VariableNeedle[];
  /** The templates where the run can occur; undefined where that may be any template. Computed when called. */
  findPlaces: () => readonly OccurrencePlaces[] | undefined;
}

/** Templates with such a run, whose variables belong to these groups (one for each condition). */
interface OccurrencePlaces {
  groups: readonly number[];
  templates: readonly number[];
}

/**
 * Undefined where the table cannot answer: the text is a part of one variable (a token with a digit), or has no static
 * word to look up.
 */
export function findCandidateTemplates(
  table: TemplateTable,
  needle: TextNeedle,
): CandidateTemplates | undefined {
  if (needle.shapes.length === 0) return undefined;
  let matching: readonly number[] = [];
  const occurrences: VariableOccurrence[] = [];
  for (const shape of needle.shapes) {
    if (shape.conditions.length > 0) {
      occurrences.push({ conditions: shape.conditions, findPlaces: () => findShapePlaces(table, shape) });
      continue;
    }
    // At most one shape is static alone.
    const found = table.findContaining(shape.needle.bytes, needle.ignoreCase);
    if (found === undefined) return undefined;
    matching = found;
  }
  occurrences.push({
    conditions: [needle.inVariable],
    findPlaces: () => (needle.isWithinToken ? undefined : findSeparatorPlaces(table, needle)),
  });
  return { matching, occurrences };
}

function findShapePlaces(table: TemplateTable, shape: NeedleShape): OccurrencePlaces[] | undefined {
  const { needle, conditions } = shape;
  const { bytes, ignoreCase } = needle;
  const byGroups = new Map<string, { groups: number[]; templates: number[] }>();
  const found = table.findContaining(bytes, ignoreCase);
  for (const template of found ?? []) {
    const { classes } = table.textOf(template);
    table.forEachOccurrence(template, bytes, ignoreCase, (slot) => {
      if (!conditions.every((condition, i) => canSlotHold(condition, classes[slot + i]!))) return;
      const groups = conditions.map((_, i) => groupOf(classes[slot + i]!));
      const known = byGroups.get(groups.join());
      if (known !== undefined) known.templates.push(template);
      else byGroups.set(groups.join(), { groups, templates: [template] });
    });
  }
  return found && [...byGroups.values()];
}

/** The places of a needle with separators within one variable. */
function findSeparatorPlaces(
  table: TemplateTable,
  { inVariable, isWithinLine }: TextNeedle,
): OccurrencePlaces[] {
  return table.separatorTemplates.flatMap((template) => {
    const { classes } = table.textOf(template);
    const isSingle = classes.length === 1;
    let groups = 0;
    for (const slot of classes) {
      if (!isSingle && !(isWithinLine && (slot & lineValueClass) !== 0)) continue;
      if (canSlotHold(inVariable, slot)) groups |= 1 << groupOf(slot);
    }
    return variableGroups.flatMap((_, group) =>
      ((groups >> group) & 1) === 1 ? [{ groups: [group], templates: [template] }] : [],
    );
  });
}

/** Returns whether a slot with these character classes can hold a text. */
function canSlotHold({ classes }: VariableNeedle, slotClasses: number): boolean {
  return (classes & ~slotClasses) === 0;
}

/**
 * For each condition of an occurrence the variable groups of a chunk that may meet it, a bit each; undefined where one
 * condition is met by no group.
 * @param present the groups that the chunk has, a bit each
 */
export function findMatchingGroups(
  { conditions }: VariableOccurrence,
  present: number,
  filters: GroupFilters,
): readonly number[] | undefined {
  const matchingGroups: number[] = [];
  for (const condition of conditions) {
    let groups = 0;
    for (let group = 0; group < variableGroups.length; group++)
      if (((present >> group) & 1) === 1 && mayContainNeedle(group, condition, filters)) groups |= 1 << group;
    if (groups === 0) return undefined;
    matchingGroups.push(groups);
  }
  return matchingGroups;
}
