import type { TextSpan } from "../text/query-error.ts";

/** A piece of a regular expression in RE2 syntax. Only what planning must tell apart; RE2 itself judges the whole. */
interface RegexpToken extends TextSpan {
  readonly kind:
    | "character"
    | "escape"
    | "quoted"
    | "class"
    | "special"
    | "open"
    | "close"
    | "flags"
    | "or"
    | "repeat";
}

const tokenShapes: readonly [RegexpToken["kind"], RegExp][] = [
  ["quoted", /\\Q[\s\S]*?(?:\\E|$)/y],
  ["escape", /\\(?:[pP]\{[^}]*\}|x\{[^}]*\}|x[0-9A-Fa-f]{2}|[\s\S]|$)/y],
  // A `]` in first place is a character of the class; so is the inside of [:alpha:].
  ["class", /\[\^?\]?(?:\[:\^?[a-z]*:\]|\\[\s\S]|[^\]\\])*\]/y],
  ["flags", /\(\?[imsU-]*\)/y],
  ["open", /\((?:\?(?:P?<[^>=!]*>|[imsU-]*:))?/y],
  ["close", /\)/y],
  ["or", /\|/y],
  ["repeat", /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y],
  ["special", /[.^$[]/y],
  ["character", /[\s\S]/uy],
];

/** Cuts a pattern into pieces. */
function tokenizeRegexp(pattern: string): RegexpToken[] {
  const found: RegexpToken[] = [];
  for (let start = 0; start < pattern.length; ) {
    const piece = readToken(pattern, start);
    found.push(piece);
    start = piece.end;
  }
  return found;
}

function readToken(pattern: string, start: number): RegexpToken {
  for (const [kind, shape] of tokenShapes) {
    shape.lastIndex = start;
    if (shape.test(pattern)) return { kind, start, end: shape.lastIndex };
  }
  return { kind: "character", start, end: start + 1 };
}

/**
 * About how many characters and classes a pattern has once its counted repetitions are written out, which is what compiling and
 * matching cost. Compiling is what tells the exact number, and with it the price is paid.
 */
export function estimateExpandedSize(pattern: string): number {
  const outer: number[] = [];
  let sum = 0;
  let last = 0;
  for (const piece of tokenizeRegexp(pattern)) {
    if (piece.kind === "open") {
      outer.push(sum);
      sum = 0;
      last = 0;
    } else if (piece.kind === "close") {
      last = sum;
      sum += outer.pop() ?? 0;
    } else if (piece.kind === "repeat") {
      const more = last * (countRepetitions(pattern.slice(piece.start, piece.end)) - 1);
      sum += more;
      last += more;
    } else if (piece.kind !== "or" && piece.kind !== "flags") {
      last = piece.kind === "quoted" ? piece.end - piece.start : 1;
      sum += last;
    }
  }
  return outer.reduce((total, size) => total + size, sum);
}

function countRepetitions(repeat: string): number {
  const counts = repeat.match(/\d+/g)?.map(Number) ?? [1];
  return Math.max(1, ...counts);
}

/** Offset of the first `)` that closes nothing, else of the innermost `(` that nothing closes; 0 where all are paired. */
export function findUnpairedParen(pattern: string): number {
  const open: number[] = [];
  for (const piece of tokenizeRegexp(pattern)) {
    if (piece.kind === "open") open.push(piece.start);
    if (piece.kind === "close" && open.pop() === undefined) return piece.start;
  }
  return open.at(-1) ?? 0;
}

/** Where a fragment stands in a pattern, at the beginning of a piece if it can be. */
export function locateFragment(fragment: string, pattern: string): TextSpan {
  const piece = tokenizeRegexp(pattern).find(({ start }) => pattern.startsWith(fragment, start));
  const start = piece?.start ?? Math.max(0, pattern.indexOf(fragment));
  return { start, end: start + Math.max(1, fragment.length) };
}

/** The words of a pattern that is nothing but plain words with `|` between, after `(?i)` or not; else undefined. */
export function parsePlainWords(pattern: string): { words: string[]; ignoreCase: boolean } | undefined {
  const all = tokenizeRegexp(pattern);
  const ignoreCase = pattern.startsWith("(?i)");
  const words = [""];
  for (const piece of ignoreCase ? all.slice(1) : all) {
    const text = pattern.slice(piece.start, piece.end);
    if (piece.kind === "or") words.push("");
    else if (piece.kind === "character") words.push(words.pop() + text);
    else if (piece.kind === "escape" && /^\\[!-/:-@[-`{-~]$/.test(text))
      words.push(words.pop() + text.slice(1));
    else return undefined;
  }
  return { words, ignoreCase };
}
