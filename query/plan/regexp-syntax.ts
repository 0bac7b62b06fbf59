import type { TextSpan } from "../text/query-error.ts";

/** A token of a regular expression in RE2 syntax. Planning needs no more detail: RE2 itself checks the syntax. */
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
  // A `]` at the first place is a character of the class, and the `]` of [:alpha:] does not end it.
  ["class", /\[\^?\]?(?:\[:\^?[a-z]*:\]|\\[\s\S]|[^\]\\])*\]/y],
  ["flags", /\(\?[imsU-]*\)/y],
  ["open", /\((?:\?(?:P?<[^>=!]*>|[imsU-]*:))?/y],
  ["close", /\)/y],
  ["or", /\|/y],
  ["repeat", /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y],
  ["special", /[.^$[]/y],
  ["character", /[\s\S]/uy],
];

function tokenizeRegexp(pattern: string): RegexpToken[] {
  const tokens: RegexpToken[] = [];
  for (let start = 0; start < pattern.length; ) {
    const token = readToken(pattern, start);
    tokens.push(token);
    start = token.end;
  }
  return tokens;
}

function readToken(pattern: string, start: number): RegexpToken {
  for (const [kind, shape] of tokenShapes) {
    shape.lastIndex = start;
    if (shape.test(pattern)) return { kind, start, end: shape.lastIndex };
  }
  return { kind: "character", start, end: start + 1 };
}

/**
 * About how many characters and classes a pattern has with its counted repetitions written out. Compiling and matching
 * take time in proportion. The exact number is known only after compiling, which is too late to avoid its cost.
 */
export function estimateExpandedSize(pattern: string): number {
  // The sizes, up to the current group, of the groups around it.
  const outer: number[] = [];
  let sum = 0;
  // The size of the last character, class or group: a repetition multiplies it.
  let last = 0;
  for (const token of tokenizeRegexp(pattern)) {
    if (token.kind === "open") {
      outer.push(sum);
      sum = 0;
      last = 0;
    } else if (token.kind === "close") {
      last = sum;
      sum += outer.pop() ?? 0;
    } else if (token.kind === "repeat") {
      const more = last * (countRepetitions(pattern.slice(token.start, token.end)) - 1);
      sum += more;
      last += more;
    } else if (token.kind !== "or" && token.kind !== "flags") {
      last = token.kind === "quoted" ? token.end - token.start : 1;
      sum += last;
    }
  }
  return outer.reduce((total, size) => total + size, sum);
}

function countRepetitions(repeat: string): number {
  const counts = repeat.match(/\d+/g)?.map(Number) ?? [1];
  return Math.max(1, ...counts);
}

/** Offset of the first unmatched `)`, else of the innermost unmatched `(`. 0 where all are matched. */
export function findUnpairedParen(pattern: string): number {
  const open: number[] = [];
  for (const token of tokenizeRegexp(pattern)) {
    if (token.kind === "open") open.push(token.start);
    if (token.kind === "close" && open.pop() === undefined) return token.start;
  }
  return open.at(-1) ?? 0;
}

/** The span of a fragment's first occurrence in a pattern, preferably one that begins where a token begins. */
export function locateFragment(fragment: string, pattern: string): TextSpan {
  const token = tokenizeRegexp(pattern).find(({ start }) => pattern.startsWith(fragment, start));
  const start = token?.start ?? Math.max(0, pattern.indexOf(fragment));
  return { start, end: start + Math.max(1, fragment.length) };
}

/** The words of a pattern such as `a|b` or `(?i)a|b`. Undefined for any other pattern. */
export function parsePlainWords(pattern: string): { words: string[]; ignoreCase: boolean } | undefined {
  const all = tokenizeRegexp(pattern);
  const ignoreCase = pattern.startsWith("(?i)");
  const words = [""];
  for (const token of ignoreCase ? all.slice(1) : all) {
    const text = pattern.slice(token.start, token.end);
    if (token.kind === "or") words.push("");
    else if (token.kind === "character") words.push(words.pop() + text);
    else if (token.kind === "escape" && /^\\[!-/:-@[-`{-~]$/.test(text))
      words.push(words.pop() + text.slice(1));
    else return undefined;
  }
  return { words, ignoreCase };
}
