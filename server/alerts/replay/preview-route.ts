/** POST /api/v1/alerts/preview: what an alert would have done over stored rows. Nothing is stored. */

import * as z from "zod";
import { defineRoute } from "../../api/define-route.ts";
import { jsonReply, type Route } from "../../api/route.ts";
import { type Alert, alertDraftShape, checkAlert } from "../../model/alert.ts";
import { range, rangedBody, warnings } from "../../search/search-body.ts";
import type { Searches } from "../../search/searches.ts";
import { type AlertDefinition, bucketMsOf, isBreaching, queryOf, withId } from "../state/alert-definition.ts";
import { dryRunRange } from "../state/dry-run.ts";
import { floorTo } from "../state/evaluation-schedule.ts";
import { type Replay, type ReplayedFire, type ReplayedInstance, replay } from "./replay.ts";
import { readSource } from "./stored-series.ts";

export interface PreviewOptions {
  searches: Searches;
  /** Buckets that end later are not complete yet. */
  completeThroughMs: (alert: AlertDefinition) => number;
}

const labels = z.record(z.string(), z.string());
const datapoint = z.tuple([z.int(), z.number().nullable()]);
const condition = z.enum(["ok", "firing", "noData"]);
const verdict = z.enum(["ok", "firing", "noData", "keep"]);

const response = z.strictObject({
  bucketSize: z.int(),
  evaluatedFrom: z.int().nullable(),
  evaluatedThrough: z.int().nullable(),
  fireCount: z.int(),
  rules: z.array(z.looseObject({ rule: z.string(), fireCount: z.int() })),
  fires: z.array(
    z.strictObject({
      fireId: z.string(),
      rule: z.string(),
      labels,
      firedAt: z.int(),
      resolvedAt: z.int().nullable(),
      reason: z.string().nullable(),
      breachingDatapoint: z.strictObject({ time: z.int(), value: z.number().nullable() }),
    }),
  ),
  transitions: z.array(z.looseObject({ rule: z.string(), labels, to: condition, atMs: z.int() })),
  instances: z.array(
    z.strictObject({
      labels,
      points: z.array(datapoint),
      rules: z.array(
        z.strictObject({
          rule: z.string(),
          breaching: z.array(z.boolean().nullable()),
          verdicts: z.array(verdict),
          states: z.array(condition),
        }),
      ),
    }),
  ),
  more: z.int(),
  warnings,
});

export function previewRoute({ searches, completeThroughMs }: PreviewOptions): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/alerts/preview",
    summary: "Replays an alert over stored rows: when it would have fired, and what it compared",
    tag: "alerts",
    body: rangedBody({ alert: alertDraftShape, ...range }),
    response,
    handle: (input) => {
      const { alert: draft, startTime, endTime } = input.body;
      const alert: Alert = { ...draft, metadata: { ...draft.metadata, name: draft.metadata?.name ?? "" } };
      // Actions are not run, so webhooks need not exist.
      const warned = checkAlert(alert, "alert", () => true);
      const definition = withId(alert, "preview");
      const judged = { fromMs: startTime, toMs: Math.min(endTime + 1, completeThroughMs(definition)) };
      return searches.run(input, async (store, limits) => {
        if (!hasBuckets(judged, bucketMsOf(definition))) return jsonReply(emptyReply(alert, warned));
        const { source, warnings: found } = await readSource(store, definition, judged, "alert", limits);
        const { fromMs, toMs } = dryRunRange(definition, judged);
        const replayed = await replay(source);
        return jsonReply({
          ...membersOf(alert, replayed, [...warned, ...found]),
          ...{ evaluatedFrom: fromMs, evaluatedThrough: toMs },
        });
      });
    },
  });
}

function hasBuckets({ fromMs, toMs }: { fromMs: number; toMs: number }, bucketMs: number): boolean {
  return floorTo(fromMs, bucketMs) + bucketMs <= floorTo(toMs, bucketMs);
}

const nothing: Replay = {
  ...{ fireCounts: new Map<string, number>(), fires: [], transitions: [], transitionCount: 0 },
  ...{ instances: [], instanceCount: 0, bucketCount: 0, bucketsListed: 0 },
};

function emptyReply(alert: Alert, warned: readonly string[]) {
  const problem = "no bucket lies within the range and is complete: nothing was judged";
  return {
    ...membersOf(alert, nothing, [...warned, problem]),
    ...{ evaluatedFrom: null, evaluatedThrough: null },
  };
}

function membersOf(alert: Alert, replayed: Replay, warned: readonly string[]) {
  const { evaluationRules } = alert.timeseries;
  const { fireCounts, fires, transitions, instances, instanceCount } = replayed;
  const sentences = [...warned, ...truncations(replayed)];
  return {
    bucketSize: queryOf(alert).bucketSeconds,
    fireCount: totalOf(fireCounts),
    rules: evaluationRules.map(({ name, static: { operators, persistenceSettings } }) => ({
      rule: name,
      fireCount: fireCounts.get(name) ?? 0,
      operators,
      persistenceSettings: { missingDatapointBehavior: "notBreaching", ...persistenceSettings },
    })),
    fires: fires.map(fireReply).reverse(),
    transitions: transitions.toReversed(),
    instances: instances.map((instance) => instanceReply(alert, instance)),
    more: instanceCount - instances.length,
    ...(sentences.length === 0 ? {} : { warnings: sentences }),
  };
}

function totalOf(counts: Replay["fireCounts"]): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

/** Sentences about what is left out. */
function truncations(replayed: Replay): string[] {
  const { fireCounts, fires, transitions, transitionCount, instances, instanceCount, bucketsListed } =
    replayed;
  const lists: [listed: number, all: number, what: string][] = [
    [fires.length, totalOf(fireCounts), "fires, the newest,"],
    [transitions.length, transitionCount, "transitions, the newest,"],
    [instances.length, instanceCount, "instances, those that fired most often,"],
    [bucketsListed, replayed.bucketCount, "buckets of each instance, the newest,"],
  ];
  return lists.flatMap(([listed, all, what]) => {
    return listed === all ? [] : [`${listed} ${what} are listed, of ${all}; all were judged`];
  });
}

function fireReply({ fire, closed }: ReplayedFire) {
  const { id, rule, labels: of, firedAtMs, breached } = fire;
  return {
    ...{ fireId: id, rule, labels: of, firedAt: firedAtMs },
    ...{ resolvedAt: closed?.resolvedAtMs ?? null, reason: closed?.reason ?? null },
    breachingDatapoint: { time: breached.bucketMs, value: breached.value },
  };
}

function instanceReply({ timeseries: { evaluationRules } }: Alert, instance: ReplayedInstance) {
  const { labels: of, points, rules } = instance;
  return {
    labels: of,
    points,
    rules: evaluationRules.map((rule) => ({
      rule: rule.name,
      breaching: points.map(([, value]) => (value === null ? null : isBreaching(value, rule.static))),
      ...rules.get(rule.name)!,
    })),
  };
}
