import type { RowSignal } from "../../engine/index.ts";
import { functionNames, rowSignals, seriesKeywords } from "../text/keywords.ts";
import { type Duration, printDuration } from "./duration.ts";
import { type Label, printLabel } from "./label.ts";
import { type Matcher, printMatcher } from "./matcher.ts";
import { type GroupStage, printGroupStage, printWithin, type RowGroups } from "./ordered-stage.ts";
import { printRowStage, type RowStage } from "./stage.ts";
import { printStringLiteral, type StringLiteral } from "./string-literal.ts";
import type { Variable } from "./variable.ts";

/**
 * `logs{…} | … [5m] offset 1d`: the rows of a signal, or the series of a metric, that pass all matchers and then all
 * stages.
 */
export interface TelemetrySelector {
  readonly kind: "selector";
  readonly of: SignalSource | MetricSource;
  readonly matchers: readonly Matcher[];
  readonly stages: readonly Stage[];
  /** The length of time before the end of each bucket that is looked at. Absent: the bucket. */
  readonly window?: Duration | Variable;
  /** How much earlier than the bucket. Absent: not at all. */
  readonly offset?: Duration | Variable;
}

/** The times of a selector that are not those of the bucket. */
export type SelectorTimes = Pick<TelemetrySelector, "window" | "offset">;

/** What follows the braces of a selector. */
export type Stage = RowStage | OrderedStage;

/** A stage that looks at other rows than the one that it decides on: those of its group, or those of another selector. */
export type OrderedStage = GroupStage | JoinStage;

/** Labels of the two sides of a join that must be equal. */
export interface JoinedLabels {
  readonly left: Label;
  readonly right: Label;
}

/**
 * `| join (traces{…}) on (trace_id)`: rows for which there is a row of another selector; with `unless`, for which there
 * is none.
 */
export interface JoinStage {
  readonly kind: "join";
  readonly isUnless: boolean;
  readonly of: TelemetrySelector;
  readonly on: readonly JoinedLabels[];
  readonly within: RowGroups["within"];
}

/**
 * A signal: `logs`, `traces`, `kubernetes_resources` or `profiles`. `{…}` without a name is `logs`, or the default
 * signal that the parser is given.
 */
export interface SignalSource {
  readonly kind: "signal";
  readonly name: RowSignal;
}

/** A metric: any name that is not the name of a signal, or a string literal at the first place in the braces. */
export interface MetricSource {
  readonly kind: "metric";
  readonly name: StringLiteral;
}

export function makeSelector(
  of: SignalSource | MetricSource,
  matchers: readonly Matcher[],
  stages: readonly Stage[],
  times: SelectorTimes = {},
): TelemetrySelector {
  return Object.freeze({
    kind: "selector",
    of,
    matchers: Object.freeze([...matchers]),
    stages: Object.freeze([...stages]),
    ...times,
  });
}

export function timesOf({ window, offset }: TelemetrySelector): SelectorTimes {
  return { ...(window === undefined ? {} : { window }), ...(offset === undefined ? {} : { offset }) };
}

export function makeSignalSource(name: RowSignal): SignalSource {
  return Object.freeze({ kind: "signal", name });
}

export function makeMetricSource(name: StringLiteral): MetricSource {
  return Object.freeze({ kind: "metric", name });
}

export function isRowSignal(name: string): name is RowSignal {
  return (rowSignals as readonly string[]).includes(name);
}

export const unquotedMetricName = /^[A-Za-z_:][A-Za-z0-9_:.]*$/;
const reservedNames = new Set<string>([...rowSignals, ...seriesKeywords, ...functionNames]);

export function printSelector(node: TelemetrySelector): string {
  const { window, offset } = node;
  const times = [
    window === undefined ? [] : [`[${printDuration(window)}]`],
    offset === undefined ? [] : [`offset ${printDuration(offset)}`],
  ];
  return [printSource(node), ...node.stages.map(printStage), ...times.flat()].join(" ");
}

function printStage(node: Stage): string {
  if (node.kind === "join") return printJoin(node);
  return isOrderedStage(node) ? printGroupStage(node) : printRowStage(node);
}

function printJoin({ isUnless, of, on, within }: JoinStage): string {
  const labels = on.map(printJoinedLabels).join(", ");
  return `| ${isUnless ? "unless" : "join"} (${printSelector(of)}) on (${labels})${printWithin(within)}`;
}

function printJoinedLabels({ left, right }: JoinedLabels): string {
  const [a, b] = [printLabel(left), printLabel(right)];
  return a === b ? a : `${a} = ${b}`;
}

/** Returns whether a stage looks at other rows than the one that it decides on. */
export function isOrderedStage(node: Stage): node is OrderedStage {
  return node.kind === "assign" || node.kind === "keep" || node.kind === "sequence" || node.kind === "join";
}

function printSource(node: TelemetrySelector): string {
  const matchers = node.matchers.map(printMatcher);
  const name = node.of.kind === "signal" ? node.of.name : toUnquotedMetricName(node.of.name);
  if (name === undefined)
    return `{${[printStringLiteral((node.of as MetricSource).name), ...matchers].join(", ")}}`;
  return matchers.length === 0 ? name : `${name}{${matchers.join(", ")}}`;
}

/** The name of a metric if it can be written before the braces; undefined where it must be quoted within them. */
function toUnquotedMetricName(name: StringLiteral): string | undefined {
  const [only, ...more] = name.parts;
  if (only?.kind !== "characters" || more.length > 0) return undefined;
  return unquotedMetricName.test(only.text) && !reservedNames.has(only.text) ? only.text : undefined;
}
