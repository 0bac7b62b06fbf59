import type { CstNode, IToken } from "chevrotain";
import type { RowSignal } from "../../engine/index.ts";
import { operatorsMax, stagesMax } from "../limits.ts";
import type { TextSpan } from "../text/query-error.ts";
import { refuse, type Source } from "../text/source.ts";
import { spanOfToken } from "../text/tokens.ts";
import {
  type Aggregate,
  type AggregateOperator,
  makeAggregate,
  parameterDescriptions,
  type SeriesExpression,
} from "../tree/aggregate.ts";
import type { BinaryOperator, Expression } from "../tree/expression.ts";
import { type Grouping, type Matching, makeGrouping, makeMatching } from "../tree/grouping.ts";
import { type JsonPath, makeJsonPath } from "../tree/json-path.ts";
import { type Label, makeLabel } from "../tree/label.ts";
import { type Matcher, type MatcherOperator, makeMatcher } from "../tree/matcher.ts";
import { makeNumberLiteral, type NumberLiteral } from "../tree/number-literal.ts";
import { makeRate, type Rate } from "../tree/rate.ts";
import {
  isRowSignal,
  type MetricSource,
  makeMetricSource,
  makeSelector,
  makeSignalSource,
  type SignalSource,
  type TelemetrySelector,
  unquotedMetricName,
} from "../tree/selector.ts";
import {
  joinConditions,
  jsonStage,
  type LabelCondition,
  type LineFilterOperator,
  type LineFilterText,
  logfmtStage,
  makeLabelFilter,
  makeLineFilter,
  makeLineFilterText,
  makePatternStage,
  makeRegexpStage,
  type Stage,
} from "../tree/stage.ts";
import { makePlainString, makeStringLiteral, type StringLiteral } from "../tree/string-literal.ts";
import { makeVariable, type Variable } from "../tree/variable.ts";
import { childOf, childrenOf, firstTokenOf, optionalChildOf, tokensOf } from "./cst.ts";
import { type InfixOperator, joinOperands } from "./operator-precedence.ts";
import { nodeSpanOfString, parseStringLiteral } from "./string-literal.ts";

/** Makes the tree of one query out of what the grammar found, and notes where its nodes stand. A method a rule of the grammar. */
export class TreeVisitor {
  readonly #source: Source;
  /** What a selector without a name selects from. */
  readonly #nameless: RowSignal;
  #operators = 0;

  constructor(source: Source, nameless: RowSignal) {
    this.#source = source;
    this.#nameless = nameless;
  }

  query(found: CstNode): Expression {
    return this.expression(childOf(found, "expression"));
  }

  expression(found: CstNode): Expression {
    const operands = childrenOf(found, "operand").map((operand) => ({
      minuses: tokensOf(operand, "Minus").length,
      of: this.operand(operand),
    }));
    const joints = childrenOf(found, "operator").map((operator) => this.operator(operator));
    this.#operators += joints.length + operands.reduce((sum, { minuses }) => sum + minuses, 0);
    if (this.#operators > operatorsMax) {
      const problem = `a query has at most ${operatorsMax} operators between series`;
      refuse(this.#source, joints.at(-1) ?? { start: 0, end: 1 }, problem);
    }
    return joinOperands(operands, joints, (made, joint) => this.#place(made, this.#source.spans.get(joint)!));
  }

  operator(found: CstNode): InfixOperator {
    const filtering = optionalChildOf(found, "filteringOperator");
    const labels = optionalChildOf(found, "matching");
    const sign = firstTokenOf(filtering ?? found);
    const joint = {
      op: sign.image as BinaryOperator,
      bool: filtering !== undefined && tokensOf(filtering, "Bool").length > 0,
      matching: labels === undefined ? null : this.matching(labels),
    };
    return this.#place(joint, sign);
  }

  matching(found: CstNode): Matching {
    const kind = tokensOf(found, "On").length > 0 ? "on" : "ignoring";
    return this.#place(makeMatching(kind, this.labels(childOf(found, "labels"))), firstTokenOf(found));
  }

  operand(found: CstNode): Expression {
    const inBrackets = optionalChildOf(found, "bracketed");
    if (inBrackets !== undefined) return this.expression(childOf(inBrackets, "expression"));
    const series = optionalChildOf(found, "series");
    return series === undefined ? this.parameter(found) : this.series(series);
  }

  /** A number or a variable that stands for one. */
  parameter(found: CstNode): NumberLiteral | Variable {
    const [number] = tokensOf(found, "Number");
    if (number !== undefined) return this.#place(makeNumberLiteral(number.image), number);
    const [named] = tokensOf(found, "Variable");
    return this.#place(makeVariable(named!.image.slice(1)), named!);
  }

  series(found: CstNode): SeriesExpression {
    const [node] = Object.values(found.children).flat() as CstNode[];
    if (node!.name === "aggregate") return this.aggregate(node!);
    if (node!.name === "rate") return this.rate(node!);
    return node!.name === "jsonPath" ? this.jsonPath(node!) : this.selector(node!);
  }

  aggregate(found: CstNode): Aggregate {
    const [sign] = tokensOf(found, "Aggregation");
    const op = sign!.image as AggregateOperator;
    const given = optionalChildOf(found, "parameter");
    const named = optionalChildOf(found, "label");
    let parameter = given === undefined ? null : this.parameter(given);
    let field = named === undefined ? null : this.label(named);
    if (parameterDescriptions[op] === null && parameter?.kind === "variable" && field === null) {
      field = this.#place(makeLabel(makeStringLiteral([parameter])), firstTokenOf(given!));
      parameter = null;
    }
    this.#checkParameter(op, parameter, sign!);
    return this.#place(
      makeAggregate({
        op,
        parameter,
        field,
        of: this.series(childOf(found, "series")),
        grouping: this.#onlyGrouping(found),
      }),
      sign!,
    );
  }

  #checkParameter(op: AggregateOperator, parameter: NumberLiteral | Variable | null, sign: IToken): void {
    const meaning = parameterDescriptions[op];
    if (meaning === null && parameter !== null) refuse(this.#source, parameter, `${op} takes no number`);
    if (meaning !== null && parameter === null)
      refuse(this.#source, spanOfToken(sign), `${op} takes a number first: ${meaning}`);
  }

  #onlyGrouping(found: CstNode): Grouping | null {
    const [first, second] = childrenOf(found, "grouping");
    if (second !== undefined) {
      refuse(
        this.#source,
        spanOfToken(firstTokenOf(second)),
        "a grouping stands before the brackets or behind them, not both",
      );
    }
    return first === undefined ? null : this.grouping(first);
  }

  grouping(found: CstNode): Grouping {
    const kind = tokensOf(found, "By").length > 0 ? "by" : "without";
    return this.#place(makeGrouping(kind, this.labels(childOf(found, "labels"))), firstTokenOf(found));
  }

  labels(found: CstNode): Label[] {
    return childrenOf(found, "label").map((each) => this.label(each));
  }

  rate(found: CstNode): Rate {
    const sign = tokensOf(found, "Rate")[0]!;
    return this.#place(makeRate(sign.image as Rate["op"], this.selector(childOf(found, "selector"))), sign);
  }

  jsonPath(found: CstNode): JsonPath {
    const path = this.#text(tokensOf(found, "String")[0]!);
    return this.#place(
      makeJsonPath(path, this.selector(childOf(found, "selector"))),
      tokensOf(found, "JsonPath")[0]!,
    );
  }

  selector(found: CstNode): TelemetrySelector {
    const name = tokensOf(found, "Name")[0];
    const braces = optionalChildOf(found, "braces");
    const list = braces && optionalChildOf(braces, "items");
    const items = list === undefined ? [] : childrenOf(list, "item");
    const quotedName = name === undefined ? items[0]?.children.String : undefined;
    const of =
      name === undefined
        ? this.#quotedSource(quotedName?.[0] as IToken | undefined)
        : this.#namedSource(name);
    const matchers = items.slice(quotedName === undefined ? 0 : 1).map((item) => this.item(item));
    const stages = childrenOf(found, "stage").map((stage) => this.stage(stage));
    const at = name ?? firstTokenOf(braces!);
    if (stages.length > stagesMax)
      refuse(this.#source, spanOfToken(at), `a selector has at most ${stagesMax} stages`);
    return this.#place(makeSelector(of, matchers, stages), at);
  }

  #namedSource(name: IToken): SignalSource | MetricSource {
    if (isRowSignal(name.image)) return makeSignalSource(name.image);
    if (unquotedMetricName.test(name.image)) return makeMetricSource(makePlainString(name.image));
    const problem = `\`${name.image}\` is not the name of a metric; leave spaces around - and /, or write {"${name.image}"}`;
    return refuse(this.#source, spanOfToken(name), problem);
  }

  #quotedSource(name: IToken | undefined): SignalSource | MetricSource {
    return name === undefined ? makeSignalSource(this.#nameless) : makeMetricSource(this.#text(name));
  }

  item(found: CstNode): Matcher {
    const [name] = tokensOf(found, "String");
    if (name === undefined) return this.matcher(childOf(found, "matcher"));
    const problem =
      'the name of a metric stands first and only once; expected a comparison behind this label, such as ="…"';
    return refuse(this.#source, spanOfToken(name), problem);
  }

  matcher(found: CstNode): Matcher {
    const named = childOf(found, "label");
    const sign = firstTokenOf(childOf(found, "comparison")).image as MatcherOperator;
    return this.#place(
      makeMatcher(this.label(named), sign, this.value(childOf(found, "value"))),
      firstTokenOf(named),
    );
  }

  label(found: CstNode): Label {
    const token = firstTokenOf(found);
    if (found.children.Name !== undefined) return this.#place(makeLabel(makePlainString(token.image)), token);
    return this.#place(makeLabel(this.#text(token)), token);
  }

  value(found: CstNode): StringLiteral | NumberLiteral {
    const [number] = tokensOf(found, "Number");
    if (number === undefined) return this.#text(firstTokenOf(found));
    const [minus] = tokensOf(found, "Minus");
    if (minus === undefined) return this.#place(makeNumberLiteral(number.image), number);
    return this.#place(makeNumberLiteral(`-${number.image}`), {
      start: spanOfToken(minus).start,
      end: spanOfToken(number).end,
    });
  }

  stage(found: CstNode): Stage {
    const line = optionalChildOf(found, "lineStage");
    return line === undefined ? this.pipeStage(childOf(found, "pipeStage")) : this.lineStage(line);
  }

  lineStage(found: CstNode): Stage {
    const needles = childrenOf(found, "text").map((each) => this.text(each));
    return makeLineFilter(firstTokenOf(found).image as LineFilterOperator, needles);
  }

  text(found: CstNode): LineFilterText {
    const token = firstTokenOf(found);
    return this.#place(
      makeLineFilterText(this.#text(token), found.children.CaselessString !== undefined),
      token,
    );
  }

  pipeStage(found: CstNode): Stage {
    if (found.children.Json !== undefined) return jsonStage;
    if (found.children.Logfmt !== undefined) return logfmtStage;
    const pattern = optionalChildOf(found, "patternStage");
    if (pattern !== undefined) return makePatternStage(this.#text(tokensOf(pattern, "String")[0]!));
    const regexp = optionalChildOf(found, "regexpStage");
    if (regexp !== undefined) return makeRegexpStage(this.#text(tokensOf(regexp, "String")[0]!));
    return makeLabelFilter(this.labelFilter(childOf(found, "labelFilter")));
  }

  labelFilter(found: CstNode): LabelCondition {
    return joinConditions(
      "or",
      childrenOf(found, "conjunction").map((each) => this.conjunction(each)),
    );
  }

  conjunction(found: CstNode): LabelCondition {
    return joinConditions(
      "and",
      childrenOf(found, "condition").map((each) => this.condition(each)),
    );
  }

  condition(found: CstNode): LabelCondition {
    const inner = optionalChildOf(found, "labelFilter");
    return inner === undefined ? this.matcher(childOf(found, "matcher")) : this.labelFilter(inner);
  }

  /** The text of a token in quotes or of a variable. */
  #text(token: IToken): StringLiteral {
    const { image, startOffset } = token;
    if (image.startsWith("$")) return this.#place(makeStringLiteral([makeVariable(image.slice(1))]), token);
    const caseless = image.startsWith("i") ? 1 : 0;
    const [quoted, start] = [image.slice(caseless), startOffset + caseless];
    const node = parseStringLiteral(quoted, start, this.#source);
    this.#source.spans.set(node, nodeSpanOfString(quoted, start, node));
    return node;
  }

  #place<Node extends object>(node: Node, at: IToken | TextSpan): Node {
    this.#source.spans.set(node, "image" in at ? spanOfToken(at) : at);
    return node;
  }
}
