import type { CstNode, IToken } from "chevrotain";
import type { RowSignal } from "../../engine/index.ts";
import { operatorsMax, stagesMax } from "../limits.ts";
import type { TextSpan } from "../text/query-error.ts";
import { refuse, type Source } from "../text/source.ts";
import { spanOfToken } from "../text/tokens.ts";
import { type AggregateOperator, parameterDescriptions } from "../tree/aggregate.ts";
import { type Duration, makeDuration } from "../tree/duration.ts";
import {
  type Aggregate,
  type BinaryOperator,
  type Expression,
  makeAggregate,
  makeRangeFunction,
  makeSeriesFunction,
  type RangeFunction,
  type SeriesFunction,
} from "../tree/expression.ts";
import { type Grouping, type Matching, makeGrouping, makeMatching } from "../tree/grouping.ts";
import { type JsonPath, makeJsonPath } from "../tree/json-path.ts";
import { type Label, makeLabel, printField } from "../tree/label.ts";
import { type Matcher, type MatcherOperator, makeMatcher } from "../tree/matcher.ts";
import { makeNumberLiteral, type NumberLiteral } from "../tree/number-literal.ts";
import {
  isRowSignal,
  type MetricSource,
  makeMetricSource,
  makeSelector,
  makeSignalSource,
  type SelectorTimes,
  type SignalSource,
  type Stage,
  type TelemetrySelector,
  unquotedMetricName,
} from "../tree/selector.ts";
import {
  type FormattedLabel,
  joinConditions,
  jsonStage,
  type LabelCondition,
  type LineFilter,
  type LineFilterOperator,
  type LineFilterText,
  logfmtStage,
  makeLabelFilter,
  makeLabelFormat,
  makeLineFilter,
  makeLineFilterText,
  makeLineFormat,
  makePatternStage,
  makeRegexpStage,
} from "../tree/stage.ts";
import { makePlainString, makeStringLiteral, type StringLiteral } from "../tree/string-literal.ts";
import { makeVariable, type Variable } from "../tree/variable.ts";
import { childOf, childrenOf, firstTokenOf, optionalChildOf, tokensOf } from "./concrete-syntax-tree.ts";
import { type InfixOperator, joinOperands } from "./operator-precedence.ts";
import { OrderedVisitor } from "./ordered-visitor.ts";
import { nodeSpanOfString, parseStringLiteral } from "./string-literal.ts";

/** Builds the syntax tree of one query, with a method for each rule of the grammar. Records the spans of the nodes. */
export class TreeVisitor {
  readonly #source: Source;
  /** The signal of a selector without a name. */
  readonly #defaultSignal: RowSignal;
  readonly #ordered: OrderedVisitor;
  #operatorCount = 0;

  constructor(source: Source, defaultSignal: RowSignal) {
    this.#source = source;
    this.#defaultSignal = defaultSignal;
    this.#ordered = new OrderedVisitor(this, source);
  }

  query(cst: CstNode): Expression {
    return this.expression(childOf(cst, "expression"));
  }

  expression(cst: CstNode): Expression {
    const operands = childrenOf(cst, "operand").map((operand) => ({
      minuses: tokensOf(operand, "Minus").length,
      of: this.operand(operand),
    }));
    const operators = childrenOf(cst, "operator").map((operator) => this.operator(operator));
    this.#operatorCount += operators.length + operands.reduce((sum, { minuses }) => sum + minuses, 0);
    if (this.#operatorCount > operatorsMax) {
      const problem = `a query has at most ${operatorsMax} operators between series`;
      refuse(this.#source, operators.at(-1) ?? { start: 0, end: 1 }, problem);
    }
    return joinOperands(operands, operators, (operation, operator) =>
      this.recordSpan(operation, this.#source.spans.get(operator)!),
    );
  }

  operator(cst: CstNode): InfixOperator {
    const filtering = optionalChildOf(cst, "filteringOperator");
    const labels = optionalChildOf(cst, "matching");
    const token = firstTokenOf(filtering ?? cst);
    const operator = {
      op: token.image as BinaryOperator,
      bool: filtering !== undefined && tokensOf(filtering, "Bool").length > 0,
      matching: labels === undefined ? null : this.matching(labels),
    };
    return this.recordSpan(operator, token);
  }

  matching(cst: CstNode): Matching {
    const kind = tokensOf(cst, "On").length > 0 ? "on" : "ignoring";
    return this.recordSpan(makeMatching(kind, this.labels(childOf(cst, "labels"))), firstTokenOf(cst));
  }

  operand(cst: CstNode): Expression {
    const inBrackets = optionalChildOf(cst, "bracketed");
    if (inBrackets !== undefined) return this.expression(childOf(inBrackets, "expression"));
    const series = optionalChildOf(cst, "series");
    return series === undefined ? this.parameter(cst) : this.series(series);
  }

  /** A number, or a variable whose value is a number. */
  parameter(cst: CstNode): NumberLiteral | Variable {
    const [number] = tokensOf(cst, "Number");
    if (number !== undefined) return this.recordSpan(makeNumberLiteral(number.image), number);
    const [name] = tokensOf(cst, "Variable");
    return this.recordSpan(makeVariable(name!.image.slice(1)), name!);
  }

  series(cst: CstNode): Expression {
    const [node] = Object.values(cst.children).flat() as CstNode[];
    if (node!.name === "aggregate") return this.aggregate(node!);
    if (node!.name === "rangeFunction") return this.rangeFunction(node!);
    if (node!.name === "seriesFunction") return this.seriesFunction(node!);
    return node!.name === "jsonPath" ? this.jsonPath(node!) : this.selector(node!);
  }

  aggregate(cst: CstNode): Aggregate {
    const [token] = tokensOf(cst, "Aggregation");
    const op = token!.image as AggregateOperator;
    const number = optionalChildOf(cst, "parameter");
    const label = optionalChildOf(cst, "label");
    let parameter = number === undefined ? null : this.parameter(number);
    let field = label === undefined ? null : this.label(label);
    // The grammar reads the variable of `sum($name, …)` as a number. Where the aggregation takes no number, the
    // variable is the field.
    if (parameterDescriptions[op] === null && parameter?.kind === "variable" && field === null) {
      field = this.recordSpan(makeLabel(makeStringLiteral([parameter])), firstTokenOf(number!));
      parameter = null;
    }
    const of = this.expression(childOf(cst, "expression"));
    if (parameter === null && field !== null && of.kind === "number" && parameterDescriptions[op] !== null) {
      refuse(this.#source, of, `the number stands first: ${op}(${of.text}, ${printField(field)})`);
    }
    this.#checkParameter(op, parameter, token!);
    const grouping = this.#readGrouping(cst);
    return this.recordSpan(makeAggregate({ op, parameter, field, of, grouping }), token!);
  }

  #checkParameter(op: AggregateOperator, parameter: NumberLiteral | Variable | null, token: IToken): void {
    const meaning = parameterDescriptions[op];
    if (meaning === null && parameter !== null) refuse(this.#source, parameter, `${op} takes no number`);
    if (meaning !== null && parameter === null)
      refuse(this.#source, spanOfToken(token), `${op} takes a number first: ${meaning}`);
  }

  #readGrouping(cst: CstNode): Grouping | null {
    const [first, second] = childrenOf(cst, "grouping");
    if (second !== undefined) {
      const problem = "a grouping stands before the brackets or after them, not both";
      refuse(this.#source, spanOfToken(firstTokenOf(second)), problem);
    }
    return first === undefined ? null : this.grouping(first);
  }

  grouping(cst: CstNode): Grouping {
    const kind = tokensOf(cst, "By").length > 0 ? "by" : "without";
    return this.recordSpan(makeGrouping(kind, this.labels(childOf(cst, "labels"))), firstTokenOf(cst));
  }

  labels(cst: CstNode): Label[] {
    return childrenOf(cst, "label").map((each) => this.label(each));
  }

  rangeFunction(cst: CstNode): RangeFunction {
    const token = tokensOf(cst, "RangeFunction")[0]!;
    const op = token.image as RangeFunction["op"];
    const selector = this.selector(childOf(cst, "selector"));
    return this.recordSpan(makeRangeFunction(op, selector, this.#readRangeParameter(cst, token)), token);
  }

  /** The number before or after the selector of a function over time. Throws a QueryError where it takes none. */
  #readRangeParameter(cst: CstNode, token: IToken): Expression | null {
    const [before, behind] = [optionalChildOf(cst, "parameter"), optionalChildOf(cst, "expression")];
    const first = before === undefined ? null : this.parameter(before);
    const last = behind === undefined ? null : this.expression(behind);
    const { image: op } = token;
    const isFirst = op === "quantile_over_time";
    const isLast = op === "predict_linear";
    if (isFirst && first === null) {
      const problem = `${op} takes a number first: which quantile, such as 0.99`;
      refuse(this.#source, last ?? spanOfToken(token), problem);
    }
    if (isLast && last === null) {
      const problem = `${op} takes seconds after the metric: ${op}(x[1h], 4 * 3600)`;
      refuse(this.#source, first ?? spanOfToken(token), problem);
    }
    const extra = (isFirst ? null : first) ?? (isLast ? null : last);
    if (extra !== null) refuse(this.#source, extra, `${op} takes no number here`);
    return first ?? last;
  }

  seriesFunction(cst: CstNode): SeriesFunction {
    const token = tokensOf(cst, "SeriesFunction")[0]!;
    const args = childrenOf(cst, "argument").map((each) => this.argument(each));
    return this.recordSpan(makeSeriesFunction(token.image as SeriesFunction["op"], args), token);
  }

  argument(cst: CstNode): Expression | StringLiteral {
    const [text] = tokensOf(cst, "String");
    return text === undefined ? this.expression(childOf(cst, "expression")) : this.#readString(text);
  }

  jsonPath(cst: CstNode): JsonPath {
    const path = this.#readString(tokensOf(cst, "String")[0]!);
    const node = makeJsonPath(path, this.selector(childOf(cst, "selector")));
    return this.recordSpan(node, tokensOf(cst, "JsonPath")[0]!);
  }

  selector(cst: CstNode): TelemetrySelector {
    const name = tokensOf(cst, "Name")[0];
    const braces = optionalChildOf(cst, "braces");
    const list = braces && optionalChildOf(braces, "items");
    const items = list === undefined ? [] : childrenOf(list, "item");
    const quotedName = name === undefined ? items[0]?.children.String : undefined;
    const of =
      name === undefined
        ? this.#makeQuotedSource(quotedName?.[0] as IToken | undefined)
        : this.#makeNamedSource(name);
    const matchers = items.slice(quotedName === undefined ? 0 : 1).map((item) => this.item(item));
    const stages = childrenOf(cst, "stage").map((stage) => this.stage(stage));
    const at = name ?? firstTokenOf(braces!);
    if (stages.length > stagesMax)
      refuse(this.#source, spanOfToken(at), `a selector has at most ${stagesMax} stages`);
    return this.recordSpan(makeSelector(of, matchers, stages, this.#readTimes(cst)), at);
  }

  #readTimes(cst: CstNode): SelectorTimes {
    const [window, offset] = [optionalChildOf(cst, "window"), optionalChildOf(cst, "offset")];
    return {
      ...(window === undefined ? {} : { window: this.duration(childOf(window, "duration")) }),
      ...(offset === undefined ? {} : { offset: this.duration(childOf(offset, "duration")) }),
    };
  }

  duration(cst: CstNode): Duration | Variable {
    return this.durationOf(firstTokenOf(cst));
  }

  durationOf(token: IToken): Duration | Variable {
    const isVariable = token.image.startsWith("$");
    const node = isVariable ? makeVariable(token.image.slice(1)) : makeDuration(token.image);
    return this.recordSpan(node, token);
  }

  #makeNamedSource(name: IToken): SignalSource | MetricSource {
    if (isRowSignal(name.image)) return makeSignalSource(name.image);
    if (unquotedMetricName.test(name.image)) return makeMetricSource(makePlainString(name.image));
    const problem = `\`${name.image}\` is not the name of a metric; leave spaces around - and /, or write {"${name.image}"}`;
    return refuse(this.#source, spanOfToken(name), problem);
  }

  #makeQuotedSource(name: IToken | undefined): SignalSource | MetricSource {
    return name === undefined
      ? makeSignalSource(this.#defaultSignal)
      : makeMetricSource(this.#readString(name));
  }

  item(cst: CstNode): Matcher {
    const [name] = tokensOf(cst, "String");
    if (name === undefined) return this.matcher(childOf(cst, "matcher"));
    const problem =
      'the name of a metric stands first and only once; expected a comparison after this label, such as ="…"';
    return refuse(this.#source, spanOfToken(name), problem);
  }

  matcher(cst: CstNode): Matcher {
    const label = childOf(cst, "label");
    const operator = firstTokenOf(childOf(cst, "comparison")).image as MatcherOperator;
    const node = makeMatcher(this.label(label), operator, this.value(childOf(cst, "value")));
    return this.recordSpan(node, firstTokenOf(label));
  }

  label(cst: CstNode): Label {
    const token = firstTokenOf(cst);
    if (cst.children.Name !== undefined)
      return this.recordSpan(makeLabel(makePlainString(token.image)), token);
    return this.recordSpan(makeLabel(this.#readString(token)), token);
  }

  value(cst: CstNode): StringLiteral | NumberLiteral {
    const number = tokensOf(cst, "Number")[0] ?? tokensOf(cst, "Quantity")[0];
    if (number === undefined) return this.#readString(firstTokenOf(cst));
    const [minus] = tokensOf(cst, "Minus");
    if (minus === undefined) return this.recordSpan(makeNumberLiteral(number.image), number);
    return this.recordSpan(makeNumberLiteral(`-${number.image}`), {
      start: spanOfToken(minus).start,
      end: spanOfToken(number).end,
    });
  }

  stage(cst: CstNode): Stage {
    const line = optionalChildOf(cst, "lineFilter");
    return line === undefined ? this.pipeStage(childOf(cst, "pipeStage")) : this.lineFilter(line);
  }

  lineFilter(cst: CstNode): LineFilter {
    const texts = childrenOf(cst, "text").map((each) => this.text(each));
    return makeLineFilter(firstTokenOf(cst).image as LineFilterOperator, texts);
  }

  text(cst: CstNode): LineFilterText {
    const token = firstTokenOf(cst);
    const ignoreCase = cst.children.CaselessString !== undefined;
    return this.recordSpan(makeLineFilterText(this.#readString(token), ignoreCase), token);
  }

  pipeStage(cst: CstNode): Stage {
    const ordered = optionalChildOf(cst, "orderedStage");
    if (ordered !== undefined) return this.#ordered.stage(ordered);
    if (cst.children.Json !== undefined) return jsonStage;
    if (cst.children.Logfmt !== undefined) return logfmtStage;
    const pattern = optionalChildOf(cst, "patternStage");
    if (pattern !== undefined) return makePatternStage(this.#readString(tokensOf(pattern, "String")[0]!));
    const regexp = optionalChildOf(cst, "regexpStage");
    if (regexp !== undefined) return makeRegexpStage(this.#readString(tokensOf(regexp, "String")[0]!));
    const line = optionalChildOf(cst, "lineFormat");
    if (line !== undefined) return makeLineFormat(this.#readString(tokensOf(line, "String")[0]!));
    const labels = optionalChildOf(cst, "labelFormat");
    if (labels !== undefined)
      return makeLabelFormat(childrenOf(labels, "formattedLabel").map((each) => this.formattedLabel(each)));
    return makeLabelFilter(this.labelFilter(childOf(cst, "labelFilter")));
  }

  formattedLabel(cst: CstNode): FormattedLabel {
    const label = this.label(childOf(cst, "label"));
    const [name] = tokensOf(cst, "Name");
    const from =
      name === undefined
        ? this.#readString(tokensOf(cst, "String")[0]!)
        : this.recordSpan(makeLabel(makePlainString(name.image)), name);
    return { label, from };
  }

  labelFilter(cst: CstNode): LabelCondition {
    const parts = childrenOf(cst, "conjunction").map((each) => this.conjunction(each));
    return joinConditions("or", parts);
  }

  conjunction(cst: CstNode): LabelCondition {
    const parts = childrenOf(cst, "condition").map((each) => this.condition(each));
    return joinConditions("and", parts);
  }

  condition(cst: CstNode): LabelCondition {
    const inner = optionalChildOf(cst, "labelFilter");
    return inner === undefined ? this.matcher(childOf(cst, "matcher")) : this.labelFilter(inner);
  }

  /** The string literal of a token in quotes, or of a variable. */
  #readString(token: IToken): StringLiteral {
    const { image, startOffset } = token;
    if (image.startsWith("$"))
      return this.recordSpan(makeStringLiteral([makeVariable(image.slice(1))]), token);
    // A text that ignores case is written i"…".
    const prefixLength = image.startsWith("i") ? 1 : 0;
    const [quoted, start] = [image.slice(prefixLength), startOffset + prefixLength];
    const node = parseStringLiteral(quoted, start, this.#source);
    this.#source.spans.set(node, nodeSpanOfString(quoted, start, node));
    return node;
  }

  recordSpan<Node extends object>(node: Node, at: IToken | TextSpan): Node {
    this.#source.spans.set(node, "image" in at ? spanOfToken(at) : at);
    return node;
  }
}
