import type { Field, FormatPart, RowFormat, Step, TextChange } from "../../../engine/index.ts";
import { QuotedTexts } from "../../text/quoted-texts.ts";
import { refuse, refuseWithin } from "../../text/source.ts";
import type { LabelFormat, LineFormat } from "../../tree/stage.ts";
import type { StringLiteral } from "../../tree/string-literal.ts";
import { noteExtractedNames, type PlanContext } from "../context.ts";
import { resolveField } from "../field.ts";
import { resolveLabel, resolveString } from "../variables.ts";

/** The step of a stage that makes texts of the labels of a row. Throws a QueryError. */
export function planFormatStage(node: LineFormat | LabelFormat, context: PlanContext): Step {
  if (node.kind === "lineFormat") {
    return {
      kind: "format",
      formats: [{ to: { kind: "message" }, parts: planTemplate(node.template, context) }],
    };
  }
  const names = new Set<string>();
  const formats = node.labels.map(({ label, from }): RowFormat => {
    const key = resolveLabel(label, context);
    const to = resolveField(key, { ...context, names: new Set() });
    if (to.kind !== "attribute")
      refuse(context.source, label, `\`${key}\` is a column of every row; give the label another name`);
    if (names.has(to.key)) refuse(context.source, label, `the label ${key} is written twice`);
    names.add(to.key);
    if (from.kind === "string") return { to, parts: planTemplate(from, context) };
    const field = resolveField(resolveLabel(from, context), context);
    const isMoved = field.kind === "attribute" && field.key !== to.key;
    return {
      to,
      parts: [{ kind: "field", field, changes: [] }],
      ...(isMoved ? { removes: field.key } : {}),
    };
  });
  noteExtractedNames(names, context);
  for (const name of names) context.milliseconds.delete(name);
  return { kind: "format", formats };
}

/** The parts of a text such as `{{.method}} took {{.took | default "?"}}`. */
function planTemplate(node: StringLiteral, context: PlanContext): FormatPart[] {
  const template = resolveString(node, context);
  const parts: FormatPart[] = [];
  let literalFrom = 0;
  for (;;) {
    const start = template.indexOf("{{", literalFrom);
    const innerEnd = start < 0 ? -1 : template.indexOf("}}", start + 2);
    if (innerEnd < 0) break;
    if (start > literalFrom) parts.push({ kind: "literal", text: template.slice(literalFrom, start) });
    const span = { start, end: innerEnd + 2 };
    const refuseHere = (problem: string) => refuseWithin(context.source, node, span, problem);
    parts.push(planPlaceholder(template.slice(start + 2, innerEnd), context, refuseHere));
    literalFrom = span.end;
  }
  if (literalFrom < template.length) parts.push({ kind: "literal", text: template.slice(literalFrom) });
  return parts;
}

type Refuse = (problem: string) => never;

const changeNames = ["upper", "lower", "trim", "trunc", "default", "replace"] as const;
const argument = /^\s*("(?:[^"\\]|\\.)*"|`[^`]*`|\d+)/;

function planPlaceholder(inner: string, context: PlanContext, refuseHere: Refuse): FormatPart {
  const [name = "", ...changes] = splitAtPipes(inner);
  return {
    kind: "field",
    field: planReadField(name.trim(), context, refuseHere),
    changes: changes.map((change) => planChange(change.trim(), refuseHere)),
  };
}

/** Splits at pipes, but for those within quotes. Parts are not empty. */
function splitAtPipes(text: string): string[] {
  const quoted = new QuotedTexts(text, true);
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; ) {
    if (text[at] === "|") {
      parts.push(text.slice(from, at));
      from = ++at;
    } else at = quoted.findEnd(at, '"`') ?? at + 1;
  }
  return [...parts, text.slice(from)].filter((part) => part !== "");
}

function planReadField(name: string, context: PlanContext, refuseHere: Refuse): Field {
  if (name === "__line__") return { kind: "message" };
  if (name === "__timestamp__") return { kind: "time" };
  const [, label = ""] = /^\.([\p{L}_][\p{L}\p{N}_./:-]*)$/u.exec(name) ?? [];
  if (label === "") refuseHere("within {{ }} stands .label, __line__ or __timestamp__, as in {{.status}}");
  return resolveField(label, context);
}

function planChange(change: string, refuseHere: Refuse): TextChange {
  const [word = ""] = /^\w*/.exec(change) ?? [];
  const args: (string | number)[] = [];
  let rest = change.slice(word.length);
  for (let found = argument.exec(rest); found !== null; found = argument.exec(rest)) {
    const [whole, text] = found as unknown as [string, string];
    args.push(readArgument(text));
    rest = rest.slice(whole.length);
  }
  const problem = `there is no \`${change}\` within {{ }}; there are upper, lower, trim, trunc 20, default "…" and replace "a" "b"`;
  if (rest.trim() !== "" || !changeNames.some((name) => name === word)) refuseHere(problem);
  return toChange(word, args) ?? refuseHere(problem);
}

function readArgument(text: string): string | number {
  if (text.startsWith('"')) return text.slice(1, -1).replaceAll(/\\(.)/gs, "$1");
  return text.startsWith("`") ? text.slice(1, -1) : Number(text);
}

function toChange(
  word: string,
  [first, second, ...more]: readonly (string | number)[],
): TextChange | undefined {
  if (more.length > 0) return undefined;
  if ((word === "upper" || word === "lower" || word === "trim") && first === undefined) return { op: word };
  if (word === "trunc" && typeof first === "number" && second === undefined)
    return { op: word, length: first };
  if (typeof first !== "string") return undefined;
  if (word === "default" && second === undefined) return { op: word, text: first };
  return word === "replace" && typeof second === "string" ? { op: word, from: first, to: second } : undefined;
}
