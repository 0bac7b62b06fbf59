/** All alerts: what fires first, since when, and who is silenced. */

import { useSignal } from "@preact/signals";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { may } from "../api/session.ts";
import { go, parameters, withParameters } from "../browser/address.ts";
import { nameDuration } from "../time/range.ts";
import { clock } from "../time/zone.ts";
import { nameCount } from "../ui/count.ts";
import { ManagedBadge } from "../ui/managed-badge.tsx";
import { usePolling } from "../ui/polling.ts";
import { TableBox } from "../ui/table-box.tsx";
import type { AlertReading, AlertStateName, StatesAnswer } from "./answers.ts";
import { stateNames } from "./names.ts";
import { StateBadge } from "./state-badge.tsx";

const pollMs = 15_000;
const pageAlerts = 1_000;
/** Alerts beyond these are found by the filter of states alone. */
const loadedMax = 5_000;

interface StatesQuestion {
  state: string | null;
  health: string | null;
}

/** Pages one after the other, up to a bound. */
async function loadStates({ state, health }: StatesQuestion, signal: AbortSignal): Promise<StatesAnswer> {
  const states: AlertReading[] = [];
  for (let cursor: string | undefined; ; ) {
    const asked = new URLSearchParams({ limit: String(pageAlerts) });
    for (const [name, value] of Object.entries({ state, health, cursor })) if (value) asked.set(name, value);
    const page = await ask<StatesAnswer>(`/api/v1/alerts/states?${asked}`, { signal });
    states.push(...page.states);
    cursor = page.cursor;
    if (cursor === undefined || states.length >= loadedMax) return { ...page, states };
  }
}

export function AlertsScreen() {
  const state = parameters.value.get("state");
  const health = parameters.value.get("health");
  const text = useSignal("");
  const loading = useLoading(loadStates);
  usePolling(() => void loading.load({ state, health }), pollMs, `${state} ${health}`);
  const answer = loading.answer.value;
  const wanted = text.value.toLowerCase();
  const shown = (answer?.states ?? [])
    .filter(({ name, folderPath }) => `${folderPath}${name}`.toLowerCase().includes(wanted))
    .sort(byUrgency);
  return (
    <div class="screen">
      <div class="screen-head">
        <h1>Alerts</h1>
        <StateFilter state={state} health={health} counts={answer?.counts} />
        <input
          type="search"
          aria-label="Filter by name"
          placeholder="Filter by name"
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
        <span class="grow" />
        <a href="/silences">Silences</a>
        {may("configure") ? (
          <a class="button primary" href="/alerts/new">
            New alert
          </a>
        ) : null}
      </div>
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {answer === undefined ? null : shown.length === 0 ? (
        <p class="empty">
          {answer.states.length > 0 || state !== null || health !== null
            ? "No alert is as the filters say."
            : "There are no alerts yet. An alert watches a query, and tells people when it crosses a threshold."}
        </p>
      ) : (
        <AlertTable alerts={shown} isCut={answer.cursor !== undefined} />
      )}
    </div>
  );
}

/** What fires comes first, then what has an error or no data; of equal ones what changed last. */
function byUrgency(a: AlertReading, b: AlertReading): number {
  return urgencyOf(a) - urgencyOf(b) || (b.since ?? 0) - (a.since ?? 0) || a.name.localeCompare(b.name);
}

function urgencyOf({ state, health, silenced }: AlertReading): number {
  if (state === "firing") return silenced === true ? 1 : 0;
  return state === "unhealthy" || health === "error" ? 2 : state === "noData" ? 3 : 4;
}

interface StateFilterProps extends StatesQuestion {
  counts: StatesAnswer["counts"] | undefined;
}

function StateFilter({ state, health, counts }: StateFilterProps) {
  const choices: { name: string; count: number | undefined; changes: Record<string, string | null> }[] = [
    { name: "all", count: undefined, changes: { state: null, health: null } },
    ...(["firing", "unhealthy", "noData", "ok"] as AlertStateName[]).map((each) => ({
      name: stateNames[each],
      count: counts?.state[each],
      changes: { state: each, health: null },
    })),
    { name: "failing", count: counts?.health.error, changes: { state: null, health: "error" } },
  ];
  return (
    <fieldset class="choice">
      <legend class="unseen">Which alerts</legend>
      {choices.map(({ name, count, changes }) => (
        <button
          key={name}
          type="button"
          aria-pressed={changes.state === state && changes.health === health}
          onClick={() => go(withParameters(changes))}
        >
          {name}
          {count === undefined ? "" : ` ${count.toLocaleString("en")}`}
        </button>
      ))}
    </fieldset>
  );
}

function AlertTable({ alerts, isCut }: { alerts: readonly AlertReading[]; isCut: boolean }) {
  return (
    <TableBox label="Alerts">
      <table>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Alert</th>
            <th scope="col">Since</th>
            <th scope="col">Fires for</th>
            <th scope="col">Silenced</th>
          </tr>
        </thead>
        <tbody>
          {alerts.map((alert) => (
            <AlertLine key={alert.id} alert={alert} />
          ))}
        </tbody>
      </table>
      {isCut ? (
        <p class="hint">
          There are more than {loadedMax.toLocaleString("en")}: filter by state to see others.
        </p>
      ) : null}
    </TableBox>
  );
}

function AlertLine({ alert }: { alert: AlertReading }) {
  const { id, name, folderPath, managed, state, since, firingRules, firingInstances } = alert;
  return (
    <tr>
      <td>
        <StateBadge state={state} />
      </td>
      <td>
        <a href={`/alerts/${encodeURIComponent(id)}`}>
          <bdi>{name}</bdi>
        </a>{" "}
        <ManagedBadge managed={managed} />
        {folderPath === "/alerts/" ? null : <div class="hint">{folderPath}</div>}
        {alert.error === null ? null : <div class="problem small">{alert.error}</div>}
      </td>
      <td class="time" title={since === null ? "" : clock.value.full(since)}>
        {since === null ? "" : nameDuration(Math.max(0, Date.now() - since))}
      </td>
      <td>
        {state !== "firing" ? null : (
          <>
            {firingRules.join(", ")}
            {firingInstances === null ? null : ` (${nameCount(firingInstances, "instance")})`}
          </>
        )}
      </td>
      <td>{nameSilenced(alert)}</td>
    </tr>
  );
}

function nameSilenced({ silenced, silencedInstances, firingInstances }: AlertReading): string {
  if (silenced === true) return "yes";
  if (silencedInstances === null || silencedInstances === 0) return "";
  return `${silencedInstances} of ${firingInstances}`;
}
