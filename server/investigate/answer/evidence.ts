/** Evidence as sentences, each with the query that shows it. */

import type { BehaviourChange } from "../analysis/behaviour.ts";
import type { Drop } from "../analysis/drops.ts";
import type { LatencyChange } from "../analysis/latency.ts";
import type { LineChange } from "../analysis/lines.ts";
import type { MetricChange } from "../analysis/metric-changes.ts";
import type { Suspect } from "../analysis/suspects.ts";
import { quote } from "../query-text.ts";
import { nameMs, nameOperation, nameService, nameShare } from "./wording.ts";

/** Evidence without its number, and without what its query finds. */
export interface Evidence {
  sentence: string;
  /** svcQL that finds the rows, or draws the series, that the sentence is about. */
  query: string;
  /** When it began, Unix milliseconds, where that is known. */
  at?: number;
  /** Whether the oldest row that the query finds in the window is its begin: such rows are not usual. */
  isNew?: boolean;
}

/** Sentences of each sort about one suspect. */
const ofSortMax = 3;
/** What was so rare before is new. */
const rareShare = 0.02;

/** What speaks for a suspect, the strongest of each sort first. */
export function describeSuspect({ behaviour, latency, lines, drop, metrics, changes }: Suspect): Evidence[] {
  return [
    ...changes.slice(0, ofSortMax).map(({ sentence, query, atMs }) => ({ sentence, query, at: atMs })),
    ...(behaviour?.changes.slice(0, ofSortMax).toSorted(byMessage).map(describeBehaviour) ?? []),
    ...(latency?.changes.slice(0, ofSortMax).map(describeLatency) ?? []),
    ...(lines?.changes.slice(0, ofSortMax).map(describeLines) ?? []),
    ...(drop === undefined ? [] : [describeDrop(drop)]),
    ...metrics.slice(0, ofSortMax).map(describeMetric),
  ];
}

/** An error says more than what follows from it. */
const byMessage = (a: BehaviourChange, b: BehaviourChange) =>
  Number(b.feature.kind === "error log") - Number(a.feature.kind === "error log");

function describeBehaviour(change: BehaviourChange): Evidence {
  const isNew = change.usual <= rareShare && change.share > change.usual;
  return { ...stateBehaviour(change), ...(isNew ? { isNew } : {}) };
}

function stateBehaviour({ service, caller, operation, feature, share, usual }: BehaviourChange): Evidence {
  const calls = `${nameShare(share)} of the calls of ${nameOperation(operation)}${caller === "" ? "" : ` by ${nameService(caller)}`}`;
  const before = `, where ${nameShare(usual)} is usual`;
  const within = (filter: string) => `traces{service.name=${quote(service)}, ${filter}}`;
  const logs = (template: string) =>
    `logs{service.name=${quote(service)}${template === "" ? "" : `, template=${quote(template)}`}}`;
  switch (feature.kind) {
    case "error log":
      return { sentence: `${calls} log the error ${feature.what}${before}`, query: logs(feature.what) };
    case "error span":
      return {
        sentence: `${calls} have the failed span ${nameOperation(feature.what)}${before}`,
        query: within(`name=${quote(feature.what)}`),
      };
    case "no answer":
      return {
        sentence: `${calls} get no answer${before}`,
        query: `traces{service.name=${quote(caller)}, name=${quote(feature.what)}, status_code="error"}`,
      };
    case "span":
      return {
        sentence: `${calls} have the span ${nameOperation(feature.what)}${before}`,
        query: within(`name=${quote(feature.what)}`),
      };
    case "call": {
      const [called = "", ...name] = feature.what.split(" ");
      return {
        sentence: `${calls} call ${nameOperation(name.join(" "))} of ${nameService(called)}${before}`,
        query: `traces{service.name=${quote(called)}, name=${quote(name.join(" "))}}`,
      };
    }
    case "logs": {
      const [from = "", to = ""] = feature.what.split(" > ");
      const line = to === "end" ? (from === "begin" ? "" : from) : to;
      return { sentence: `${calls} ${describeOrder(from, to)}${before}`, query: logs(line) };
    }
  }
}

function describeOrder(from: string, to: string): string {
  if (from === "begin" && to === "end") return "log nothing";
  if (from === "begin") return `begin with the log ${to}`;
  return to === "end" ? `end with the log ${from}` : `log ${to} right after ${from}`;
}

/** Milliseconds between what is usual and what is not. */
export function limitOfSlow({ medianMs, usualMs }: Pick<LatencyChange, "medianMs" | "usualMs">): number {
  return Number(Math.sqrt(Math.max(0.1, usualMs) * medianMs).toPrecision(3));
}

function describeLatency({ kind, service, operation, caller, medianMs, usualMs }: LatencyChange): Evidence {
  const times = (how: string) => `${nameMs(medianMs)} ${how}, where ${nameMs(usualMs)} is usual (medians)`;
  if (kind === "gap")
    return {
      sentence: `calls of ${nameService(service)} by ${nameService(caller)} take ${times("on the way")}`,
      query: `traces{service.name=${quote(service)}}`,
    };
  const limitMs = limitOfSlow({ medianMs, usualMs });
  return {
    sentence: `${nameOperation(operation)} takes ${times("by itself")}`,
    query: `traces{service.name=${quote(service)}, name=${quote(operation)}, duration_ms>${limitMs}}`,
    isNew: true,
  };
}

function describeLines({ service, template, isError, lines, usual }: LineChange): Evidence {
  const what = isError ? "the warning or error " : "";
  const before = usual < 0.5 ? "hardly ever is usual" : `up to ${Math.round(usual)} is usual`;
  return {
    sentence: `${nameService(service)} logs ${what}${template} ${lines} times, where ${before}`,
    query: `logs{service.name=${quote(service)}, template=${quote(template)}}`,
    isNew: usual < 0.5,
  };
}

function describeDrop({ service, calls, usual }: Drop): Evidence {
  return {
    sentence: `${nameService(service)} gets ${Math.round(calls)} calls a minute from outside, where ${Math.round(usual)} is usual`,
    query: `count(traces{service.name=${quote(service)}, parent_span_id=""})`,
  };
}

function describeMetric({ pod, node, metric, value, usual, query, atMs: at }: MetricChange): Evidence {
  const number = (each: number) => String(Number(each.toPrecision(3)));
  const place = pod === "" ? (node === "" ? "" : ` of the node ${node}`) : ` of the pod ${pod}`;
  const how = value > usual ? "up to" : "down to";
  return {
    sentence: `${metric}${place} is ${how} ${number(value)}, where ${number(usual)} is usual`,
    query,
    at,
  };
}
