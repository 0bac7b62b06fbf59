/** One alert: its points and thresholds, what fired and why, and who was told. */

import { useSignal } from "@preact/signals";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { may } from "../api/session.ts";
import { go, path } from "../browser/address.ts";
import { useSubject } from "../browser/title.ts";
import { clock } from "../time/zone.ts";
import { Confirm } from "../ui/dialog.tsx";
import { ManagedBadge, ManagedNote } from "../ui/managed-badge.tsx";
import { usePolling } from "../ui/polling.ts";
import { AlertChart } from "./alert-chart.tsx";
import { AlertNotes } from "./alert-notes.tsx";
import type { AlertAnswer, AlertFire, AlertStateAnswer, NotificationAnswer } from "./answers.ts";
import { FireList } from "./fire-list.tsx";
import { InstanceTable } from "./instance-table.tsx";
import { nameOperators } from "./names.ts";
import { NotificationTable } from "./notification-table.tsx";
import { SilenceDialog } from "./silence-dialog.tsx";
import { StateBadge } from "./state-badge.tsx";
import { TestDialog } from "./test-dialog.tsx";

const pollMs = 15_000;
const notificationsShownMax = 100;

interface AlertPage {
  id: string;
  saved: AlertAnswer;
  state: AlertStateAnswer;
  fires: AlertFire[];
  /** The newest ones. */
  notifications: NotificationAnswer[];
  hasOlder: boolean;
}

interface NotificationPage {
  notifications: NotificationAnswer[];
  /** Absent where these are all. */
  cursor?: string;
}

async function loadAlert(id: string, signal: AbortSignal): Promise<AlertPage> {
  const at = `/api/v1/alerts/${encodeURIComponent(id)}`;
  const listed = new URLSearchParams({ alertId: id, limit: String(notificationsShownMax) });
  const [saved, state, { fires }, { notifications, cursor }] = await Promise.all([
    ask<AlertAnswer>(at, { signal }),
    ask<AlertStateAnswer>(`${at}/state`, { signal }),
    ask<{ fires: AlertFire[] }>(`${at}/fires`, { signal }),
    ask<NotificationPage>(`/api/v1/notifications?${listed}`, { signal }),
  ]);
  return { id, saved, state, fires, notifications, hasOlder: cursor !== undefined };
}

export function AlertScreen() {
  const id = decodeURIComponent(path.value.split("/")[2]!);
  const loading = useLoading(loadAlert);
  const reload = () => void loading.load(id);
  usePolling(reload, pollMs, id);
  const found = loading.answer.value;
  useSubject(found?.id === id ? found.saved.alert.metadata.name : undefined);
  return (
    <div class="screen">
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {found === undefined || found.id !== id ? null : <Found found={found} reload={reload} />}
    </div>
  );
}

function Found({
  found: { id, saved, state, fires, notifications, hasOlder },
  reload,
}: {
  found: AlertPage;
  reload(): void;
}) {
  const { alert, managed } = saved;
  const { query } = alert.timeseries.expression.svcQLTimeseries;
  return (
    <>
      <div class="screen-head">
        <h1>
          <bdi>{alert.metadata.name}</bdi>
        </h1>
        <StateBadge state={state.state} />
        <ManagedBadge managed={managed} />
        <span class="grow" />
        <Actions id={id} name={alert.metadata.name} isManaged={managed !== undefined} reload={reload} />
      </div>
      {alert.metadata.description ? <p class="description">{alert.metadata.description}</p> : null}
      <ManagedNote managed={managed} />
      <AlertNotes alert={alert} state={state} />
      {state.error === null ? null : <p class="problem">The last evaluation failed: {state.error}</p>}
      {state.warnings?.map((warning) => (
        <p key={warning} class="warning">
          {warning}
        </p>
      ))}
      {state.silences.map((silence) => (
        <p key={silence.id} class="warning">
          Silenced until {clock.value.short(silence.endsAt)}.
        </p>
      ))}
      <p>
        <a href={`/?q=${encodeURIComponent(query)}`} title="Opens the query in the search">
          <code>{query}</code>
        </a>
      </p>
      <ul class="rules">
        {alert.timeseries.evaluationRules.map(({ name, static: { operators, persistenceSettings } }) => (
          <li key={name}>
            <b>
              <bdi>{name}</bdi>
            </b>
            : fires when {persistenceSettings.datapointsToAlarm} of{" "}
            {persistenceSettings.datapointsInEvaluationWindow} points are {nameOperators(operators)}
          </li>
        ))}
      </ul>
      <AlertChart alert={alert} fires={fires} />
      <h2>Fires</h2>
      <FireList alertId={id} fires={fires} />
      <h2>Instances</h2>
      <InstanceTable instances={state.instances} />
      <h2>Notifications</h2>
      <NotificationTable notifications={notifications} reload={reload} />
      {hasOlder ? <p class="hint">The newest {notificationsShownMax} are shown.</p> : null}
      <p class="hint">
        Saved by {saved.updatedBy}, {clock.value.short(saved.updatedAt)}.
        {state.evaluatedThrough === null
          ? " Not evaluated yet."
          : ` Evaluated up to ${clock.value.short(state.evaluatedThrough)}.`}
      </p>
    </>
  );
}

interface ActionsProps {
  id: string;
  name: string;
  isManaged: boolean;
  reload(): void;
}

function Actions({ id, name, isManaged, reload }: ActionsProps) {
  const open = useSignal<"silence" | "test" | "delete" | undefined>(undefined);
  const close = () => {
    open.value = undefined;
  };
  const remove = async () => {
    await ask(`/api/v1/alerts/${encodeURIComponent(id)}`, { method: "DELETE" });
    go("/alerts");
  };
  return (
    <>
      {may("configure") ? (
        <button type="button" onClick={() => (open.value = "silence")}>
          Silence
        </button>
      ) : null}
      {may("notify") ? (
        <button type="button" onClick={() => (open.value = "test")}>
          Test notification
        </button>
      ) : null}
      {may("configure") && !isManaged ? (
        <>
          <button type="button" onClick={() => (open.value = "delete")}>
            Delete
          </button>
          <a class="button primary" href={`/alerts/${encodeURIComponent(id)}/edit`}>
            Edit
          </a>
        </>
      ) : null}
      {open.value === "silence" ? <SilenceDialog alertIds={[id]} onClose={close} onSaved={reload} /> : null}
      {open.value === "test" ? <TestDialog alertId={id} onClose={close} /> : null}
      {open.value === "delete" ? (
        <Confirm title={`Delete ${name}?`} action="Delete" onConfirm={remove} onClose={close}>
          <p>It is no longer evaluated. Those who were told that it fires are told that it has ended.</p>
        </Confirm>
      ) : null}
    </>
  );
}
