/**
 * Steps run row by row, written from the documents alone (engine/plan/filter.ts and query/README.md): slow, short and independent of the
 * engine, so that the engine can be checked against it.
 */
import { RE2JS } from "re2js";
import type { Extractor, Field, Filter, LogRow, PatternPart, Step } from "../../engine/index.ts";
import { templateId } from "./templates.ts";

/** The rows that pass all steps, in their order, with what the steps extracted among their attributes (without prototype). */
export function runSteps<Row extends LogRow>(steps: readonly Step[], rows: readonly Row[]): Row[] {
  return rows.flatMap((row) => {
    const attributes = new Map(Object.entries(row.attributes));
    for (const step of steps) {
      if (step.kind === "extract") extract(step.extractor, row, attributes);
      else if (!passes(step.filter, row, attributes)) return [];
    }
    return [{ ...row, attributes: withoutPrototype(attributes) }];
  });
}

function withoutPrototype(attributes: Map<string, string>): Record<string, string> {
  const object: Record<string, string> = Object.create(null);
  for (const [key, value] of attributes) object[key] = value;
  return object;
}

type Attributes = Map<string, string>;

/** Text of a field, or undefined where the row lacks it. */
export function fieldText(field: Field, row: LogRow, attributes: Attributes): string | undefined {
  switch (field.kind) {
    case "time":
      return String(row.timeNs / 1_000_000n);
    case "level":
      return row.level.toLowerCase();
    case "message":
      return row.message;
    case "template":
      return templateId(row.message);
    case "attribute":
      return attributes.get(field.key);
  }
}

const decimal = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

function passes(filter: Filter, row: LogRow, attributes: Attributes): boolean {
  switch (filter.kind) {
    case "always":
      return true;
    case "never":
      return false;
    case "and":
      return filter.of.every((each) => passes(each, row, attributes));
    case "or":
      return filter.of.some((each) => passes(each, row, attributes));
    case "not":
      return !passes(filter.of, row, attributes);
    case "present":
      return fieldText(filter.field, row, attributes) !== undefined;
    default:
      return test(filter, fieldText(filter.field, row, attributes) ?? "");
  }
}

function test(filter: Extract<Filter, { field: Field }>, text: string): boolean {
  switch (filter.kind) {
    case "present":
      return true;
    case "equals":
      return text === filter.value;
    case "contains":
      return filter.ignoreCase ? lowered(text).includes(lowered(filter.text)) : text.includes(filter.text);
    case "matches": {
      const matcher = compiled(filter.pattern).matcher(text);
      return filter.whole ? matcher.matches() : matcher.find();
    }
    case "compares": {
      if (!decimal.test(text)) return false;
      const number = Number(text);
      if (filter.op === ">") return number > filter.number;
      if (filter.op === ">=") return number >= filter.number;
      return filter.op === "<" ? number < filter.number : number <= filter.number;
    }
  }
}

const patterns = new Map<string, RE2JS>();

function compiled(pattern: string): RE2JS {
  if (patterns.size > 1_000) patterns.clear();
  const known = patterns.get(pattern) ?? RE2JS.compile(pattern);
  patterns.set(pattern, known);
  return known;
}

function lowered(text: string): string {
  return [...text].map(loweredCharacter).join("");
}

function loweredCharacter(character: string): string {
  const lower = character.toLowerCase();
  return [...lower].length === 1 && lower < "\x80" === character < "\x80" ? lower : character;
}

const namesMax = 1_000;
const nameBytesMax = 1_024;
const objectsDeepMax = 32;

function extract(extractor: Extractor, row: LogRow, attributes: Attributes): void {
  let stored = 0;
  for (const [name, value] of extractions(extractor, row.message)) {
    if (name === "" || stored === namesMax) continue;
    const key = Object.hasOwn(row.attributes, name) ? `${name}_extracted` : name;
    if (attributes.has(key) || Buffer.byteLength(key) > nameBytesMax) continue;
    attributes.set(key, value);
    stored++;
  }
}

function extractions(extractor: Extractor, message: string): Iterable<[string, string]> {
  switch (extractor.kind) {
    case "json":
      return jsonMembers(message);
    case "logfmt":
      return logfmtPairs(message);
    case "pattern":
      return captures(extractor.parts, message);
    case "regexp":
      return groups(extractor.pattern, message);
  }
}

function* jsonMembers(message: string): Generator<[string, string]> {
  if (/^[ \t\n\r]*$/.test(message)) return;
  if (!isJsonObject(message)) {
    yield ["__error__", "JSONParserErr"];
    return;
  }
  const tokens = [...message.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)];
  yield* members(message, tokens, 1, "", 1);
}

function isJsonObject(message: string): boolean {
  try {
    const value: unknown = JSON.parse(message);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/** Members of the object whose `{` stands before tokens[at]. */
function* members(
  message: string,
  tokens: RegExpExecArray[],
  at: number,
  prefix: string,
  depth: number,
): Generator<[string, string]> {
  while (tokens[at]![0] !== "}") {
    const name = prefix + unescaped(tokens[at]![0]);
    const first = at + 2;
    const last = lastOf(tokens, first);
    const text = message.slice(tokens[first]!.index, tokens[last]!.index + tokens[last]![0].length);
    if (text.startsWith("{") && depth < objectsDeepMax)
      yield* members(message, tokens, first + 1, `${name}.`, depth + 1);
    else if (text.startsWith('"')) yield [name, unescaped(text)];
    else if (text !== "null") yield [name, text];
    at = tokens[last + 1]![0] === "," ? last + 2 : last + 1;
  }
}

/** Index of the last token of the value that begins at tokens[first]. */
function lastOf(tokens: RegExpExecArray[], first: number): number {
  let open = 0;
  for (let at = first; ; at++) {
    const [token] = tokens[at]!;
    if (token === "{" || token === "[") open++;
    if (token === "}" || token === "]") open--;
    if (open === 0) return at;
  }
}

function unescaped(literal: string): string {
  return (JSON.parse(literal) as string).toWellFormed();
}

/** White space is all below `!`, U+0021. */
const logfmtShapes = {
  space: /[^!-\uffff]*/y,
  word: /[!-\uffff]*/y,
  /** All of a word but `"` and `=`. */
  key: /[!#-<>-\uffff]*/y,
  quoted: /="((?:[^"\\]|\\[\s\S])*)"/y,
};

function* logfmtPairs(message: string): Generator<[string, string]> {
  let at = 0;
  const take = (shape: RegExp) => {
    shape.lastIndex = at;
    const found = shape.exec(message);
    if (found !== null) at = shape.lastIndex;
    return found;
  };
  for (take(logfmtShapes.space); at < message.length; take(logfmtShapes.space)) {
    const [key] = take(logfmtShapes.key)!;
    if (key === "") take(logfmtShapes.word);
    else if (message.startsWith('="', at)) {
      const quoted = take(logfmtShapes.quoted);
      if (quoted === null) return;
      yield [key, logfmtUnescaped(quoted[1]!)];
    } else if (message[at] === "=") yield [key, take(logfmtShapes.word)![0].slice(1)];
  }
}

const logfmtEscapes: Record<string, string> = {
  '\\"': '"',
  "\\\\": "\\",
  "\\/": "/",
  "\\b": "\b",
  "\\f": "\f",
  "\\n": "\n",
  "\\r": "\r",
  "\\t": "\t",
};

function logfmtUnescaped(content: string): string {
  return content
    .replace(/\\u([0-9a-f]{4})|\\[\s\S]/gi, (whole, code) =>
      code === undefined ? (logfmtEscapes[whole] ?? whole) : String.fromCharCode(Number.parseInt(code, 16)),
    )
    .toWellFormed();
}

function* captures(parts: readonly PatternPart[], message: string): Generator<[string, string]> {
  if (message === "") return;
  let rest = message;
  for (const [index, part] of parts.entries()) {
    const next = parts[index + 1];
    if (part.kind === "literal") {
      // Only the first literal is still to be found: a capture passes over the literal behind it.
      if (index > 0) continue;
      if (!rest.startsWith(part.text)) return;
      rest = rest.slice(part.text.length);
      continue;
    }
    const end = next?.kind === "literal" ? rest.indexOf(next.text) : -1;
    if (part.name !== null) yield [part.name, end < 0 ? rest : rest.slice(0, end)];
    if (next?.kind !== "literal" || end < 0) return;
    rest = rest.slice(end + next.text.length);
  }
}

function* groups(pattern: string, message: string): Generator<[string, string]> {
  const matcher = compiled(pattern).matcher(message);
  if (!matcher.find()) return;
  const named = Object.entries(compiled(pattern).namedGroups()).sort(([, a], [, b]) => a - b);
  for (const [name, index] of named) {
    const text = matcher.group(index);
    if (text !== null) yield [name, text];
  }
}
