/** Which templates of a table hold a text, and what is left to the variables of others. */

import type { TemplateTable } from "./template-table.ts";
import {
  type GroupFilters,
  mayContainNeedle,
  type NeedleShape,
  type TextNeedle,
  type VariableNeedle,
} from "./text-search.ts";
import { groupOf, variableGroups } from "./variable-columns.ts";

export interface CandidateTemplates {
  /** Templates all of whose messages hold the text. */
  whole: readonly number[];
  /** How messages of other templates can hold it. */
  occurrences: readonly VariableOccurrence[];
}

/** Variables that stand together in a template and meet a condition each. */
export interface VariableOccurrence {
  conditions: readonly VariableNeedle[];
  /** Where they can stand; undefined where that may be in any template. Not worked out before it is asked for. */
  places: () => readonly Places[] | undefined;
}

/** Templates with such variables, of these groups. */
interface Places {
  groups: readonly number[];
  templates: readonly number[];
}

/** Undefined where the text has no word that templates are found by, as variables have: those with a digit. */
export function findCandidateTemplates(
  table: TemplateTable,
  needle: TextNeedle,
): CandidateTemplates | undefined {
  if (needle.shapes.length === 0) return undefined;
  let whole: readonly number[] = [];
  const occurrences: VariableOccurrence[] = [];
  for (const shape of needle.shapes) {
    if (shape.conditions.length > 0) {
      occurrences.push({ conditions: shape.conditions, places: () => placesOf(table, shape) });
      continue;
    }
    // There is one such shape at most.
    const found = table.holding(shape.needle.bytes, needle.ignoreCase);
    if (found === undefined) return undefined;
    whole = found;
  }
  const conditions = [needle.whole];
  occurrences.push({
    conditions,
    places: () => (needle.isWord ? undefined : lonePlaces(table, needle.whole)),
  });
  return { whole, occurrences };
}

function placesOf(table: TemplateTable, { needle, conditions }: NeedleShape): Places[] | undefined {
  const { bytes, ignoreCase } = needle;
  const byGroups = new Map<string, { groups: number[]; templates: number[] }>();
  const found = table.holding(bytes, ignoreCase);
  for (const template of found ?? []) {
    const { classes } = table.textOf(template);
    table.eachPlace(template, bytes, ignoreCase, (slot) => {
      if (!conditions.every((condition, i) => fits(condition, classes[slot + i]!))) return;
      const groups = conditions.map((_, i) => groupOf(classes[slot + i]!));
      const known = byGroups.get(groups.join());
      if (known !== undefined) known.templates.push(template);
      else byGroups.set(groups.join(), { groups, templates: [template] });
    });
  }
  return found && [...byGroups.values()];
}

/** Variables that are whole messages, which may have separators in them. */
function lonePlaces(table: TemplateTable, part: VariableNeedle): Places[] {
  return table.lone.flatMap((template) => {
    const [classes] = table.textOf(template).classes;
    return fits(part, classes!) ? [{ groups: [groupOf(classes!)], templates: [template] }] : [];
  });
}

/** Whether a slot of some classes can hold a text. */
function fits({ classes }: VariableNeedle, slot: number): boolean {
  return (classes & ~slot) === 0;
}

/** Of each condition the groups of a chunk, a bit each, that may meet it; undefined where one is met by none. `present`: the groups that there are. */
export function groupsThatMayMatch(
  { conditions }: VariableOccurrence,
  present: number,
  filters: GroupFilters,
): readonly number[] | undefined {
  const meets: number[] = [];
  for (const condition of conditions) {
    let groups = 0;
    for (let group = 0; group < variableGroups.length; group++)
      if (((present >> group) & 1) === 1 && mayContainNeedle(group, condition, filters)) groups |= 1 << group;
    if (groups === 0) return undefined;
    meets.push(groups);
  }
  return meets;
}
