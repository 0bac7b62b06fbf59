/** One dashboard: seen, and edited by who may. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { askWithEtag } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { may } from "../api/session.ts";
import { go, parameters, path, withParameters } from "../browser/address.ts";
import { useSubject } from "../browser/title.ts";
import { AddressRangePicker } from "../time/address-range.tsx";
import { resolveRange } from "../time/range.ts";
import { Dialog } from "../ui/dialog.tsx";
import { ManagedBadge, ManagedNote } from "../ui/managed-badge.tsx";
import type { DashboardAnswer, KeptDashboard } from "./answers.ts";
import { contentOf } from "./answers.ts";
import { Editor } from "./editor.tsx";
import { Grid } from "./grid.tsx";
import { saveDashboard } from "./kept-dashboards.ts";
import { Panel } from "./panel.tsx";
import type { QueryScope } from "./queries.ts";
import { VariableBar, valuesOf } from "./variable-bar.tsx";

export function DashboardScreen() {
  const id = decodeURIComponent(path.value.split("/")[2]!);
  const loading = useLoading((asked: string, signal: AbortSignal) =>
    askWithEtag<DashboardAnswer>(`/api/v1/dashboards/${encodeURIComponent(asked)}`, { signal }),
  );
  useEffect(() => void loading.load(id), [id]);
  const found = loading.answer.value;
  useSubject(found?.answer.dashboard.metadata.title);
  return (
    <div class="screen">
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {found === undefined ? null : (
        <Found key={id} found={found.answer} etag={found.etag} reload={() => loading.load(id)} />
      )}
    </div>
  );
}

const refreshes: readonly { name: string; ms: number }[] = [
  { name: "No refresh", ms: 0 },
  { name: "Every 10 s", ms: 10_000 },
  { name: "Every 30 s", ms: 30_000 },
  { name: "Every minute", ms: 60_000 },
  { name: "Every 5 min", ms: 300_000 },
];

interface FoundProps {
  found: DashboardAnswer;
  etag: string | undefined;
  reload(): Promise<void>;
}

function Found({ found, etag, reload }: FoundProps) {
  const saved = found.dashboard;
  const draft = useSignal<KeptDashboard | undefined>(undefined);
  const all = parameters.value;
  const isEditing = all.get("edit") === "1" && may("configure") && found.managed === undefined;
  const dashboard = (isEditing ? draft.value : undefined) ?? saved;
  const { content, settings, metadata } = dashboard;
  const variables = content?.variables ?? [];
  const range = {
    from: all.get("from") ?? `-${firstPart(settings?.defaultTimeRange) ?? "1h"}`,
    to: all.get("to") ?? "now",
  };
  const runs = useSignal(0);
  const refreshMs = Number(all.get("refresh") ?? 0);
  useEffect(() => {
    if (!(refreshMs >= 1_000)) return;
    const timer = setInterval(() => {
      if (!document.hidden) runs.value++;
    }, refreshMs);
    return () => clearInterval(timer);
  }, [refreshMs]);
  const values = valuesOf(variables);
  const scope: QueryScope = useMemo(
    () => ({ ...resolveRange(range, Date.now()), variables: values }),
    [range.from, range.to, JSON.stringify(values), runs.value],
  );
  const brush = (startMs: number, endMs: number) =>
    go(withParameters({ from: String(startMs), to: String(endMs) }));
  const fullScreen = useSignal<number | undefined>(undefined);
  const widgets = content?.widgets ?? [];
  const alone = fullScreen.value === undefined ? undefined : widgets[fullScreen.value];
  return (
    <>
      <div class="screen-head">
        <h1>
          <bdi>{metadata.title}</bdi>
        </h1>
        <span class="hint">{metadata.folderPath ?? ""}</span>
        <ManagedBadge managed={found.managed} />
        <span class="grow" />
        <AddressRangePicker range={range} onAgain={() => runs.value++} />
        <select
          aria-label="Refresh"
          value={String(refreshMs)}
          onChange={(event) =>
            go(
              withParameters({
                refresh: event.currentTarget.value === "0" ? null : event.currentTarget.value,
              }),
              {
                replace: true,
              },
            )
          }
        >
          {refreshes.map(({ name, ms }) => (
            <option key={ms} value={String(ms)}>
              {name}
            </option>
          ))}
        </select>
        <button type="button" onClick={() => runs.value++}>
          Refresh
        </button>
        {may("configure") && found.managed === undefined && !isEditing ? (
          <button type="button" class="primary" onClick={() => go(withParameters({ edit: "1" }))}>
            Edit
          </button>
        ) : null}
      </div>
      {all.get("edit") === "1" ? <ManagedNote managed={found.managed} /> : null}
      <VariableBar variables={variables} scope={scope} />
      {content?.description ? <p class="hint">{content.description}</p> : null}
      {isEditing ? (
        <Editor
          saved={saved}
          draft={draft}
          scope={scope}
          onBrush={brush}
          onSave={async (next) => {
            await saveDashboard(next, etag);
            await reload();
          }}
          onEnd={() => go(withParameters({ edit: null }))}
        />
      ) : widgets.length === 0 ? (
        <p class="empty">This dashboard has no widgets yet.</p>
      ) : (
        <Grid
          widgets={widgets}
          scope={scope}
          onBrush={brush}
          onFullScreen={(index) => {
            fullScreen.value = index;
          }}
        />
      )}
      {alone === undefined ? null : (
        <Dialog
          title={contentOf(alone).title ?? "Widget"}
          onClose={() => {
            fullScreen.value = undefined;
          }}
        >
          <div class="full-screen">
            <Panel widget={alone} scope={scope} onBrush={brush} />
          </div>
          <form method="dialog">
            <button type="submit">Close</button>
          </form>
        </Dialog>
      )}
    </>
  );
}

/** `1h` of `1h30m`: the page's ranges have one unit. */
function firstPart(duration: string | undefined): string | undefined {
  return /^\d+[smhdw]/.exec(duration ?? "")?.[0];
}
