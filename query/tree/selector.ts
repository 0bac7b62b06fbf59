import { aggregations, connectives, rates, signals } from "../text/keywords.ts";
import { type Matcher, printMatcher } from "./matcher.ts";
import { printStage, type Stage } from "./stage.ts";
import { printText, type Text } from "./string-literal.ts";

export type SignalName = (typeof signals)[number];

/** `logs{…} | …`: rows of a signal or series of a metric, narrowed by matchers and then stage by stage. */
export interface Selector {
  readonly kind: "selector";
  readonly of: Signal | Metric;
  readonly matchers: readonly Matcher[];
  readonly stages: readonly Stage[];
}

/** `logs`, `traces` and so on. `{…}` without a name is `logs`. */
export interface Signal {
  readonly kind: "signal";
  readonly name: SignalName;
}

/** Any other name, or a text in quotes in first place of the braces. */
export interface Metric {
  readonly kind: "metric";
  readonly name: Text;
}

export function selector(
  of: Signal | Metric,
  matchers: readonly Matcher[],
  stages: readonly Stage[],
): Selector {
  return Object.freeze({
    kind: "selector",
    of,
    matchers: Object.freeze([...matchers]),
    stages: Object.freeze([...stages]),
  });
}

export function signal(name: SignalName): Signal {
  return Object.freeze({ kind: "signal", name });
}

export function metric(name: Text): Metric {
  return Object.freeze({ kind: "metric", name });
}

export function isSignal(name: string): name is SignalName {
  return (signals as readonly string[]).includes(name);
}

export const metricName = /^[A-Za-z_:][A-Za-z0-9_:.]*$/;
const functionNames = [...aggregations, ...rates, "json_path"];
const taken = new Set<string>([...signals, ...connectives, ...functionNames]);

export function printSelector(node: Selector): string {
  return [printSource(node), ...node.stages.map(printStage)].join(" ");
}

function printSource(node: Selector): string {
  const matchers = node.matchers.map(printMatcher);
  const name = node.of.kind === "signal" ? node.of.name : bareMetricName(node.of.name);
  if (name === undefined) return `{${[printText((node.of as Metric).name), ...matchers].join(", ")}}`;
  return matchers.length === 0 ? name : `${name}{${matchers.join(", ")}}`;
}

/** The name of a metric where it can stand before the braces. */
function bareMetricName(name: Text): string | undefined {
  const [only, ...more] = name.parts;
  if (only?.kind !== "characters" || more.length > 0) return undefined;
  return metricName.test(only.text) && !taken.has(only.text) ? only.text : undefined;
}
