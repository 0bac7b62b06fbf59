/** GET /api/v1/alerts/states: the states of all alerts that the caller sees, a page at a time. */

import * as z from "zod";
import { Turns } from "../../../engine/index.ts";
import type { ListedAlert, Visibility } from "../../access/alert-visibility.ts";
import { defineRoute } from "../../api/define-route.ts";
import type { Route } from "../../api/route.ts";
import type { Caller } from "../../model/caller.ts";
import { managedFolderOf, managedMember } from "../../model/managed-member.ts";
import { integerFrom } from "../../model/schema.ts";
import type { Notifier } from "../../notify/notifier.ts";
import type { AlertSummary, Evaluator } from "../evaluator.ts";
import type { HealthWatch } from "../health-watch.ts";
import { statesPageDefault, statesPageMax } from "../limits.ts";

const stateNames = ["firing", "unhealthy", "noData", "ok"] as const;
const healthNames = ["ok", "error", "unknown"] as const;

const counts = z.strictObject({
  state: z.strictObject({ firing: z.int(), unhealthy: z.int(), noData: z.int(), ok: z.int() }),
  health: z.strictObject({ ok: z.int(), error: z.int(), unknown: z.int() }),
});
type Counts = z.infer<typeof counts>;

const alertState = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    folderPath: z.string(),
    managed: z.looseObject({}).optional(),
    state: z.enum(stateNames),
    since: z.int().nullable(),
    firingRules: z.array(z.string()),
    firingInstances: z.int().nullable(),
    silencedInstances: z.int().nullable(),
    silenced: z.boolean().nullable(),
    silences: z.array(z.strictObject({ id: z.string(), endsAt: z.int() })),
    health: z.enum(healthNames),
    error: z.string().nullable(),
    evaluatedThrough: z.int().nullable(),
    evaluatedAt: z.int().nullable(),
  })
  .meta({ id: "AlertState" });

const query = {
  state: z.enum(stateNames).optional(),
  health: z.enum(healthNames).optional(),
  folder: z.string().regex(/^\//, "must be a folder such as /alerts/kubernetes-managed/prod/").optional(),
  limit: integerFrom(1, statesPageMax).optional(),
  cursor: z.string().optional(),
};
type StatesQuery = { [Name in keyof typeof query]?: z.infer<(typeof query)[Name]> };

interface StatesOptions {
  evaluator: Evaluator;
  health: HealthWatch;
  notifier: Notifier;
  visibility: Visibility;
}

export function statesRoute(options: StatesOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/api/v1/alerts/states",
    permission: "search",
    summary: "The states of all alerts, in the order of their ids",
    tag: "alerts",
    query,
    parameterName: "parameter",
    response: z.strictObject({ states: z.array(alertState), counts, cursor: z.string().optional() }),
    handle: (input) => listStates(options, input.query, input.caller),
  });
}

/** `counts` are of all alerts in the folder that the caller sees, whatever their state. */
async function listStates(
  { evaluator, health: watch, notifier, visibility }: StatesOptions,
  asked: StatesQuery,
  caller: Caller,
) {
  const { state, health, folder = "/", limit = statesPageDefault, cursor } = asked;
  const below = folder.endsWith("/") ? folder : `${folder}/`;
  const after = cursor === undefined ? null : Buffer.from(cursor, "base64url").toString();
  const found: Counts = {
    state: { firing: 0, unhealthy: 0, noData: 0, ok: 0 },
    health: { ok: 0, error: 0, unknown: 0 },
  };
  const states: z.infer<typeof alertState>[] = [];
  let hasBegun = after === null;
  let hasMore = false;
  const turns = new Turns();
  for (const alert of visibility.alertsOf(caller)) {
    if (turns.isOver) await turns.next();
    if (!folderPathOf(alert).startsWith(below)) continue;
    const known = evaluator.summaryOf(alert.id) ?? notEvaluated;
    const unhealthySinceMs = watch.unhealthySinceMs(alert.id);
    const alertHealth = healthOf(known);
    const summary = withHealth(known, unhealthySinceMs);
    found.state[summary.state]++;
    found.health[alertHealth]++;
    hasBegun ||= alert.id > after!;
    if (!hasBegun || (state ?? summary.state) !== summary.state || (health ?? alertHealth) !== alertHealth) {
      continue;
    }
    if (states.length === limit) hasMore = true;
    else states.push(alertStateOf(alert, summary, notifier));
  }
  const next = hasMore ? { cursor: Buffer.from(states.at(-1)!.id).toString("base64url") } : {};
  return { states, counts: found, ...next };
}

/** A summary whose state may be `unhealthy`. */
type ShownSummary = Omit<AlertSummary, "state"> & { state: (typeof stateNames)[number] };

function withHealth(summary: AlertSummary, unhealthySinceMs: number | undefined): ShownSummary {
  const state = conditionOf(summary.state, unhealthySinceMs);
  return state === "unhealthy" ? { ...summary, state, sinceMs: unhealthySinceMs! } : { ...summary, state };
}

/** The state of an alert as people see it: where it is not judged for long, what was found before does not count. */
export function conditionOf(
  state: AlertSummary["state"],
  unhealthySinceMs: number | undefined,
): (typeof stateNames)[number] {
  return state === "firing" || unhealthySinceMs === undefined ? state : "unhealthy";
}

/** Of an alert that was saved a moment ago, and is not under evaluation yet. */
const notEvaluated: AlertSummary = {
  ...{ state: "noData", sinceMs: null, firingRules: [], firing: [], lacksData: false },
  ...{ error: null, throughMs: null, evaluatedAtMs: null },
};

export function healthOf({
  error,
  throughMs,
}: Pick<AlertSummary, "error" | "throughMs">): "ok" | "error" | "unknown" {
  if (error !== null) return "error";
  return throughMs === null ? "unknown" : "ok";
}

function folderPathOf({ managed }: ListedAlert): string {
  return managed === undefined ? "/alerts/" : managedFolderOf("alerts", managed);
}

function alertStateOf(
  alert: ListedAlert,
  summary: ShownSummary,
  notifier: Notifier,
): z.infer<typeof alertState> {
  const { id, name, managed } = alert;
  const { state, sinceMs, firingRules, firing, error, throughMs, evaluatedAtMs } = summary;
  return {
    id,
    name,
    folderPath: folderPathOf(alert),
    ...(managed === undefined ? {} : { managed: managedMember("alerts", managed) }),
    ...{ state, since: sinceMs, firingRules },
    // Callers who may not read all rows must not learn labels, by which silences and texts of errors go.
    ...(alert.isWhole() ? cover(id, firing, notifier) : hiddenCover),
    health: healthOf(summary),
    error: alert.isWhole() ? error : error && "the query failed",
    ...{ evaluatedThrough: throughMs, evaluatedAt: evaluatedAtMs },
  };
}

const hiddenCover = { firingInstances: null, silencedInstances: null, silenced: null, silences: [] };

/** `silenced`: nobody would be notified of what fires; where nothing fires, of anything that might. */
function cover(id: string, firing: AlertSummary["firing"], notifier: Notifier) {
  const { silences, isWhole, instances } = notifier.coverOf(id, firing);
  return {
    firingInstances: firing.length,
    silencedInstances: instances,
    silenced: isWhole || (firing.length > 0 && instances === firing.length),
    silences,
  };
}
