import type { RowSignal } from "../../engine/index.ts";
import { aggregations, rateFunctions, rowSignals, seriesKeywords } from "../text/keywords.ts";
import { type Matcher, printMatcher } from "./matcher.ts";
import { printStage, type Stage } from "./stage.ts";
import { printStringLiteral, type StringLiteral } from "./string-literal.ts";

/** `logs{…} | …`: rows of a signal or series of a metric, narrowed by matchers and then stage by stage. */
export interface TelemetrySelector {
  readonly kind: "selector";
  readonly of: SignalSource | MetricSource;
  readonly matchers: readonly Matcher[];
  readonly stages: readonly Stage[];
}

/** `logs`, `traces` and so on. `{…}` without a name is `logs`. */
export interface SignalSource {
  readonly kind: "signal";
  readonly name: RowSignal;
}

/** Any other name, or a text in quotes in first place of the braces. */
export interface MetricSource {
  readonly kind: "metric";
  readonly name: StringLiteral;
}

export function makeSelector(
  of: SignalSource | MetricSource,
  matchers: readonly Matcher[],
  stages: readonly Stage[],
): TelemetrySelector {
  return Object.freeze({
    kind: "selector",
    of,
    matchers: Object.freeze([...matchers]),
    stages: Object.freeze([...stages]),
  });
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
const functionNames = [...aggregations, ...rateFunctions, "json_path"];
const reservedNames = new Set<string>([...rowSignals, ...seriesKeywords, ...functionNames]);

export function printSelector(node: TelemetrySelector): string {
  return [printSource(node), ...node.stages.map(printStage)].join(" ");
}

function printSource(node: TelemetrySelector): string {
  const matchers = node.matchers.map(printMatcher);
  const name = node.of.kind === "signal" ? node.of.name : toUnquotedMetricName(node.of.name);
  if (name === undefined)
    return `{${[printStringLiteral((node.of as MetricSource).name), ...matchers].join(", ")}}`;
  return matchers.length === 0 ? name : `${name}{${matchers.join(", ")}}`;
}

/** The name of a metric where it can stand before the braces. */
function toUnquotedMetricName(name: StringLiteral): string | undefined {
  const [only, ...more] = name.parts;
  if (only?.kind !== "characters" || more.length > 0) return undefined;
  return unquotedMetricName.test(only.text) && !reservedNames.has(only.text) ? only.text : undefined;
}
