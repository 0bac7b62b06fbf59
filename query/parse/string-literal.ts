import type { Span } from "../text/query-error.ts";
import { type Place, refuse, type Source } from "../text/source.ts";
import { type Characters, characters, type Text, text } from "../tree/string-literal.ts";
import { type Variable, variable } from "../tree/variable.ts";

/** One character or variable of a quoted text and where it stands, `start` and `end` counted from the opening quote. */
type Unit = { start: number; end: number } & ({ text: string } | { variable: string });

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

/** What stands behind the letter of an escape by code. */
const codeEscapes: Readonly<Record<string, string>> = {
  x: "two hexadecimal digits from 00 to 7f, as in \\x41",
  u: "four hexadecimal digits, as in \\u00e9",
  U: "eight hexadecimal digits, as in \\U0001f600",
};

const variableAt = /\$([A-Za-z_][A-Za-z0-9_]*)/y;
const codeEscape = /\\(?:x([0-7][0-9A-Fa-f])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))/y;
const trailEscape = /\\u(d[c-f][0-9a-f]{2})/iy;

/** An escape that is none; the span counts from the opening quote. */
class BadEscape extends Error {
  readonly span: Span;

  constructor(message: string, span: Span) {
    super(message);
    this.span = span;
  }
}

/** The content of a quoted text, unit by unit. Throws BadEscape. */
function* units(image: string): Generator<Unit> {
  const end = image.length - 1;
  const raw = image[0] === "`";
  for (let at = 1; at < end; ) {
    const unit = variableUnit(image, at) ?? (raw ? rawUnit(image, at) : escapeUnit(image, at));
    yield unit;
    at = unit.end;
  }
}

function variableUnit(image: string, at: number): Unit | undefined {
  variableAt.lastIndex = at;
  const found = variableAt.exec(image);
  return found === null ? undefined : { start: at, end: variableAt.lastIndex, variable: found[1]! };
}

/** Between back quotes nothing is an escape, but `\$` keeps both characters and begins no variable. */
function rawUnit(image: string, at: number): Unit {
  const length = image.startsWith("\\$", at) ? 2 : image.codePointAt(at)! > 0xffff ? 2 : 1;
  return { start: at, end: at + length, text: image.slice(at, at + length) };
}

function escapeUnit(image: string, at: number): Unit {
  if (image[at] !== "\\") return rawUnit(image, at);
  const simple = simpleEscapes[image[at + 1]!];
  if (simple !== undefined) return { start: at, end: at + 2, text: simple };
  return codeUnit(image, at);
}

/** `\x41`, `\u00e9`, `\U0001f600`, and a pair of `\u` that is one character. */
function codeUnit(image: string, at: number): Unit {
  codeEscape.lastIndex = at;
  const found = codeEscape.exec(image);
  if (found === null) throw unknownEscape(image, at);
  const code = Number.parseInt(found[1] ?? found[2] ?? found[3]!, 16);
  const end = codeEscape.lastIndex;
  if (code > 0x10ffff) throw new BadEscape("there is no character beyond \\U0010ffff", { start: at, end });
  if (code < 0xd800 || code > 0xdfff) return { start: at, end, text: String.fromCodePoint(code) };
  trailEscape.lastIndex = end;
  const trail = code < 0xdc00 ? trailEscape.exec(image) : null;
  if (trail === null)
    throw new BadEscape("this is half a character: a surrogate without its partner", { start: at, end });
  return {
    start: at,
    end: trailEscape.lastIndex,
    text: String.fromCharCode(code, Number.parseInt(trail[1]!, 16)),
  };
}

function unknownEscape(image: string, at: number): BadEscape {
  const next = String.fromCodePoint(image.codePointAt(at + 1)!);
  const span = { start: at, end: at + 1 + next.length };
  const code = codeEscapes[next];
  if (code !== undefined) return new BadEscape(`\\${next} takes ${code}`, span);
  const meant = `for a backslash write \\\\${next}, or put the text in back quotes: \`\\${next}\``;
  return new BadEscape(`\\${next} is not an escape of a text in quotes; ${meant}`, span);
}

/** The text that a token in quotes stands for. Throws a QueryError at an escape that is none. */
export function readText(image: string, start: number, source: Source): Text {
  const parts: (Characters | Variable)[] = [];
  let run = "";
  try {
    for (const unit of units(image)) {
      if ("text" in unit) {
        run += unit.text;
        continue;
      }
      if (run !== "") parts.push(characters(run));
      run = "";
      parts.push(variable(unit.variable));
    }
  } catch (error) {
    if (!(error instanceof BadEscape)) throw error;
    refuse(source, { start: start + error.span.start, end: start + error.span.end }, error.message);
  }
  if (run !== "") parts.push(characters(run));
  return text(parts);
}

/** The place of a text that a token in quotes, which begins at `start`, stands for. */
export function textPlace(image: string, start: number, node: Text): Place {
  const whole = { start, end: start + image.length };
  if (node.parts.some((part) => part.kind === "variable")) return whole;
  return { ...whole, within: (stretch) => spanWithin(image, start, stretch) };
}

/** Where a stretch of the characters of a quoted text stands; behind its last character is the closing quote. */
function spanWithin(image: string, start: number, stretch: Span): Span {
  const quote = image.length - 1;
  let [from, to] = [quote, quote + 1];
  let length = 0;
  for (const unit of units(image)) {
    const next = length + ("text" in unit ? unit.text.length : 0);
    if (length <= stretch.start && stretch.start < next) from = unit.start;
    if (length < stretch.end) to = Math.max(unit.end, from + 1);
    length = next;
  }
  return { start: start + from, end: start + (from === quote ? quote + 1 : to) };
}
