/** What `json`, `logfmt`, `pattern` and `regexp` extract, by the rules of query/README.md. */
import type { StagedRow } from "./row.ts";

/** Takes values for a row until the stage has stored as many as it may. */
class Taken {
  readonly #row: StagedRow;
  #left = 1000;

  constructor(row: StagedRow) {
    this.#row = row;
  }

  put(name: string, value: string): void {
    const { stored, attributes } = this.#row;
    const own = Object.hasOwn(stored.attributes, name) ? `${name}_extracted` : name;
    if (name === "" || this.#left === 0 || Buffer.byteLength(own) > 1024 || attributes.has(own)) return;
    attributes.set(own, value);
    this.#left -= 1;
  }
}

const halfPairs = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const wholePairs = (text: string) => text.replaceAll(halfPairs, "\ufffd");

export function extractJson(row: StagedRow): void {
  const message = row.text;
  if (/^[ \t\n\r]*$/.test(message)) return;
  const taken = new Taken(row);
  let parsed: unknown;
  try {
    parsed = JSON.parse(message);
  } catch {
    parsed = undefined;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    taken.put("__error__", "JSONParserErr");
  else takeMembers(message, message.search(/\{/), "", 1, taken);
}

/** Takes the members of the object that begins at `at`, in a text that is known to be JSON; gives the place after it. */
function takeMembers(text: string, at: number, prefix: string, depth: number, taken: Taken): number {
  let here = passSpace(text, at + 1);
  while (text[here] !== "}") {
    if (text[here] === ",") here = passSpace(text, here + 1);
    const keyEnd = passValue(text, here);
    const name = prefix + wholePairs(JSON.parse(text.slice(here, keyEnd)) as string);
    const begin = passSpace(text, passSpace(text, keyEnd) + 1);
    if (text[begin] === "{" && depth < 32) {
      here = passSpace(text, takeMembers(text, begin, `${name}.`, depth + 1, taken));
      continue;
    }
    const end = passValue(text, begin);
    const raw = text.slice(begin, end);
    if (raw.startsWith('"')) taken.put(name, wholePairs(JSON.parse(raw) as string));
    else if (raw !== "null") taken.put(name, raw);
    here = passSpace(text, end);
  }
  return here + 1;
}

function passSpace(text: string, at: number): number {
  let here = at;
  while (" \t\n\r".includes(text[here] ?? "x")) here += 1;
  return here;
}

function passValue(text: string, at: number): number {
  if (text[at] === '"') {
    let here = at + 1;
    while (text[here] !== '"') here += text[here] === "\\" ? 2 : 1;
    return here + 1;
  }
  if (text[at] !== "{" && text[at] !== "[") {
    let here = at;
    while (!/[,\]} \t\n\r]/.test(text[here] ?? ",")) here += 1;
    return here;
  }
  let open = 0;
  let here = at;
  do {
    if (text[here] === '"') {
      here = passValue(text, here);
      continue;
    }
    if (text[here] === "{" || text[here] === "[") open += 1;
    if (text[here] === "}" || text[here] === "]") open -= 1;
    here += 1;
  } while (open > 0);
  return here;
}

export function extractLogfmt(row: StagedRow): void {
  const text = row.text;
  const taken = new Taken(row);
  let at = 0;
  while (at < text.length) {
    if (text[at]! <= " ") {
      at += 1;
      continue;
    }
    if (text[at] === "=" || text[at] === '"') {
      at = endOfRun(text, at);
      continue;
    }
    const keyBegin = at;
    while (at < text.length && text[at]! > " " && text[at] !== "=" && text[at] !== '"') at += 1;
    if (text[at] !== "=") continue;
    const key = text.slice(keyBegin, at);
    if (text[at + 1] === '"') {
      const end = endOfQuoted(text, at + 2);
      if (end === -1) return;
      taken.put(key, unescapeLogfmt(text.slice(at + 2, end)));
      at = end + 1;
    } else {
      const end = endOfRun(text, at + 1);
      taken.put(key, text.slice(at + 1, end));
      at = end;
    }
  }
}

function endOfRun(text: string, at: number): number {
  let here = at;
  while (here < text.length && text[here]! > " ") here += 1;
  return here;
}

function endOfQuoted(text: string, at: number): number {
  for (let here = at; here < text.length; here++) {
    if (text[here] === "\\") here += 1;
    else if (text[here] === '"') return here;
  }
  return -1;
}

const logfmtEscapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

function unescapeLogfmt(text: string): string {
  let out = "";
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== "\\") {
      out += text[at];
      continue;
    }
    const next = text[at + 1] ?? "";
    const code = /^[0-9a-f]{4}/i.exec(text.slice(at + 2));
    if (next === "u" && code !== null) {
      out += String.fromCharCode(Number.parseInt(code[0], 16));
      at += 5;
    } else {
      out += logfmtEscapes[next] ?? `\\${next}`;
      at += 1;
    }
  }
  return wholePairs(out);
}

/** The parts of a pattern: a text, or the name of a capture, which is `_` where it is thrown away. */
export type PatternPiece = { literal: string } | { name: string };

export function extractPattern(row: StagedRow, pieces: readonly PatternPiece[]): void {
  const text = row.text;
  const taken = new Taken(row);
  if (text === "") return;
  let at = 0;
  for (const [i, piece] of pieces.entries()) {
    if ("literal" in piece) {
      if (i === 0) {
        if (!text.startsWith(piece.literal)) return;
        at = piece.literal.length;
      }
      continue;
    }
    const next = pieces[i + 1];
    const end = next !== undefined && "literal" in next ? text.indexOf(next.literal, at) : -1;
    if (piece.name !== "_") taken.put(piece.name, end === -1 ? text.slice(at) : text.slice(at, end));
    if (end === -1 || next === undefined || !("literal" in next)) return;
    at = end + next.literal.length;
  }
}

export function extractGroups(row: StagedRow, pattern: RegExp): void {
  const found = pattern.exec(row.text);
  const taken = new Taken(row);
  for (const [name, value] of Object.entries(found?.groups ?? {})) {
    if (value !== undefined) taken.put(name, value);
  }
}
