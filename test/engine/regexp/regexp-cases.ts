/** Random patterns in RE2 syntax, and texts that match them or nearly do. */
import type { Random } from "../../../fixtures/random.ts";

export interface RandomPattern {
  pattern: string;
  /** A text that the pattern, or one much like it, matches. */
  draw: () => string;
}

const characters = [..."aabkKsSeE01 -_.\n", "é", "É", "ſ", "\u212a", "ß", "\ufffd", "😀", "\0"];

/** Character classes, each with some of its members. */
const classes: readonly [string, string][] = [
  ["[a-c]", "abc"],
  ["[^a]", "bE é\n"],
  ["[^\\n0-9]", "b "],
  ["\\d", "0179"],
  ["\\D", "a \n"],
  ["\\w", "aE_9k"],
  ["\\s", " \n"],
  ["[[:alpha:]]", "aZ"],
  ["\\pL", "aéſ\u212a"],
  ["\\PN", "a -"],
  ["\\p{Greek}", "λ"],
  [".", "aé 1\ufffd"],
  ["(?s:.)", "a\n"],
  ["[Ee]", "Ee"],
  ["[sSkK]", "sSkK"],
  ["[kſ\u212a]", "kſ\u212a"],
  ["[a\\x{fffd}]", "a\ufffd"],
  ["[01]", "01"],
  ["\\x{e9}", "é"],
  ["[.\\-_]", ".-_"],
];

const assertions = ["^", "$", "\\b", "\\B", "\\A", "\\z", "(?m:^)", "(?m:$)"];
const repeats: readonly [string, number, number][] = [
  ["*", 0, 3],
  ["+", 1, 3],
  ["?", 0, 1],
  ["*?", 0, 2],
  ["+?", 1, 2],
  ["??", 0, 1],
  ["{2}", 2, 2],
  ["{1,3}", 1, 3],
  ["{2,}", 2, 3],
  ["{0}", 0, 0],
  ["{0,2}?", 0, 2],
];

export function randomPattern(random: Random): RandomPattern {
  const inner = alternation(random, 3);
  if (random.below(5) > 0) return inner;
  const flags = oneOf(random, ["i", "s", "m", "U", "is", "im"]);
  return { pattern: `(?${flags})${inner.pattern}`, draw: varyCase(random, inner, flags) };
}

/** The text with up to two small edits, sometimes with other text around it. */
export function mutateText(random: Random, text: string): string {
  const all = [...text];
  for (let edits = random.below(3); edits > 0; edits--) {
    const at = random.below(all.length + 1);
    const kind = random.below(4);
    if (kind === 0) all.splice(at, 1);
    else if (kind === 1) all.splice(at, 0, oneOf(random, characters));
    else if (kind === 2) all.splice(at, 1, oneOf(random, characters));
    else all.splice(at, 1, swapCase(all[at] ?? ""));
  }
  const around = () => (random.below(2) === 0 ? "" : oneOf(random, characters).repeat(random.below(3)));
  return around() + all.join("") + around();
}

/** The text in UTF-8; some of its U+FFFD become invalid bytes, which patterns match as U+FFFD. */
export function toBytes(text: string, random: Random): Buffer {
  const parts = text.split("\ufffd");
  const broken = () => Buffer.from([[0x80], [0xc3], [0xe2, 0x82], [0xff]][random.below(4)]!);
  return Buffer.concat(
    parts.flatMap((part, i) => [
      i === 0 ? Buffer.of() : random.below(2) === 0 ? Buffer.from("\ufffd") : broken(),
      Buffer.from(part),
    ]),
  );
}

export function oneOf<T>(random: Random, choices: readonly T[]): T {
  return choices[random.below(choices.length)]!;
}

function alternation(random: Random, depth: number): RandomPattern {
  const branches = Array.from({ length: random.below(3) === 0 ? 2 + random.below(2) : 1 }, () =>
    sequence(random, depth),
  );
  return {
    pattern: branches.map(({ pattern }) => pattern).join("|"),
    draw: () => oneOf(random, branches).draw(),
  };
}

function sequence(random: Random, depth: number): RandomPattern {
  const parts = Array.from({ length: random.below(5) }, () => repeated(random, depth));
  return {
    pattern: parts.map(({ pattern }) => pattern).join(""),
    draw: () => parts.map(({ draw }) => draw()).join(""),
  };
}

function repeated(random: Random, depth: number): RandomPattern {
  const part = atom(random, depth);
  if (random.below(3) > 0) return part;
  const [sign, least, most] = oneOf(random, repeats);
  const times = () => least + random.below(most - least + 1);
  return {
    pattern: `(?:${part.pattern})${sign}`,
    draw: () => Array.from({ length: times() }, () => part.draw()).join(""),
  };
}

function atom(random: Random, depth: number): RandomPattern {
  const kind = random.below(12);
  if (kind < 5) return literal(random);
  if (kind < 8) {
    const [pattern, members] = oneOf(random, classes);
    return { pattern, draw: () => oneOf(random, [...members]) };
  }
  if (kind === 8) return { pattern: oneOf(random, assertions), draw: () => "" };
  if (depth === 0) return literal(random);
  const inner = alternation(random, depth - 1);
  const opening = oneOf(random, ["(", "(?:", "(?i:", "(?-i:", "(?s:", "(?U:"]);
  return { pattern: `${opening}${inner.pattern})`, draw: varyCase(random, inner, opening) };
}

function literal(random: Random): RandomPattern {
  const length = 1 + random.below(4);
  const text = Array.from({ length }, () => oneOf(random, characters)).join("");
  const quoted = random.below(6) === 0 ? `\\Q${text}\\E` : text.replace(/[.\-\\]/g, "\\$&");
  return { pattern: random.below(6) === 0 ? `(?:${quoted})` : quoted, draw: () => text };
}

function varyCase(random: Random, inner: RandomPattern, flags: string): () => string {
  if (!flags.includes("i") || flags.includes("-i")) return inner.draw;
  return () =>
    [...inner.draw()].map((character) => (random.below(3) === 0 ? swapCase(character) : character)).join("");
}

const swaps = new Map([
  ["k", "\u212a"],
  ["s", "ſ"],
  ["\u212a", "K"],
  ["ſ", "s"],
]);

function swapCase(character: string): string {
  const upper = character.toUpperCase();
  return swaps.get(character) ?? (upper === character ? character.toLowerCase() : upper);
}
