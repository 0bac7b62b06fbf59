import { type CustomPatternMatcherFunc, createToken, type IToken, Lexer, type TokenType } from "chevrotain";
import { aggregations, rangeFunctions, seriesFunctions } from "./keywords.ts";
import type { TextSpan } from "./query-error.ts";
import { QuotedTexts } from "./quoted-texts.ts";

/*
 * Where a name ends depends on its place: `a-b` is one label in `{ }`, in groupings and in label filters, and a
 * subtraction elsewhere. So the lexer has six modes: `series` at the start, `labels` within `{ }`, `grouping` from
 * `by` to its `)`, and `filter` from the first `|` to the `)` that closes the brackets around it. `window` is within
 * `[ ]`, and `offset` from that word to the duration after it, so that `5m` is a duration there alone. Where a token's
 * pattern, or its change of mode, differs between two modes, the token is a category with one token type per mode.
 */

const category = (name: string, label: string, categories: TokenType[] = []) =>
  createToken({ name, label, categories, pattern: Lexer.NA });

/** A label, a field or the name of a metric. */
export const Name = category("Name", "a name");
const metricName = createToken({
  name: "MetricName",
  pattern: /[A-Za-z_:][A-Za-z0-9_:.]*/,
  categories: Name,
});
const labelName = createToken({
  name: "LabelName",
  pattern: /[A-Za-z_][A-Za-z0-9_]*(?:[./:-]+[A-Za-z0-9_]+)*/,
  categories: Name,
});

/**
 * By mode, a lookahead that ends a keyword. A word with more of these characters after it is a longer name, not the
 * keyword.
 */
const wordEnd = { series: "(?![A-Za-z0-9_:.])", filter: "(?![A-Za-z0-9_]|[./:-]+[A-Za-z0-9_])" };
const modeWords: Record<keyof typeof wordEnd, TokenType[]> = { series: [], filter: [] };

interface WordRole {
  categories?: TokenType[];
  pushMode?: string;
  /**
   * True for a word that is a keyword only in mode `filter`, which is after `|`. Elsewhere a metric may be named
   * `json`.
   */
  stage?: boolean;
}

function word(name: string, texts: readonly string[], role: WordRole = {}): TokenType {
  const type = category(name, texts.map((text) => `\`${text}\``).join(" or "), role.categories);
  for (const mode of role.stage ? (["filter"] as const) : (["series", "filter"] as const)) {
    const pattern = new RegExp(`(?:${texts.join("|")})${wordEnd[mode]}`);
    const push = role.pushMode === undefined ? {} : { push_mode: role.pushMode };
    modeWords[mode].push(createToken({ name: `${name}-${mode}`, pattern, categories: type, ...push }));
  }
  return type;
}

export const Aggregation = word("Aggregation", aggregations, { categories: [Name] });
export const RangeFunction = word("RangeFunction", rangeFunctions, { categories: [Name] });
export const SeriesFunction = word("SeriesFunction", seriesFunctions, { categories: [Name] });
export const JsonPath = word("JsonPath", ["json_path"], { categories: [Name] });
export const By = word("By", ["by"], { pushMode: "grouping" });
export const Without = word("Without", ["without"], { pushMode: "grouping" });
export const On = word("On", ["on"], { pushMode: "grouping" });
export const Ignoring = word("Ignoring", ["ignoring"], { pushMode: "grouping" });
export const Bool = word("Bool", ["bool"]);
export const And = word("And", ["and"]);
export const Or = word("Or", ["or"]);
export const Unless = word("Unless", ["unless"]);
export const Default = word("Default", ["default"]);
export const Json = word("Json", ["json"], { stage: true });
export const Logfmt = word("Logfmt", ["logfmt"], { stage: true });
export const Pattern = word("Pattern", ["pattern"], { stage: true });
export const Regexp = word("Regexp", ["regexp"], { stage: true });
export const LineFormat = word("LineFormat", ["line_format"], { stage: true });
export const LabelFormat = word("LabelFormat", ["label_format"], { stage: true });

let quotedTexts = new QuotedTexts("");

/** Matches a text in quotes after a prefix, as a pattern of the lexer does. */
function matchQuoted(prefix: string): CustomPatternMatcherFunc {
  return (text, start) => {
    if (!text.startsWith(prefix, start)) return null;
    if (quotedTexts.text !== text) quotedTexts = new QuotedTexts(text);
    const end = quotedTexts.findEnd(start + prefix.length, "\"'`");
    return end === undefined ? null : [text.slice(start, end)];
  };
}

export const StringToken = createToken({
  name: "String",
  label: "a text in quotes",
  ...{ pattern: matchQuoted(""), start_chars_hint: ['"', "'", "`"], line_breaks: true },
});
export const CaselessString = createToken({
  name: "CaselessString",
  label: '`i"…"`',
  ...{ pattern: matchQuoted("i"), start_chars_hint: ["i"], line_breaks: true },
});
/** A quote without a closing quote. */
export const UnclosedString = createToken({ name: "UnclosedString", pattern: /i?["'`]/ });

export const NumberToken = createToken({
  name: "Number",
  label: "a number",
  pattern: /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![A-Za-z0-9_.])/,
});
const amount = /(?:\d+(?:\.\d*)?|\.\d+)/.source;
const units = { time: "ns|us|µs|μs|ms|[smhdwy]", bytes: "[kKmMgGtTpPeE]?[bB]|[kKmMgGtTpPeE]i[bB]?" };
/** A number with a unit of time or of bytes: `20ms`, `1h30m`, `1.5KiB`. */
export const quantityPattern = new RegExp(`(?:(?:${amount}(?:${units.time}))+|${amount}(?:${units.bytes}))`);
export const QuantityToken = createToken({
  ...{ name: "Quantity", label: "a number with a unit" },
  pattern: new RegExp(`${quantityPattern.source}(?![A-Za-z0-9_.])`),
});
/** A text that begins like a number but is not one: `20x`, `0x10`, `1.2.3`. */
export const BadNumber = createToken({ name: "BadNumber", pattern: /\.?\d[A-Za-z0-9_.]*/ });
export const Variable = createToken({
  name: "Variable",
  label: "a $variable",
  pattern: /\$[A-Za-z_][A-Za-z0-9_]*/,
});

/** A text with the form of a duration; `durationPattern` of the tree says which are some. */
const durationText = /\d+(?:ms|[smhdwy])(?:\d+(?:ms|[smhdwy]))*(?![A-Za-z0-9_.])/;
export const Duration = category("Duration", "a duration such as `5m`");
const windowDuration = createToken({ name: "WindowDuration", pattern: durationText, categories: Duration });
const offsetDuration = createToken({
  ...{ name: "OffsetDuration", pattern: durationText, categories: Duration, pop_mode: true },
});
const offsetVariable = createToken({
  ...{ name: "OffsetVariable", pattern: Variable.PATTERN!, categories: Variable, pop_mode: true },
});
/** `offset` is a keyword only before a duration or a variable. Elsewhere it may name a metric or a label. */
export const Offset = createToken({
  ...{ name: "Offset", label: "`offset`", push_mode: "offset" },
  pattern: /offset(?=\s+(?:\d+[a-z]|\$))/,
});

interface Moves {
  push_mode?: string;
  pop_mode?: boolean;
  categories?: TokenType;
}

const sign = (name: string, text: string, moves: Moves = {}) =>
  createToken({ name, label: `\`${text}\``, pattern: text, ...moves });

export const PipeEqual = sign("PipeEqual", "|=");
export const PipeMatch = sign("PipeMatch", "|~");
export const Pipe = category("Pipe", "`|`");
const pipeFirst = sign("PipeFirst", "|", { categories: Pipe, push_mode: "filter" });
const pipeAgain = sign("PipeAgain", "|", { categories: Pipe });
export const NotEqual = sign("NotEqual", "!=");
export const NotMatch = sign("NotMatch", "!~");
export const Match = sign("Match", "=~");
export const EqualEqual = sign("EqualEqual", "==");
export const Equal = sign("Equal", "=");
export const GreaterEqual = sign("GreaterEqual", ">=");
export const LessEqual = sign("LessEqual", "<=");
export const Greater = sign("Greater", ">");
export const Less = sign("Less", "<");
export const Plus = sign("Plus", "+");
export const Minus = sign("Minus", "-");
export const Times = sign("Times", "*");
export const Over = sign("Over", "/");
export const Modulo = sign("Modulo", "%");
export const Power = sign("Power", "^");
export const Comma = sign("Comma", ",");
export const LeftBrace = sign("LeftBrace", "{", { push_mode: "labels" });
export const RightBrace = sign("RightBrace", "}", { pop_mode: true });
export const LeftBracket = sign("LeftBracket", "[", { push_mode: "window" });
export const RightBracket = sign("RightBracket", "]", { pop_mode: true });
export const LeftParen = category("LeftParen", "`(`");
const parenPlain = sign("ParenPlain", "(", { categories: LeftParen });
const parenInFilter = sign("ParenInFilter", "(", { categories: LeftParen, push_mode: "filter" });
export const RightParen = category("RightParen", "`)`");
const parenClosing = sign("ParenClosing", ")", { categories: RightParen });
const parenLeaving = sign("ParenLeaving", ")", { categories: RightParen, pop_mode: true });

const whiteSpace = createToken({ name: "WhiteSpace", pattern: /\s+/, group: Lexer.SKIPPED });
const comment = createToken({ name: "Comment", pattern: /#[^\n]*/, group: Lexer.SKIPPED });
/** Any character that begins no other token. No rule of the grammar takes it, so the parser stops at it. */
const unknown = createToken({ name: "Unknown", pattern: /[\ud800-\udbff][\udc00-\udfff]|./ });

const literals = [
  CaselessString,
  StringToken,
  UnclosedString,
  NumberToken,
  QuantityToken,
  BadNumber,
  Variable,
];
const comparisons = [NotEqual, NotMatch, Match, EqualEqual, Equal, GreaterEqual, LessEqual, Greater, Less];
const arithmetic = [Plus, Minus, Times, Over, Modulo, Power];
const signs = [PipeEqual, PipeMatch, ...comparisons, ...arithmetic, Comma, LeftBrace];

const mode = (...ownTokens: TokenType[]) => [
  whiteSpace,
  comment,
  ...literals,
  ...signs,
  ...ownTokens,
  unknown,
];
const modes = {
  series: mode(Offset, ...modeWords.series, metricName, pipeFirst, parenPlain, parenClosing, LeftBracket),
  filter: mode(Offset, ...modeWords.filter, labelName, pipeAgain, parenInFilter, parenLeaving, LeftBracket),
  labels: mode(labelName, pipeAgain, parenPlain, parenClosing, RightBrace),
  grouping: mode(labelName, pipeAgain, parenPlain, parenLeaving),
  window: [whiteSpace, windowDuration, BadNumber, Variable, RightBracket, unknown],
  offset: [whiteSpace, offsetDuration, offsetVariable, unknown],
};

const categories = [
  Name,
  Pipe,
  LeftParen,
  RightParen,
  Aggregation,
  RangeFunction,
  SeriesFunction,
  JsonPath,
  Duration,
  By,
  Without,
  On,
  Ignoring,
];
const wordCategories = [
  Bool,
  And,
  Or,
  Unless,
  Default,
  Json,
  Logfmt,
  Pattern,
  Regexp,
  LineFormat,
  LabelFormat,
];

/** Every token type, which Chevrotain's parser must be given. */
export const vocabulary: TokenType[] = [
  ...new Set([...categories, ...wordCategories, ...Object.values(modes).flat()]),
];

const lexer = new Lexer({ modes, defaultMode: "series" }, { positionTracking: "onlyOffset" });

/** The tokens of a text, without white space and comments. Never throws: any other character is an `unknown` token. */
export function tokenize(text: string): IToken[] {
  return lexer.tokenize(text).tokens;
}

export function spanOfToken(token: IToken): TextSpan {
  return { start: token.startOffset, end: token.startOffset + token.image.length };
}
