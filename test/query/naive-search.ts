/**
 * What a query means, read off its tree row by row as query/README.md says it, without any plan: the truth that plans are checked
 * against. Extraction is left to the naive evaluator of steps, which the reference tests.
 */
import { RE2JS } from "re2js";
import type { LogRow, PatternPart } from "../../engine/index.ts";
import type { Expression, SearchTerms } from "../../query/index.ts";
import { runSteps } from "./naive.ts";
import { templateId } from "./templates.ts";

type Selector = Extract<Expression, { kind: "selector" }>;
type Stage = Selector["stages"][number];
type Matcher = Selector["matchers"][number];
type Condition = Extract<Stage, { kind: "labelFilter" }>["condition"];
type Text = Matcher["label"]["name"];

/** The row as the query returns it, or undefined where it does not pass. */
export function answer<Row extends LogRow>(tree: Selector | SearchTerms, row: Row): Row | undefined {
  if (tree.kind === "terms") {
    return tree.alternatives.some((all) => all.every((one) => holdsTerm(one, row))) ? row : undefined;
  }
  if (!tree.matchers.every((each) => holds(each, row))) return undefined;
  return tree.stages.reduce<Row | undefined>(
    (kept, stage) => (kept === undefined ? undefined : pass(stage, kept, row)),
    row,
  );
}

function pass<Row extends LogRow>(stage: Stage, row: Row, stored: Row): Row | undefined {
  switch (stage.kind) {
    case "lineFilter": {
      const any = stage.texts.some(({ text, ignoreCase }) => {
        const wanted = characters(text);
        if (stage.operator.endsWith("~"))
          return RE2JS.compile(wanted, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
            .matcher(row.message)
            .find();
        return ignoreCase ? lower(row.message).includes(lower(wanted)) : row.message.includes(wanted);
      });
      return any !== stage.operator.startsWith("!") ? row : undefined;
    }
    case "labelFilter":
      return holdsCondition(stage.condition, row) ? row : undefined;
    default: {
      const [extracted] = runSteps([{ kind: "extract", extractor: extractorOf(stage) }], [stored]);
      return { ...row, attributes: { ...extracted!.attributes, ...row.attributes } };
    }
  }
}

function extractorOf(stage: Exclude<Stage, { kind: "lineFilter" | "labelFilter" }>) {
  if (stage.kind === "regexp") return { kind: "regexp", pattern: characters(stage.pattern) } as const;
  if (stage.kind === "pattern")
    return { kind: "pattern", parts: patternParts(characters(stage.pattern)) } as const;
  return { kind: stage.kind };
}

function patternParts(pattern: string): PatternPart[] {
  return pattern
    .split(/(<[A-Za-z_][A-Za-z0-9_.]*>)/)
    .filter((part) => part !== "")
    .map((part, _index): PatternPart => {
      const name = /^<([A-Za-z_][A-Za-z0-9_.]*)>$/.exec(part)?.[1];
      if (name === undefined) return { kind: "literal", text: part };
      return { kind: "capture", name: name === "_" ? null : name };
    });
}

function holdsCondition(condition: Condition, row: LogRow): boolean {
  if (condition.kind === "matcher") return holds(condition, row);
  if (condition.kind === "and") return condition.of.every((each) => holdsCondition(each, row));
  return condition.of.some((each) => holdsCondition(each, row));
}

function holdsTerm({ excluded, of }: SearchTerms["alternatives"][number][number], row: LogRow): boolean {
  const found = of.kind === "matcher" ? holds(of, row) : lower(row.message).includes(lower(of.text));
  return found !== excluded;
}

function holds(matcher: Matcher, row: LogRow): boolean {
  const label = characters(matcher.label.name);
  const wanted = matcher.value.kind === "number" ? matcher.value.text : characters(matcher.value);
  const value = labelValue(label, row);
  const text = value ?? "";
  switch (matcher.operator) {
    case "=":
      return wanted === "*" || same(label, text, wanted);
    case "!=":
      return wanted === "*" ? value === undefined : !same(label, text, wanted);
    case "=~":
      return matches(label, text, wanted);
    case "!~":
      return !matches(label, text, wanted);
    default:
      return isNumber(text) && compare(Number(text), matcher.operator, Number(wanted));
  }
}

/** The text of a label, or undefined where the row does not have it. A row without a level does not have one; every row has a message and a time. */
export function labelValue(label: string, row: LogRow): string | undefined {
  if (label === "message") return row.message;
  if (label === "template") return templateId(row.message);
  if (label === "timestamp") return String(row.timeNs / 1_000_000n);
  if (label === "log_level") return row.level === "" ? undefined : row.level.toLowerCase();
  const columnLike = /^attributes\.(message|log_level|timestamp|template)$/.exec(label)?.[1];
  const key = columnLike ?? label;
  return Object.hasOwn(row.attributes, key) ? row.attributes[key] : undefined;
}

function same(label: string, text: string, wanted: string): boolean {
  return label === "log_level" ? text === wanted.toLowerCase() : text === wanted;
}

function matches(label: string, text: string, pattern: string): boolean {
  const matcher = RE2JS.compile(pattern, label === "log_level" ? RE2JS.CASE_INSENSITIVE : 0).matcher(text);
  return label === "message" ? matcher.find() : matcher.matches();
}

function isNumber(text: string): boolean {
  return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text);
}

function compare(left: number, sign: string, right: number): boolean {
  if (sign === ">") return left > right;
  if (sign === ">=") return left >= right;
  return sign === "<" ? left < right : left <= right;
}

function characters(text: Text): string {
  return text.parts.map((part) => (part.kind === "characters" ? part.text : "")).join("");
}

function lower(text: string): string {
  return [...text]
    .map((character) => {
      const small = character.toLowerCase();
      const ascii = (each: string) => each.codePointAt(0)! < 128;
      return [...small].length === 1 && ascii(small) === ascii(character) ? small : character;
    })
    .join("");
}
