/** Builds the admission policy of a body: from the settings, the sender's environment, and the ingestion rules. */

import type { AdmissionCounts, AdmissionPolicy } from "../../engine/index.ts";
import {
  type CompiledExclusion,
  compileExclusions,
  type ExclusionRule,
  environmentKeys,
  settledExclusions,
} from "../model/exclusion.ts";
import { type RuleSignal, ruleSignalOf } from "../model/rule-signal.ts";
import type { BodyTask } from "./decode-task.ts";
import { makeSharedReader } from "./shared-memory-json.ts";

/** The attribute that holds the original length of a truncated message, in bytes. */
const truncationKey = "svc.cut";

/** Compiled exclusions by signal and environment, kept for as long as the rules do not change. */
const compiledRules = makeSharedReader((rules: ExclusionRule[]) => {
  const compiled = new Map<string, readonly CompiledExclusion[]>();
  return (signal: RuleSignal, environment: string | null) => {
    const key = `${signal} ${JSON.stringify(environment)}`;
    const known = compiled.get(key);
    if (known !== undefined) return known;
    const exclusions = settledExclusions(compileExclusions(rules, signal), makeStamps(environment));
    compiled.set(key, exclusions);
    return exclusions;
  };
});

export function makeAdmissionPolicy(task: BodyTask): AdmissionPolicy {
  const { arrivalMs: nowMs, admission } = task;
  if (admission === undefined) return { nowMs };
  const { settings, environment } = admission;
  return {
    nowMs,
    aheadMsMax: settings.acceptFutureMs,
    behindMsMax: settings.acceptPastMs,
    skewMs: settings.clockSkewMs,
    rowBytesMax: settings.rowBytesMax,
    truncationKey: settings.cutsLargeRows === true ? truncationKey : undefined,
    stamps: makeStamps(environment),
    exclusions: findExclusions(task),
  };
}

/** Numbers of rows that ingestion rules left out, by the rule's id. */
export function countDroppedRows(
  task: BodyTask,
  { excluded }: AdmissionCounts,
): [rule: string, rows: number][] {
  const rows = new Map<string, number>();
  for (const [i, { rule }] of findExclusions(task).entries()) {
    if (excluded[i]! > 0) rows.set(rule, (rows.get(rule) ?? 0) + excluded[i]!);
  }
  return [...rows];
}

function findExclusions({ admission, content }: BodyTask): readonly CompiledExclusion[] {
  if (admission === undefined) return [];
  return compiledRules(admission.rules)(ruleSignalOf[content.signal], admission.environment);
}

/** An environment is a cluster, so its name is stamped under both keys. */
function makeStamps(environment: string | null): Record<string, string> {
  return environment === null ? {} : Object.fromEntries(environmentKeys.map((key) => [key, environment]));
}
