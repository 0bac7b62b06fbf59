import type { RowSignal } from "../../engine/index.ts";
import { functionNames, rowSignals, seriesKeywords } from "../text/keywords.ts";
import { type Duration, printDuration } from "./duration.ts";
import { type Matcher, printMatcher } from "./matcher.ts";
import { printStage, type Stage } from "./stage.ts";
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
