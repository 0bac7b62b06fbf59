/**
 * How a needle can lie in the messages of one template. A variable holds no separator and stands between separators, so where the needle
 * begins decides where each of its parts must lie: there are only a few alignments, and each asks something of some variables.
 */
import { byteClass, slotByte } from "./split.ts";

/** What one variable must be for an alignment to hold. */
export interface Condition {
  slot: number;
  how: "contains" | "starts" | "ends" | "equals";
  text: Uint8Array;
}

/** All conditions must hold. */
export type Alignment = Condition[];

/** Whether every message of the template holds the needle, or those for which one of the alignments holds; none where there is none. */
export type Lie = "all" | Alignment[];

/**
 * `template` is a template's text, `needle` not empty and without the slot byte. For a search that ignores case both are in
 * lower case, and the conditions are to be tested so.
 */
export function alignNeedle(template: Uint8Array, needle: Uint8Array): Lie {
  if (template.length === 1 && template[0] === slotByte) {
    // One variable alone may be a whole message with separators in it.
    return [[{ slot: 0, how: "contains", text: needle }]];
  }
  if (Buffer.from(template.buffer, template.byteOffset, template.byteLength).indexOf(needle) >= 0)
    return "all";
  const separatorAt = firstSeparator(needle, 0);
  const alignments: Alignment[] = [];
  let slot = 0;
  for (let at = template.indexOf(slotByte); at >= 0; at = template.indexOf(slotByte, at + 1), slot++) {
    if (separatorAt === needle.length) alignments.push([{ slot, how: "contains", text: needle }]);
    else if (separatorAt > 0 && template[at + 1] === needle[separatorAt]) {
      const ends: Condition = { slot, how: "ends", text: needle.subarray(0, separatorAt) };
      const rest = follow(template, at + 1, slot + 1, needle, separatorAt);
      if (rest !== undefined) alignments.push([ends, ...rest]);
    }
    alignments.push(...beginningBefore(template, at, slot, needle));
  }
  return alignments;
}

/** Alignments in which the needle begins in the static text right before a slot and reaches into it. */
function beginningBefore(
  template: Uint8Array,
  slotAt: number,
  slot: number,
  needle: Uint8Array,
): Alignment[] {
  const alignments: Alignment[] = [];
  for (let length = 1; length < needle.length && length <= slotAt; length++) {
    if (template[slotAt - length] === slotByte) break;
    // What stands right before a variable is a separator.
    if (needle[length - 1] !== template[slotAt - 1] || !standsBefore(template, slotAt, needle, length))
      continue;
    const rest = follow(template, slotAt, slot, needle, length);
    if (rest !== undefined) alignments.push(rest);
  }
  return alignments;
}

function standsBefore(template: Uint8Array, end: number, needle: Uint8Array, length: number): boolean {
  for (let i = 0; i < length; i++) if (template[end - length + i] !== needle[i]) return false;
  return true;
}

/** The conditions under which needle[from…] lies at the template's place `at`; undefined where it cannot. */
function follow(
  template: Uint8Array,
  at: number,
  firstSlot: number,
  needle: Uint8Array,
  from: number,
): Alignment | undefined {
  const conditions: Alignment = [];
  let slot = firstSlot;
  let place = at;
  let i = from;
  while (i < needle.length) {
    if (place === template.length) return undefined;
    if (template[place] === slotByte) {
      const end = firstSeparator(needle, i);
      if (end === i) return undefined;
      const text = needle.subarray(i, end);
      conditions.push({ slot, how: end === needle.length ? "starts" : "equals", text });
      i = end;
      slot++;
    } else {
      if (template[place] !== needle[i]) return undefined;
      i++;
    }
    place++;
  }
  return conditions;
}

function firstSeparator(needle: Uint8Array, from: number): number {
  let at = from;
  while (at < needle.length && byteClass[needle[at]!] !== 0) at++;
  return at;
}
