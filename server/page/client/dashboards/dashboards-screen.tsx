/** All dashboards by folder. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { may } from "../api/session.ts";
import { go } from "../browser/address.ts";
import { Confirm, Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { ManagedBadge } from "../ui/managed-badge.tsx";
import type { KeptDashboard } from "./answers.ts";
import { loadDashboards, saveDashboard } from "./kept-dashboards.ts";

interface Listed {
  dashboard: KeptDashboard;
  id: string;
  folder: string;
}

export function DashboardsScreen() {
  const text = useSignal("");
  const isMaking = useSignal(false);
  const removing = useSignal<Listed | undefined>(undefined);
  const loading = useLoading(loadDashboards);
  const reload = () => void loading.load(undefined);
  useEffect(reload, []);
  const answer = loading.answer.value;
  const wanted = text.value.toLowerCase();
  const listed = (answer?.dashboards ?? [])
    .map((dashboard): Listed => {
      const { id = "", folderPath = "/dashboards/" } = dashboard.metadata;
      return { dashboard, id, folder: answer?.managed?.[id]?.folderPath ?? folderPath };
    })
    .filter(({ dashboard, folder }) => `${folder}${dashboard.metadata.title}`.toLowerCase().includes(wanted));
  const folders = Map.groupBy(listed, ({ folder }) => folder);
  return (
    <div class="screen">
      <div class="screen-head">
        <h1>Dashboards</h1>
        <input
          type="search"
          aria-label="Filter by name"
          aria-keyshortcuts="/"
          placeholder="Filter by name"
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
        <span class="grow" />
        {may("configure") ? (
          <button
            type="button"
            class="primary"
            onClick={() => {
              isMaking.value = true;
            }}
          >
            New dashboard
          </button>
        ) : null}
      </div>
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {answer === undefined ? null : listed.length === 0 ? (
        <p class="empty">
          {answer.dashboards.length > 0 ? "No dashboard has such a name." : "There are no dashboards yet."}
        </p>
      ) : (
        [...folders]
          .sort(([a], [b]) => a.localeCompare(b))
          .map(([folder, each]) => (
            <section key={folder} aria-label={folder}>
              <h2>{folder}</h2>
              <ul class="dashboard-list">
                {each.map((one) => (
                  <li key={one.id}>
                    <a href={`/dashboards/${encodeURIComponent(one.id)}`}>
                      <bdi>{one.dashboard.metadata.title}</bdi>
                    </a>{" "}
                    <ManagedBadge managed={answer.managed?.[one.id]} />
                    {may("configure") && answer.managed?.[one.id] === undefined ? (
                      <button
                        type="button"
                        class="quiet"
                        onClick={() => {
                          removing.value = one;
                        }}
                      >
                        Delete
                      </button>
                    ) : null}
                  </li>
                ))}
              </ul>
            </section>
          ))
      )}
      {isMaking.value ? (
        <NewDashboard
          onClose={() => {
            isMaking.value = false;
          }}
        />
      ) : null}
      {removing.value === undefined ? null : (
        <Confirm
          title={`Delete ${removing.value.dashboard.metadata.title}?`}
          action="Delete"
          onConfirm={async () => {
            await ask(`/api/v1/dashboards/${encodeURIComponent(removing.value!.id)}`, { method: "DELETE" });
            reload();
          }}
          onClose={() => {
            removing.value = undefined;
          }}
        >
          <p>Links to it lead nowhere then.</p>
        </Confirm>
      )}
    </div>
  );
}

function NewDashboard({ onClose }: { onClose(): void }) {
  const title = useSignal("");
  const folder = useSignal("/dashboards/");
  const problem = useSignal("");
  const save = async (event: Event) => {
    event.preventDefault();
    const dashboard: KeptDashboard = {
      settings: { layoutVersion: 2, defaultTimeRange: "1h" },
      metadata: { title: title.value, folderPath: folder.value },
      content: { widgets: [] },
    };
    try {
      const id = await saveDashboard(dashboard);
      go(`/dashboards/${encodeURIComponent(id)}?edit=1`);
    } catch (error) {
      problem.value = (error as Error).message;
    }
  };
  return (
    <Dialog title="New dashboard" onClose={onClose}>
      <form class="dialog-form" onSubmit={save}>
        <Field label="Title">
          {(attributes) => (
            <input
              {...attributes}
              required
              value={title.value}
              onInput={(event) => {
                title.value = event.currentTarget.value;
              }}
            />
          )}
        </Field>
        <Field label="Folder" hint="Such as /dashboards/shop/checkout/">
          {(attributes) => (
            <input
              {...attributes}
              value={folder.value}
              onInput={(event) => {
                folder.value = event.currentTarget.value;
              }}
            />
          )}
        </Field>
        {problem.value === "" ? null : (
          <p class="problem" role="alert">
            {problem.value}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Create
          </button>
        </div>
      </form>
    </Dialog>
  );
}
