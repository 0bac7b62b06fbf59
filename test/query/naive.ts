/**
 * Runs the steps of a plan row by row. It was written from the documents (engine/plan/filter.ts and query/README.md) and
 * shares no code with the engine, so that the engine can be checked against it.
 */
import { RE2JS } from "re2js";
import type {
  Extractor,
  Field,
  Filter,
  LogRow,
  PatternPart,
  RowFormat,
  RowSignal,
  TextChange,
} from "../../engine/index.ts";
import type { PlanStep } from "../../query/index.ts";
import {
  hideUnnamed,
  joinNaively,
  type NaiveRow,
  type ReadRow,
  type RowReader,
  runGroupedStep,
} from "./naive-ordered.ts";
import { quantityOf } from "./naive-quantity.ts";
import { templateId } from "./templates.ts";

/**
 * The rows that pass all steps, in their order. Their attributes, without prototype, include those that steps
 * extracted.
 */
export function runSteps<Row extends LogRow>(
  steps: readonly PlanStep[],
  rows: readonly Row[],
  others: OtherSignals = {},
): Row[] {
  const kept = runOn(
    steps,
    rows.map((row, place) => new StoredRow(row, place)),
    others,
  );
  const inOrder = kept.toSorted((a, b) => a.place - b.place);
  for (const { attributes } of inOrder) hideUnnamed(steps, attributes);
  return inOrder.map(({ row, attributes }) => ({ ...row, attributes: toObject(attributes) }));
}

/** A row as it is stored. Its attributes become a map when a step first asks for them: most filters read messages alone. */
class StoredRow<Row extends LogRow> implements NaiveRow<Row> {
  readonly row: Row;
  readonly place: number;
  #attributes: Attributes | undefined;

  constructor(row: Row, place: number) {
    this.row = row;
    this.place = place;
  }

  get attributes(): Attributes {
    this.#attributes ??= new Map(Object.entries(this.row.attributes));
    return this.#attributes;
  }
}

/** Rows of the signals that a query may join, in the order in which they arrived. */
export type OtherSignals = Readonly<Partial<Record<RowSignal, readonly LogRow[]>>>;

function formatNaively<Row extends LogRow>(
  formats: readonly RowFormat[],
  each: NaiveRow<Row>,
): NaiveRow<Row> {
  const { row, place, attributes } = each;
  const changed = new Map(attributes);
  for (const { removes } of formats) changed.delete(removes ?? "");
  let { message } = row;
  for (const { to, parts } of formats) {
    const text = parts
      .map((part) => {
        if (part.kind === "literal") return part.text;
        let inserted = part.field.kind === "level" ? row.level : (fieldText(part.field, each) ?? "");
        for (const change of part.changes) inserted = changeNaively(inserted, change);
        return inserted;
      })
      .join("");
    if (to.kind === "message") message = text;
    else if (text === "") changed.delete(to.key);
    else changed.set(to.key, text);
  }
  return { row: { ...row, message }, place, attributes: changed };
}

function changeNaively(text: string, change: TextChange): string {
  switch (change.op) {
    case "upper":
      return text.toUpperCase();
    case "lower":
      return text.toLowerCase();
    case "trim":
      return text.trim();
    case "trunc":
      return Array.from(text).slice(0, change.length).join("");
    case "default":
      return text || change.text;
    case "replace":
      return change.from === "" ? text : text.split(change.from).join(change.to);
  }
}

const reader: RowReader = { passes: isPassing, fieldText };

function runOn<Row extends LogRow>(
  steps: readonly PlanStep[],
  rows: readonly NaiveRow<Row>[],
  others: OtherSignals,
): readonly NaiveRow<Row>[] {
  let kept = rows;
  for (const step of steps) {
    if (step.kind === "extract")
      for (const { row, attributes } of kept) extract(step.extractor, row, attributes);
    else if (step.kind === "filter") kept = kept.filter((each) => isPassing(step.filter, each));
    else if (step.kind === "format") kept = kept.map((each) => formatNaively(step.formats, each));
    else if (step.kind === "join") {
      const other = (others[step.signal] ?? []).map((row, place) => new StoredRow(row, place));
      kept = joinNaively(step, kept, runOn(step.steps, other, others), reader);
    } else if (step.kind === "attach") throw new Error("no plan attaches attributes");
    else kept = runGroupedStep(step, kept, reader);
  }
  return kept;
}

function toObject(attributes: Map<string, string>): Record<string, string> {
  const object: Record<string, string> = Object.create(null);
  for (const [key, value] of attributes) object[key] = value;
  return object;
}

type Attributes = Map<string, string>;

/** The severity ranges of the levels that random rows have. */
const ranges: Readonly<Record<string, string>> = {
  ...{
    ...{ "10": "trace", "20": "debug", "30": "info", "40": "warn", "50": "error", "60": "fatal" },
    warn: "warn",
    debug: "debug",
    info: "info",
    error: "error",
    err: "error",
  },
  ...{ crit: "error", notice: "info", "5": "info" },
};

/** The severity range of a level; undefined where it belongs to none. */
export function rangeOf(level: string): string | undefined {
  const lower = level.toLowerCase();
  return Object.hasOwn(ranges, lower) ? ranges[lower] : undefined;
}

/** The text of a field; undefined where the row lacks it. */
export function fieldText(field: Field, each: ReadRow): string | undefined {
  const { row } = each;
  switch (field.kind) {
    case "time":
      return String(row.timeNs / 1_000_000n);
    case "level":
      return (field.asRange === true ? rangeOf(row.level) : undefined) ?? row.level.toLowerCase();
    case "message":
      return row.message;
    case "template":
      return templateId(row.message);
    case "attribute":
      return each.attributes.get(field.key);
  }
}

const decimalOf = (text: string) => (decimal.test(text) ? Number(text) : undefined);
const decimal = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

function isPassing(filter: Filter, row: ReadRow): boolean {
  switch (filter.kind) {
    case "always":
      return true;
    case "never":
      return false;
    case "and":
      return filter.of.every((each) => isPassing(each, row));
    case "or":
      return filter.of.some((each) => isPassing(each, row));
    case "not":
      return !isPassing(filter.of, row);
    case "present":
      return fieldText(filter.field, row) !== undefined;
    case "arrived":
      throw new Error("no plan filters by arrival numbers");
    default:
      return isTrueFor(filter, fieldText(filter.field, row) ?? "");
  }
}

function isTrueFor(filter: Extract<Filter, { field: Field }>, text: string): boolean {
  switch (filter.kind) {
    case "present":
      return true;
    case "equals":
      return text === filter.value;
    case "contains":
      return filter.ignoreCase ? toLower(text).includes(toLower(filter.text)) : text.includes(filter.text);
    case "matches": {
      const matcher = compile(filter.pattern).matcher(text);
      return filter.whole ? matcher.matches() : matcher.find();
    }
    case "compares": {
      const number = filter.unit === undefined ? decimalOf(text) : quantityOf(text, filter.unit);
      if (number === undefined) return false;
      if (filter.op === ">") return number > filter.number;
      if (filter.op === ">=") return number >= filter.number;
      return filter.op === "<" ? number < filter.number : number <= filter.number;
    }
  }
}

const patterns = new Map<string, RE2JS>();

function compile(pattern: string): RE2JS {
  if (patterns.size > 1_000) patterns.clear();
  const known = patterns.get(pattern) ?? RE2JS.compile(pattern);
  patterns.set(pattern, known);
  return known;
}

function toLower(text: string): string {
  if (isAscii.test(text)) return text.toLowerCase();
  return [...text].map(toLowerCharacter).join("");
}

const isAscii = /^[\0-\x7f]*$/;

function toLowerCharacter(character: string): string {
  const lower = character.toLowerCase();
  return [...lower].length === 1 && lower < "\x80" === character < "\x80" ? lower : character;
}

const namesMax = 1_000;
const nameBytesMax = 1_024;
const objectsDeepMax = 32;

function extract(extractor: Extractor, row: LogRow, attributes: Attributes): void {
  let stored = 0;
  for (const [name, value] of listExtractions(extractor, row.message)) {
    if (name === "" || stored === namesMax) continue;
    const key = Object.hasOwn(row.attributes, name) ? `${name}_extracted` : name;
    if (attributes.has(key) || Buffer.byteLength(key) > nameBytesMax) continue;
    attributes.set(key, value);
    stored++;
  }
}

function listExtractions(extractor: Extractor, message: string): Iterable<[string, string]> {
  switch (extractor.kind) {
    case "json":
      return readJson(message);
    case "logfmt":
      return readLogfmt(message);
    case "pattern":
      return readCaptures(extractor.parts, message);
    case "regexp":
      return readGroups(extractor.pattern, message);
  }
}

function* readJson(message: string): Generator<[string, string]> {
  if (/^[ \t\n\r]*$/.test(message)) return;
  if (!isJsonObject(message)) {
    yield ["__error__", "JSONParserErr"];
    return;
  }
  const tokens = [...message.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)];
  yield* readMembers(message, tokens, 1, "", 1);
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

/** Yields the members of an object. tokens[at] is the token after its `{`. */
function* readMembers(
  message: string,
  tokens: RegExpExecArray[],
  at: number,
  prefix: string,
  depth: number,
): Generator<[string, string]> {
  while (tokens[at]![0] !== "}") {
    const name = prefix + parseJsonString(tokens[at]![0]);
    const first = at + 2;
    const last = findEndOfValue(tokens, first);
    const text = message.slice(tokens[first]!.index, tokens[last]!.index + tokens[last]![0].length);
    if (text.startsWith("{") && depth < objectsDeepMax)
      yield* readMembers(message, tokens, first + 1, `${name}.`, depth + 1);
    else if (text.startsWith('"')) yield [name, parseJsonString(text)];
    else if (text !== "null") yield [name, text];
    at = tokens[last + 1]![0] === "," ? last + 2 : last + 1;
  }
}

/** Index of the last token of the value that begins at tokens[first]. */
function findEndOfValue(tokens: RegExpExecArray[], first: number): number {
  let open = 0;
  for (let at = first; ; at++) {
    const [token] = tokens[at]!;
    if (token === "{" || token === "[") open++;
    if (token === "}" || token === "]") open--;
    if (open === 0) return at;
  }
}

function parseJsonString(literal: string): string {
  return (JSON.parse(literal) as string).toWellFormed();
}

/** The parts of a logfmt line. White space is every character below `!` (U+0021). */
const logfmtShapes = {
  space: /[^!-\uffff]*/y,
  word: /[!-\uffff]*/y,
  /** Characters of a word except `"` and `=`. */
  key: /[!#-<>-\uffff]*/y,
  quoted: /="((?:[^"\\]|\\[\s\S])*)"/y,
};

function* readLogfmt(message: string): Generator<[string, string]> {
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
      yield [key, unescapeLogfmt(quoted[1]!)];
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

function unescapeLogfmt(content: string): string {
  return content
    .replace(/\\u([0-9a-f]{4})|\\[\s\S]/gi, (whole, code) =>
      code === undefined ? (logfmtEscapes[whole] ?? whole) : String.fromCharCode(Number.parseInt(code, 16)),
    )
    .toWellFormed();
}

function* readCaptures(parts: readonly PatternPart[], message: string): Generator<[string, string]> {
  if (message === "") return;
  let rest = message;
  for (const [index, part] of parts.entries()) {
    const next = parts[index + 1];
    if (part.kind === "literal") {
      // A literal after a capture was already consumed with the capture.
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

function* readGroups(pattern: string, message: string): Generator<[string, string]> {
  const matcher = compile(pattern).matcher(message);
  if (!matcher.find()) return;
  const named = Object.entries(compile(pattern).namedGroups()).sort(([, a], [, b]) => a - b);
  for (const [name, index] of named) {
    const text = matcher.group(index);
    if (text !== null) yield [name, text];
  }
}
