/** On which terms bodies are taken: what is configured for all, the sender's environment, the ingestion rules. */

import type { AdmissionCounts, AdmissionPolicy, Signal } from "../../engine/index.ts";
import {
  type CompiledExclusion,
  compileExclusions,
  type ExclusionRule,
  environmentKeys,
  settledExclusions,
} from "../model/exclusion.ts";
import type { ExcludableSignal } from "../model/ingestion-rule.ts";
import type { BodyTask } from "./decode-task.ts";
import { sharedReader } from "./shared-json.ts";

/** Tells how many bytes a message had before it was cut. */
const cutMark = "svc.cut";

const excludableOf: Readonly<Record<Signal, ExcludableSignal>> = {
  logs: "logs",
  traces: "traces",
  metrics: "metrics",
  profiles: "profiles",
  kubernetes_resources: "kubernetesResources",
};

/** What the rules leave out, by signal and environment. */
const compiledRules = sharedReader((rules: ExclusionRule[]) => {
  const known = new Map<string, readonly CompiledExclusion[]>();
  return (signal: ExcludableSignal, environment: string | null) => {
    const key = `${signal} ${JSON.stringify(environment)}`;
    let exclusions = known.get(key);
    if (exclusions === undefined) {
      exclusions = settledExclusions(compileExclusions(rules, signal), stampsOf(environment));
      known.set(key, exclusions);
    }
    return exclusions;
  };
});

export function termsOf(task: BodyTask): AdmissionPolicy {
  const { arrivalMs: nowMs, entry } = task;
  if (entry === undefined) return { nowMs };
  const { settings, environment } = entry;
  return {
    nowMs,
    aheadMsMax: settings.acceptFutureMs,
    behindMsMax: settings.acceptPastMs,
    skewMs: settings.clockSkewMs,
    rowBytesMax: settings.rowBytesMax,
    truncationKey: settings.cutsLargeRows === true ? cutMark : undefined,
    stamps: stampsOf(environment),
    exclusions: exclusionsOf(task),
  };
}

/** Rows that were left out, by the rule's id. */
export function droppedBy(task: BodyTask, { excluded }: AdmissionCounts): [rule: string, rows: number][] {
  const rows = new Map<string, number>();
  for (const [i, { rule }] of exclusionsOf(task).entries()) {
    if (excluded[i]! > 0) rows.set(rule, (rows.get(rule) ?? 0) + excluded[i]!);
  }
  return [...rows];
}

function exclusionsOf({ entry, what }: BodyTask): readonly CompiledExclusion[] {
  if (entry === undefined) return [];
  return compiledRules(entry.rules)(excludableOf[what.signal], entry.environment);
}

/** An environment is a cluster: its name stands under both keys. */
function stampsOf(environment: string | null): Record<string, string> {
  return environment === null ? {} : Object.fromEntries(environmentKeys.map((key) => [key, environment]));
}
