/** Texts that a piece of a pattern can match, while they are few enough to be listed. */
import type { Tree } from "./syntax-tree.ts";

/** Code points; a letter whose case is ignored stands as the negative of its lower-case form. */
export type Word = readonly number[];

export interface Words {
  of: readonly Word[];
  /** Each of them is matched wherever it stands. Else they are all that can be matched, at some places. */
  sure: boolean;
  /** What is matched and not listed has one of these code points in it. */
  strays: readonly number[];
}

/** Longer texts are cut; lines of logs that one would look for are shorter. */
const wordLengthMax = 256;

export const emptyWord: Words = { of: [[]], sure: true, strays: [] };

/** Undefined where they are more than `most`, too long, or without number. */
export function enumerateWords(tree: Tree, most: number): Words | undefined {
  switch (tree.kind) {
    case "class":
      return wordsOfClass(tree.ranges, most);
    case "concat":
      return gather(tree.of, most, emptyWord, product);
    case "alternate":
      return gather(tree.of, most, { of: [], sure: true, strays: [] }, union);
    case "optional": {
      const words = enumerateWords(tree.of, most);
      return words && union(words, emptyWord, most);
    }
    case "look":
      return { ...emptyWord, sure: false };
    default:
      return undefined;
  }
}

type Join = (left: Words, right: Words, most: number) => Words | undefined;

function gather(trees: readonly Tree[], most: number, first: Words, join: Join): Words | undefined {
  let all: Words | undefined = first;
  for (const tree of trees) {
    const words = enumerateWords(tree, most);
    all = words && join(all, words, most);
    if (all === undefined) return undefined;
  }
  return all;
}

export function product(left: Words, right: Words, most: number): Words | undefined {
  if (left.of.length * right.of.length > most) return undefined;
  const of = left.of.flatMap((head) => right.of.map((tail) => [...head, ...tail]));
  if (of.some((word) => word.length > wordLengthMax)) return undefined;
  return { of, ...proviso(left, right) };
}

function union(left: Words, right: Words, most: number): Words | undefined {
  const distinct = new Map([...left.of, ...right.of].map((word) => [word.join(), word]));
  if (distinct.size > most) return undefined;
  return { of: [...distinct.values()], ...proviso(left, right) };
}

function proviso(left: Words, right: Words): Pick<Words, "sure" | "strays"> {
  return {
    sure: left.sure && right.sure,
    strays: [...new Set([...left.strays, ...right.strays])],
  };
}

function wordsOfClass(ranges: readonly number[], most: number): Words | undefined {
  const members = new Set<number>();
  for (let i = 0; i < ranges.length; i += 2) {
    const [first, last] = [ranges[i]!, ranges[i + 1]!];
    if (members.size + last - first >= 2 * most + strayForms.size) return undefined;
    for (let rune = first; rune <= last; rune++) {
      if (isUncertain(rune)) return undefined;
      members.add(rune);
    }
  }
  const of: Word[] = [];
  const strays: number[] = [];
  for (const rune of members) {
    const upper = rune - 32;
    if (isLower(rune) && members.has(upper)) of.push([-rune]);
    else if (isLower(rune + 32) && members.has(rune + 32)) continue;
    else if (members.has(strayForms.get(rune) ?? -1)) strays.push(rune);
    else of.push([rune]);
  }
  return of.length > most ? undefined : { of, sure: true, strays };
}

function isLower(rune: number): boolean {
  return rune >= 97 && rune <= 122;
}

/**
 * The long s and the Kelvin sign: RE2 takes them for `s` and `k` where case is ignored, text search does not. They occur next to
 * never, so texts with them are not listed.
 */
const strayForms = new Map([
  [0x17f, 0x73],
  [0x212a, 0x6b],
]);

/** Bytes that are not UTF-8 are matched as U+FFFD; a lone surrogate has no UTF-8. */
function isUncertain(rune: number): boolean {
  return rune === 0xfffd || (rune >= 0xd800 && rune <= 0xdfff);
}
