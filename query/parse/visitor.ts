import type { CstNode, IToken } from "chevrotain";
import { operatorsMax, stagesMax } from "../limits.ts";
import type { Span } from "../text/query-error.ts";
import { refuse, type Source } from "../text/source.ts";
import { tokenSpan } from "../text/tokens.ts";
import {
  type Aggregate,
  type Aggregation,
  aggregate,
  parameterMeaning,
  type Series,
} from "../tree/aggregate.ts";
import type { Expression, Operator } from "../tree/expression.ts";
import { type Grouping, grouping, type Matching, matching } from "../tree/grouping.ts";
import { type JsonPath, jsonPath } from "../tree/json-path.ts";
import { type Label, label } from "../tree/label.ts";
import { type Comparison, type Matcher, matcher } from "../tree/matcher.ts";
import { type NumberLiteral, numberLiteral } from "../tree/number-literal.ts";
import { type Rate, rate } from "../tree/rate.ts";
import {
  isSignal,
  type Metric,
  metric,
  metricName,
  type Selector,
  type Signal,
  type SignalName,
  selector,
  signal,
} from "../tree/selector.ts";
import {
  type Condition,
  jsonStage,
  junction,
  type LineSign,
  labelFilter,
  lineStage,
  logfmtStage,
  type Needle,
  needle,
  patternStage,
  regexpStage,
  type Stage,
} from "../tree/stage.ts";
import { plainText, type Text, text } from "../tree/string-literal.ts";
import { type Variable, variable } from "../tree/variable.ts";
import { child, children, firstToken, optionalChild, tokens } from "./cst.ts";
import { type Joint, join } from "./operator-precedence.ts";
import { readText, textPlace } from "./string-literal.ts";

/** Makes the tree of one query out of what the grammar found, and notes where its nodes stand. A method a rule of the grammar. */
export class Visitor {
  readonly #source: Source;
  /** What a selector without a name selects from. */
  readonly #nameless: SignalName;
  #operators = 0;

  constructor(source: Source, nameless: SignalName) {
    this.#source = source;
    this.#nameless = nameless;
  }

  query(found: CstNode): Expression {
    return this.expression(child(found, "expression"));
  }

  expression(found: CstNode): Expression {
    const operands = children(found, "operand").map((operand) => ({
      minuses: tokens(operand, "Minus").length,
      of: this.operand(operand),
    }));
    const joints = children(found, "operator").map((operator) => this.operator(operator));
    this.#operators += joints.length + operands.reduce((sum, { minuses }) => sum + minuses, 0);
    if (this.#operators > operatorsMax) {
      const problem = `a query has at most ${operatorsMax} operators between series`;
      refuse(this.#source, joints.at(-1) ?? { start: 0, end: 1 }, problem);
    }
    return join(operands, joints, (made, joint) => this.#place(made, this.#source.places.get(joint)!));
  }

  operator(found: CstNode): Joint {
    const filtering = optionalChild(found, "filteringOperator");
    const labels = optionalChild(found, "matching");
    const sign = firstToken(filtering ?? found);
    const joint = {
      op: sign.image as Operator,
      bool: filtering !== undefined && tokens(filtering, "Bool").length > 0,
      matching: labels === undefined ? null : this.matching(labels),
    };
    return this.#place(joint, sign);
  }

  matching(found: CstNode): Matching {
    const kind = tokens(found, "On").length > 0 ? "on" : "ignoring";
    return this.#place(matching(kind, this.labels(child(found, "labels"))), firstToken(found));
  }

  operand(found: CstNode): Expression {
    const inBrackets = optionalChild(found, "bracketed");
    if (inBrackets !== undefined) return this.expression(child(inBrackets, "expression"));
    const series = optionalChild(found, "series");
    return series === undefined ? this.parameter(found) : this.series(series);
  }

  /** A number or a variable that stands for one. */
  parameter(found: CstNode): NumberLiteral | Variable {
    const [number] = tokens(found, "Number");
    if (number !== undefined) return this.#place(numberLiteral(number.image), number);
    const [named] = tokens(found, "Variable");
    return this.#place(variable(named!.image.slice(1)), named!);
  }

  series(found: CstNode): Series {
    const [node] = Object.values(found.children).flat() as CstNode[];
    if (node!.name === "aggregate") return this.aggregate(node!);
    if (node!.name === "rate") return this.rate(node!);
    return node!.name === "jsonPath" ? this.jsonPath(node!) : this.selector(node!);
  }

  aggregate(found: CstNode): Aggregate {
    const [sign] = tokens(found, "Aggregation");
    const op = sign!.image as Aggregation;
    const given = optionalChild(found, "parameter");
    const named = optionalChild(found, "label");
    let parameter = given === undefined ? null : this.parameter(given);
    let field = named === undefined ? null : this.label(named);
    if (parameterMeaning[op] === null && parameter?.kind === "variable" && field === null) {
      field = this.#place(label(text([parameter])), firstToken(given!));
      parameter = null;
    }
    this.#checkParameter(op, parameter, sign!);
    return this.#place(
      aggregate({
        op,
        parameter,
        field,
        of: this.series(child(found, "series")),
        grouping: this.#onlyGrouping(found),
      }),
      sign!,
    );
  }

  #checkParameter(op: Aggregation, parameter: NumberLiteral | Variable | null, sign: IToken): void {
    const meaning = parameterMeaning[op];
    if (meaning === null && parameter !== null) refuse(this.#source, parameter, `${op} takes no number`);
    if (meaning !== null && parameter === null)
      refuse(this.#source, tokenSpan(sign), `${op} takes a number first: ${meaning}`);
  }

  #onlyGrouping(found: CstNode): Grouping | null {
    const [first, second] = children(found, "grouping");
    if (second !== undefined) {
      refuse(
        this.#source,
        tokenSpan(firstToken(second)),
        "a grouping stands before the brackets or behind them, not both",
      );
    }
    return first === undefined ? null : this.grouping(first);
  }

  grouping(found: CstNode): Grouping {
    const kind = tokens(found, "By").length > 0 ? "by" : "without";
    return this.#place(grouping(kind, this.labels(child(found, "labels"))), firstToken(found));
  }

  labels(found: CstNode): Label[] {
    return children(found, "label").map((each) => this.label(each));
  }

  rate(found: CstNode): Rate {
    const sign = tokens(found, "Rate")[0]!;
    return this.#place(rate(sign.image as Rate["op"], this.selector(child(found, "selector"))), sign);
  }

  jsonPath(found: CstNode): JsonPath {
    const path = this.#text(tokens(found, "String")[0]!);
    return this.#place(
      jsonPath(path, this.selector(child(found, "selector"))),
      tokens(found, "JsonPath")[0]!,
    );
  }

  selector(found: CstNode): Selector {
    const name = tokens(found, "Name")[0];
    const braces = optionalChild(found, "braces");
    const list = braces && optionalChild(braces, "items");
    const items = list === undefined ? [] : children(list, "item");
    const quotedName = name === undefined ? items[0]?.children.String : undefined;
    const of =
      name === undefined
        ? this.#quotedSource(quotedName?.[0] as IToken | undefined)
        : this.#namedSource(name);
    const matchers = items.slice(quotedName === undefined ? 0 : 1).map((item) => this.item(item));
    const stages = children(found, "stage").map((stage) => this.stage(stage));
    const at = name ?? firstToken(braces!);
    if (stages.length > stagesMax)
      refuse(this.#source, tokenSpan(at), `a selector has at most ${stagesMax} stages`);
    return this.#place(selector(of, matchers, stages), at);
  }

  #namedSource(name: IToken): Signal | Metric {
    if (isSignal(name.image)) return signal(name.image);
    if (metricName.test(name.image)) return metric(plainText(name.image));
    const problem = `\`${name.image}\` is not the name of a metric; leave spaces around - and /, or write {"${name.image}"}`;
    return refuse(this.#source, tokenSpan(name), problem);
  }

  #quotedSource(name: IToken | undefined): Signal | Metric {
    return name === undefined ? signal(this.#nameless) : metric(this.#text(name));
  }

  item(found: CstNode): Matcher {
    const [name] = tokens(found, "String");
    if (name === undefined) return this.matcher(child(found, "matcher"));
    const problem =
      'the name of a metric stands first and only once; expected a comparison behind this label, such as ="…"';
    return refuse(this.#source, tokenSpan(name), problem);
  }

  matcher(found: CstNode): Matcher {
    const named = child(found, "label");
    const sign = firstToken(child(found, "comparison")).image as Comparison;
    return this.#place(
      matcher(this.label(named), sign, this.value(child(found, "value"))),
      firstToken(named),
    );
  }

  label(found: CstNode): Label {
    const token = firstToken(found);
    if (found.children.Name !== undefined) return this.#place(label(plainText(token.image)), token);
    return this.#place(label(this.#text(token)), token);
  }

  value(found: CstNode): Text | NumberLiteral {
    const [number] = tokens(found, "Number");
    if (number === undefined) return this.#text(firstToken(found));
    const [minus] = tokens(found, "Minus");
    if (minus === undefined) return this.#place(numberLiteral(number.image), number);
    return this.#place(numberLiteral(`-${number.image}`), {
      start: tokenSpan(minus).start,
      end: tokenSpan(number).end,
    });
  }

  stage(found: CstNode): Stage {
    const line = optionalChild(found, "lineStage");
    return line === undefined ? this.pipeStage(child(found, "pipeStage")) : this.lineStage(line);
  }

  lineStage(found: CstNode): Stage {
    const needles = children(found, "text").map((each) => this.text(each));
    return lineStage(firstToken(found).image as LineSign, needles);
  }

  text(found: CstNode): Needle {
    const token = firstToken(found);
    return this.#place(needle(this.#text(token), found.children.CaselessString !== undefined), token);
  }

  pipeStage(found: CstNode): Stage {
    if (found.children.Json !== undefined) return jsonStage;
    if (found.children.Logfmt !== undefined) return logfmtStage;
    const pattern = optionalChild(found, "patternStage");
    if (pattern !== undefined) return patternStage(this.#text(tokens(pattern, "String")[0]!));
    const regexp = optionalChild(found, "regexpStage");
    if (regexp !== undefined) return regexpStage(this.#text(tokens(regexp, "String")[0]!));
    return labelFilter(this.labelFilter(child(found, "labelFilter")));
  }

  labelFilter(found: CstNode): Condition {
    return junction(
      "or",
      children(found, "conjunction").map((each) => this.conjunction(each)),
    );
  }

  conjunction(found: CstNode): Condition {
    return junction(
      "and",
      children(found, "condition").map((each) => this.condition(each)),
    );
  }

  condition(found: CstNode): Condition {
    const inner = optionalChild(found, "labelFilter");
    return inner === undefined ? this.matcher(child(found, "matcher")) : this.labelFilter(inner);
  }

  /** The text of a token in quotes or of a variable. */
  #text(token: IToken): Text {
    const { image, startOffset } = token;
    if (image.startsWith("$")) return this.#place(text([variable(image.slice(1))]), token);
    const caseless = image.startsWith("i") ? 1 : 0;
    const [quoted, start] = [image.slice(caseless), startOffset + caseless];
    const node = readText(quoted, start, this.#source);
    this.#source.places.set(node, textPlace(quoted, start, node));
    return node;
  }

  #place<Node extends object>(node: Node, at: IToken | Span): Node {
    this.#source.places.set(node, "image" in at ? tokenSpan(at) : at);
    return node;
  }
}
