import type { TextSpan } from "../text/query-error.ts";
import { type NodeSpan, refuse, type Source } from "../text/source.ts";
import {
  type Characters,
  makeCharacters,
  makeStringLiteral,
  type StringLiteral,
} from "../tree/string-literal.ts";
import { makeVariable, type Variable } from "../tree/variable.ts";

/** One character, escape or variable of a quoted text. `start` and `end` are offsets from the opening quote. */
type StringUnit = { start: number; end: number } & ({ text: string } | { variable: string });

const simpleEscapes: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  '"': '"',
  "'": "'",
  "`": "`",
  $: "$",
};

/** What must follow the letter of an escape that gives a character by its code. */
const codeEscapeDescriptions: Readonly<Record<string, string>> = {
  x: "two hexadecimal digits from 00 to 7f, as in \\x41",
  u: "four hexadecimal digits, as in \\u00e9",
  U: "eight hexadecimal digits, as in \\U0001f600",
};

const variableAt = /\$([A-Za-z_][A-Za-z0-9_]*)/y;
const codeEscape = /\\(?:x([0-7][0-9A-Fa-f])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))/y;
const trailEscape = /\\u(d[c-f][0-9a-f]{2})/iy;

/** An unknown or malformed escape. The span is relative to the opening quote. */
class BadEscapeError extends Error {
  readonly span: TextSpan;

  constructor(message: string, span: TextSpan) {
    super(message);
    this.span = span;
  }
}

/** Yields the units of a quoted text. Throws a BadEscapeError. */
function* readUnits(image: string): Generator<StringUnit> {
  const end = image.length - 1;
  const raw = image[0] === "`";
  for (let at = 1; at < end; ) {
    const unit = readVariable(image, at) ?? (raw ? readCharacter(image, at) : readEscape(image, at));
    yield unit;
    at = unit.end;
  }
}

function readVariable(image: string, at: number): StringUnit | undefined {
  variableAt.lastIndex = at;
  const found = variableAt.exec(image);
  return found === null ? undefined : { start: at, end: variableAt.lastIndex, variable: found[1]! };
}

/**
 * Reads one character as it is. `\$` counts as one: within back quotes it keeps both characters and begins no variable.
 */
function readCharacter(image: string, at: number): StringUnit {
  const length = image.startsWith("\\$", at) ? 2 : image.codePointAt(at)! > 0xffff ? 2 : 1;
  return { start: at, end: at + length, text: image.slice(at, at + length) };
}

function readEscape(image: string, at: number): StringUnit {
  if (image[at] !== "\\") return readCharacter(image, at);
  const simple = simpleEscapes[image[at + 1]!];
  if (simple !== undefined) return { start: at, end: at + 2, text: simple };
  return readCodeEscape(image, at);
}

/** Reads `\x41`, `\u00e9`, `\U0001f600`, or the two `\u` of a surrogate pair. */
function readCodeEscape(image: string, at: number): StringUnit {
  codeEscape.lastIndex = at;
  const found = codeEscape.exec(image);
  if (found === null) throw makeUnknownEscape(image, at);
  const code = Number.parseInt(found[1] ?? found[2] ?? found[3]!, 16);
  const end = codeEscape.lastIndex;
  if (code > 0x10ffff)
    throw new BadEscapeError("there is no character beyond \\U0010ffff", { start: at, end });
  if (code < 0xd800 || code > 0xdfff) return { start: at, end, text: String.fromCodePoint(code) };
  trailEscape.lastIndex = end;
  const trail = code < 0xdc00 ? trailEscape.exec(image) : null;
  if (trail === null)
    throw new BadEscapeError("this is half a character: a surrogate without its partner", { start: at, end });
  return {
    start: at,
    end: trailEscape.lastIndex,
    text: String.fromCharCode(code, Number.parseInt(trail[1]!, 16)),
  };
}

function makeUnknownEscape(image: string, at: number): BadEscapeError {
  const next = String.fromCodePoint(image.codePointAt(at + 1)!);
  const span = { start: at, end: at + 1 + next.length };
  const code = codeEscapeDescriptions[next];
  if (code !== undefined) return new BadEscapeError(`\\${next} takes ${code}`, span);
  const advice = `for a backslash write \\\\${next}, or put the text in back quotes: \`\\${next}\``;
  return new BadEscapeError(`\\${next} is not an escape of a text in quotes; ${advice}`, span);
}

/**
 * The string literal of a token in quotes that begins at offset `start` of the query. Throws a QueryError at a bad
 * escape.
 */
export function parseStringLiteral(image: string, start: number, source: Source): StringLiteral {
  const parts: (Characters | Variable)[] = [];
  let characters = "";
  try {
    for (const unit of readUnits(image)) {
      if ("text" in unit) {
        characters += unit.text;
        continue;
      }
      if (characters !== "") parts.push(makeCharacters(characters));
      characters = "";
      parts.push(makeVariable(unit.variable));
    }
  } catch (error) {
    if (!(error instanceof BadEscapeError)) throw error;
    refuse(source, { start: start + error.span.start, end: start + error.span.end }, error.message);
  }
  if (characters !== "") parts.push(makeCharacters(characters));
  return makeStringLiteral(parts);
}

/** The span of a string literal, whose token in quotes begins at offset `start`. */
export function nodeSpanOfString(image: string, start: number, node: StringLiteral): NodeSpan {
  const whole = { start, end: start + image.length };
  if (node.parts.some((part) => part.kind === "variable")) return whole;
  return { ...whole, spanWithin: (range) => spanOfCharacters(image, start, range) };
}

/**
 * The span in the query of a range of a quoted text's characters. A range after the last character has the span of the
 * closing quote.
 */
function spanOfCharacters(image: string, start: number, range: TextSpan): TextSpan {
  const quote = image.length - 1;
  let [from, to] = [quote, quote + 1];
  let length = 0;
  for (const unit of readUnits(image)) {
    const next = length + ("text" in unit ? unit.text.length : 0);
    if (length <= range.start && range.start < next) from = unit.start;
    if (length < range.end) to = Math.max(unit.end, from + 1);
    length = next;
  }
  return { start: start + from, end: start + (from === quote ? quote + 1 : to) };
}
