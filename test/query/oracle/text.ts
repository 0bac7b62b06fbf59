/** Texts, numbers and regular expressions as query/README.md defines them, and how they are printed. */
import type { Random } from "../../../fixtures/random.ts";

/** A regular expression in the language of the query, and the same one in JavaScript's. */
export interface Expressed {
  text: string;
  pattern: RegExp;
}

/** Writes a text in one of the three kinds of quotes. `$` is escaped, and back quotes take only what needs no escape. */
export function quote(text: string, random: Random): string {
  if (!/[`$]/.test(text) && random.oneIn(3)) return `\`${text}\``;
  const mark = random.oneIn(3) ? "'" : '"';
  let out = mark;
  for (const character of text) {
    if (character === mark || character === "\\" || character === "$") out += `\\${character}`;
    else if (character === "\n") out += "\\n";
    else if (character === "\t") out += "\\t";
    else if (character === "\r") out += "\\r";
    else if (character.length === 1 && character >= "\x80" && random.oneIn(4)) {
      out += `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
    } else out += character;
  }
  return out + mark;
}

const bareLabel = /^[A-Za-z_][A-Za-z0-9_]*([./:-][A-Za-z0-9_]+)*$/;
const reserved = new Set(
  "json logfmt pattern regexp line_format label_format and or unless default by without on ignoring bool first last sequence join lag lead within then not".split(
    " ",
  ),
);

/** Writes a label bare where it may stand so, and now and then in quotes. */
export function printLabel(label: string, random: Random): string {
  const isBare = bareLabel.test(label) && !reserved.has(label);
  return isBare && !random.oneIn(6) ? label : `"${label.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** Lower case of each character by itself, as `i"…"` and search terms compare. */
export function fold(text: string): string {
  let out = "";
  for (const character of text) {
    const lower = character.toLowerCase();
    const isOne = [...lower].length === 1;
    out += isOne && character < "\x80" === lower < "\x80" ? lower : character;
  }
  return out;
}

export function readNumber(text: string): number | undefined {
  return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

export interface Measured {
  kind: "time" | "bytes";
  amount: number;
}

const nanoseconds: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
  d: 86_400e9,
  w: 604_800e9,
  y: 31_536_000e9,
};

/** Reads a number with a unit of time, several of them, or a number with a unit of bytes. */
export function readMeasured(text: string): Measured | undefined {
  const bytes = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)) ?(?:([kmgtpe])(i?)b|([kmgtpe])i|b)$/i.exec(text);
  if (bytes !== null) {
    const [, number, prefix, binary, bareBinary] = bytes;
    const letter = (prefix ?? bareBinary ?? "").toLowerCase();
    const power = letter === "" ? 0 : "kmgtpe".indexOf(letter) + 1;
    const base = bareBinary !== undefined || binary !== "" ? 1024 : 1000;
    return { kind: "bytes", amount: Number(number) * (power === 0 ? 1 : base ** power) };
  }
  if (!/^[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h|d|w|y))+$/.test(text)) return undefined;
  let amount = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h|d|w|y)/g)) {
    amount += Number(number) * nanoseconds[unit!]!;
  }
  return { kind: "time", amount: Math.round(text.startsWith("-") ? -amount : amount) };
}

/** Writes milliseconds as a duration, `90s` or `1m30s`. */
export function printDuration(ms: number, random: Random): string {
  const units: [string, number][] = [
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1000],
    ["ms", 1],
  ];
  if (random.oneIn(2)) {
    const [unit, size] = units.find(([, each]) => ms % each === 0)!;
    return `${ms / size}${unit}`;
  }
  let left = ms;
  let out = "";
  for (const [unit, size] of units) {
    if (left >= size) out += `${Math.floor(left / size)}${unit}`;
    left %= size;
  }
  return out;
}

const escapeLiteral = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
const escapeInScript = (text: string) =>
  text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replaceAll("-", "\\x2d");

/** Draws a regular expression whose meaning is the same in RE2 and in JavaScript. */
export function drawExpression(random: Random, literals: readonly string[]): Expressed {
  const pieces: [text: string, script: string][] = [];
  const count = 1 + random.below(3);
  for (let i = 0; i < count; i++) pieces.push(drawPiece(random, literals));
  let text = pieces.map(([piece]) => piece).join("");
  let script = pieces.map(([, piece]) => piece).join("");
  if (random.oneIn(4)) {
    const [other, otherScript] = drawPiece(random, literals);
    text = `${text}|${other}`;
    script = `${script}|${otherScript}`;
  }
  const isFolded = random.oneIn(5) && !/[^ -~]|\\[wb]/.test(text);
  return { text: isFolded ? `(?i)${text}` : text, pattern: new RegExp(script, isFolded ? "iu" : "u") };
}

function drawPiece(random: Random, literals: readonly string[]): [string, string] {
  const simple: readonly [string, string][] = [
    [".*", "[^\\n]*"],
    [".+", "[^\\n]+"],
    ["[0-9]+", "[0-9]+"],
    ["\\d{1,3}", "\\d{1,3}"],
    ["[a-z_]*", "[a-z_]*"],
    ["[^a-m]", "[^a-m]"],
    ["\\w+", "\\w+"],
    ["\\b", "\\b"],
    ["(?:a|er)?", "(?:a|er)?"],
    [" ?", " ?"],
    ["^", "^"],
    ["$", "$"],
  ];
  if (random.oneIn(2)) return random.pick(simple);
  const literal = random.pick(literals);
  return [escapeLiteral(literal), escapeInScript(literal)];
}

/** The expression, to match a text from its beginning to its end. */
export function anchor({ pattern }: Expressed): RegExp {
  return new RegExp(`^(?:${pattern.source})$`, pattern.flags);
}
