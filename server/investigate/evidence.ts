/** Evidence as sentences, each with the query that shows it. */

import type { BehaviourChange } from "./behaviour.ts";
import type { LatencyChange } from "./latency.ts";
import type { Saturation } from "./saturation.ts";
import type { Suspect } from "./suspects.ts";

export interface Evidence {
  sentence: string;
  /** svcQL that finds the rows, or draws the series, that the sentence is about. */
  query: string;
}

/** Sentences of each sort about one suspect. */
const ofSortMax = 3;

/** What speaks for a suspect, the strongest of each sort first. */
export function describeSuspect({ behaviour, latency, saturation }: Suspect): Evidence[] {
  return [
    ...(behaviour?.changes.slice(0, ofSortMax).map(describeBehaviour) ?? []),
    ...(latency?.changes.slice(0, ofSortMax).map(describeLatency) ?? []),
    ...(saturation === undefined ? [] : [describeSaturation(saturation)]),
  ];
}

function describeBehaviour({ service, caller, operation, feature, share, usual }: BehaviourChange): Evidence {
  const calls = `${nameShare(share)} of the calls of ${nameOperation(operation)}${caller === "" ? "" : ` by ${caller}`}`;
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
    case "span":
      return {
        sentence: `${calls} have the span ${nameOperation(feature.what)}${before}`,
        query: within(`name=${quote(feature.what)}`),
      };
    case "call": {
      const [called = "", ...name] = feature.what.split(" ");
      return {
        sentence: `${calls} call ${nameOperation(name.join(" "))} of ${called}${before}`,
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

function describeLatency({ kind, service, operation, caller, medianMs, usualMs }: LatencyChange): Evidence {
  const times = `${nameMs(medianMs)}, where ${nameMs(usualMs)} is usual (medians)`;
  if (kind === "gap")
    return {
      sentence: `calls of ${service} by ${caller} are ${times} on the way`,
      query: `traces{service.name=${quote(service)}}`,
    };
  return {
    sentence: `${nameOperation(operation)} takes ${times} by itself`,
    query: `traces{service.name=${quote(service)}, name=${quote(operation)}}`,
  };
}

function describeSaturation({ pod, metric, value, usual }: Saturation): Evidence {
  const number = (each: number) => String(Number(each.toPrecision(3)));
  return {
    sentence: `${metric} of the pod ${pod} is up to ${number(value)}, where ${number(usual)} is usual`,
    query: `max({${quote(metric)}, k8s.pod.name=${quote(pod)}})`,
  };
}

function nameOperation(operation: string): string {
  return operation === "" ? "an unnamed operation" : `“${operation}”`;
}

function nameShare(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function nameMs(ms: number): string {
  return ms < 1_000 ? `${Number(ms.toPrecision(3))} ms` : `${Number((ms / 1_000).toPrecision(3))} s`;
}

/** A text in quotes; `$` begins a variable there. */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll("$", "\\$");
}
