/** Matchers, label filters and line filters: what they print and which rows pass. */

import type { Random } from "../../../fixtures/random.ts";
import type { Labelled } from "./row.ts";
import {
  anchor,
  type Expressed,
  fold,
  type Measured,
  printLabel,
  quote,
  readMeasured,
  readNumber,
} from "./text.ts";

export interface Condition {
  text: string;
  /** The words of the reference for what it is, to count forms. */
  forms: readonly string[];
  passes(of: Labelled): boolean;
}

/** The severity ranges of the reference, with the levels in each. */
const ranges: Readonly<Record<string, string>> = {
  trace: "trace trace2 trace3 trace4 trc t finest silly 10",
  debug: "debug debug2 debug3 debug4 dbg d fine finer config verbose vrb http 7 20",
  info: "info info2 info3 info4 inf i information informational notice success 5 6 30",
  warn: "warn warn2 warn3 warn4 wrn w warning 4 40",
  error: "error error2 error3 error4 err eror e severe crit alert dpanic 1 2 3 50",
  fatal: "fatal fatal2 fatal3 fatal4 ftl f critical emerg emergency panic 0 60",
};
const rangeOfLevel = new Map(
  Object.entries(ranges).flatMap(([range, levels]) => levels.split(" ").map((level) => [level, range])),
);

export type Equality = "=" | "!=";

/** `label = "text"` and `label != "text"`. */
export function equals(label: string, op: Equality, value: string, random: Random): Condition {
  const isNumber = /^(0|[1-9]\d{0,8})$/.test(value) && random.oneIn(2);
  const text = `${printLabel(label, random)}${spaced(op, random)}${isNumber ? value : quote(value, random)}`;
  const holds = (of: Labelled): boolean => {
    const own = of.readLabel(label);
    if (value === "*") return op === "=" || own !== undefined;
    if (!(of.hasColumns && label === "log_level")) return (own ?? "") === value;
    const [level, wanted] = [(own ?? "").toLowerCase(), value.toLowerCase()];
    return level === wanted || (wanted in ranges && rangeOfLevel.get(level) === wanted);
  };
  const form = value === "*" ? "any value" : label === "log_level" ? "level" : "equality";
  return { text, forms: [form], passes: (of) => holds(of) === (op === "=") };
}

/** `label =~ "expression"` and `label !~ "expression"`. */
export function matches(label: string, op: "=~" | "!~", expression: Expressed, random: Random): Condition {
  const text = `${printLabel(label, random)}${spaced(op, random)}${quote(expression.text, random)}`;
  const whole = anchor(expression);
  const anyCase = (pattern: RegExp) => new RegExp(pattern.source, pattern.flags.includes("i") ? "iu" : "iu");
  const holds = (of: Labelled): boolean => {
    const own = of.readLabel(label) ?? "";
    if (of.hasColumns && label === "message") return expression.pattern.test(own);
    if (!(of.hasColumns && label === "log_level")) return whole.test(own);
    const level = own.toLowerCase();
    const pattern = anyCase(whole);
    return pattern.test(level) || pattern.test(rangeOfLevel.get(level) ?? level);
  };
  return { text, forms: ["matched label"], passes: (of) => holds(of) === (op === "=~") };
}

export type Inequality = ">" | ">=" | "<" | "<=";

/** `label > 5` and its kin, with a number or with a quantity. */
export function exceeds(label: string, op: Inequality, value: string, random: Random): Condition {
  const text = `${printLabel(label, random)}${spaced(op, random)}${value}`;
  const unit = readMeasured(value);
  const passes = (of: Labelled): boolean => {
    const own = of.readLabel(label) ?? "";
    const [left, right] =
      unit === undefined
        ? [readNumber(own), readNumber(value)]
        : [readAs(own, unit, of.isMilliseconds(label)), unit.amount];
    return left !== undefined && right !== undefined && compareNumbers(left, op, right);
  };
  return { text, forms: [unit === undefined ? "number" : "quantity"], passes };
}

function readAs(own: string, unit: Measured, isMilliseconds: boolean): number | undefined {
  const number = readNumber(own);
  if (unit.kind === "time" && number !== undefined && isMilliseconds) return Math.round(number * 1e6);
  const measured = readMeasured(own);
  return measured?.kind === unit.kind ? measured.amount : undefined;
}

export function compareNumbers(left: number, op: string, right: number): boolean {
  switch (op) {
    case ">":
      return left > right;
    case ">=":
      return left >= right;
    case "<":
      return left < right;
    case "<=":
      return left <= right;
    case "==":
      return left === right;
    default:
      return left !== right;
  }
}

/** Conditions joined by `and` or a comma, or by `or`, within brackets where `or` stands within `and`. */
export function join(word: "and" | "or", parts: readonly Condition[], random: Random): Condition {
  const between = () => (word === "or" ? " or " : random.oneIn(3) ? ", " : " and ");
  let text = "";
  for (const part of parts) {
    const needsBrackets = part.forms.includes("or") || random.oneIn(5);
    text += `${text === "" ? "" : between()}${needsBrackets ? `(${part.text})` : part.text}`;
  }
  const passes = (of: Labelled) =>
    word === "and" ? parts.every((part) => part.passes(of)) : parts.some((part) => part.passes(of));
  return { text, forms: [word, ...parts.flatMap(({ forms }) => forms)], passes };
}

/** A line filter, which reads a text. */
export interface LineFilter {
  text: string;
  forms: readonly string[];
  passesText(line: string): boolean;
}

/** `|= "a" or i"b"` and `!= "a"`. */
export function contains(texts: readonly string[], isNegated: boolean, random: Random): LineFilter {
  const parts = texts.map((text) => ({ text, ignoresCase: random.oneIn(3) }));
  const printed = parts.map(({ text, ignoresCase }) => {
    const quoted = quote(text, random);
    return ignoresCase ? `i${quoted}` : quoted;
  });
  const passesText = (line: string) =>
    parts.some(({ text, ignoresCase }) =>
      ignoresCase ? fold(line).includes(fold(text)) : line.includes(text),
    ) !== isNegated;
  const op = isNegated ? "!=" : "|=";
  const forms = [
    op,
    ...(parts.some(({ ignoresCase }) => ignoresCase) ? ["i text"] : []),
    ...(parts.length > 1 ? ["or texts"] : []),
  ];
  return { text: `${op} ${printed.join(" or ")}`, forms, passesText };
}

/** `|~ "a" or "b"` and `!~ "a"`. */
export function searches(expressions: readonly Expressed[], isNegated: boolean, random: Random): LineFilter {
  const op = isNegated ? "!~" : "|~";
  const text = `${op} ${expressions.map((each) => quote(each.text, random)).join(" or ")}`;
  const passesText = (line: string) => expressions.some(({ pattern }) => pattern.test(line)) !== isNegated;
  return { text, forms: [op], passesText };
}

function spaced(op: string, random: Random): string {
  return random.oneIn(2) ? op : ` ${op} `;
}
