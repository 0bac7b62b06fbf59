/** The resources of one kind in a table; they are made, changed and deleted by who may. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import type { Managed } from "../api/managed.ts";
import { may } from "../api/session.ts";
import { Confirm } from "../ui/dialog.tsx";
import { ManagedBadge } from "../ui/managed-badge.tsx";
import { TableBox } from "../ui/table-box.tsx";
import { nameOf, type Resource, type SettingsKind } from "./kinds.ts";
import { countsOf, loadMetrics } from "./metrics-text.ts";
import { ResourceDialog } from "./resource-dialog.tsx";
import { TokenShown } from "./token-shown.tsx";

interface ResourceSectionProps {
  kind: SettingsKind;
  /** More that can be done with one. */
  actions?(resource: Resource, id: string): ComponentChildren;
}

interface Listed {
  items: Resource[];
  managed: Record<string, Managed>;
  counts: ReadonlyMap<string, number>;
}

export function ResourceSection({ kind, actions }: ResourceSectionProps) {
  /** The resource whose form is open; one without an id is new. */
  const open = useSignal<{ id?: string } | undefined>(undefined);
  const removing = useSignal<string | undefined>(undefined);
  /** The token of what was made, which is shown once. */
  const made = useSignal<string | undefined>(undefined);
  const loading = useLoading((_: undefined, signal: AbortSignal) => loadKind(kind, signal));
  const reload = () => void loading.load(undefined);
  useEffect(reload, [kind]);
  const answer = loading.answer.value;
  const canChange = may(kind.permission);
  const idOf = (resource: Resource) => String(resource[kind.id] ?? "");
  return (
    <section aria-label={kind.title}>
      <div class="screen-head">
        <h1>{kind.title}</h1>
        <span class="grow" />
        {canChange ? (
          <button
            type="button"
            class="primary"
            onClick={() => {
              open.value = {};
            }}
          >
            New {nameOf(kind)}
          </button>
        ) : null}
      </div>
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {answer === undefined ? null : answer.items.length === 0 ? (
        <p class="empty">{kind.empty}</p>
      ) : (
        <TableBox label={kind.title}>
          <table>
            <thead>
              <tr>
                {kind.columns.map(({ name, title }) => (
                  <th key={name} scope="col">
                    {title}
                  </th>
                ))}
                {kind.counter === undefined ? null : <th scope="col">{kind.counter.title}</th>}
                <th scope="col">
                  <span class="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {answer.items.map((resource) => {
                const id = idOf(resource);
                const managed = answer.managed[id];
                return (
                  <tr key={id}>
                    {kind.columns.map(({ name, show }, i) => (
                      <td key={name}>
                        <bdi>{show(resource).slice(0, 500)}</bdi>{" "}
                        {i === 0 ? <ManagedBadge managed={managed} /> : null}
                      </td>
                    ))}
                    {kind.counter === undefined ? null : (
                      <td class="number">{(answer.counts.get(id) ?? 0).toLocaleString("en")}</td>
                    )}
                    <td class="actions">
                      {actions?.(resource, id)}
                      {canChange && kind.canEdit && managed === undefined ? (
                        <button
                          type="button"
                          onClick={() => {
                            open.value = { id };
                          }}
                        >
                          Edit
                        </button>
                      ) : null}
                      {canChange && managed === undefined ? (
                        <button
                          type="button"
                          onClick={() => {
                            removing.value = id;
                          }}
                        >
                          Delete
                        </button>
                      ) : null}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </TableBox>
      )}
      {open.value === undefined ? null : (
        <ResourceDialog
          kind={kind}
          id={open.value.id}
          onSaved={(answered) => {
            open.value = undefined;
            made.value = answered.token;
            reload();
          }}
          onClose={() => {
            open.value = undefined;
          }}
        />
      )}
      {made.value === undefined ? null : (
        <TokenShown
          token={made.value}
          onClose={() => {
            made.value = undefined;
          }}
        />
      )}
      {removing.value === undefined ? null : (
        <Confirm
          title={`Delete ${removing.value}?`}
          action="Delete"
          onConfirm={async () => {
            await ask(`/api/v1${kind.path}/${encodeURIComponent(removing.value!)}`, { method: "DELETE" });
            reload();
          }}
          onClose={() => {
            removing.value = undefined;
          }}
        >
          <p>{kind.onDelete}</p>
        </Confirm>
      )}
    </section>
  );
}

async function loadKind({ path, plural, counter }: SettingsKind, signal: AbortSignal): Promise<Listed> {
  const items: Resource[] = [];
  const managed: Record<string, Managed> = {};
  for (let cursor: string | undefined; ; ) {
    const asked = new URLSearchParams({ limit: "1000", ...(cursor === undefined ? {} : { cursor }) });
    const page = await ask<Record<string, unknown>>(`/api/v1${path}?${asked}`, { signal });
    items.push(...(page[plural] as Resource[]));
    Object.assign(managed, page.managed);
    cursor = page.cursor as string | undefined;
    if (cursor === undefined) break;
  }
  // Members of groups may not read /metrics: then nothing is counted.
  const counts =
    counter === undefined ? new Map() : countsOf(await loadMetrics(signal).catch(() => []), counter.name);
  return { items, managed, counts };
}
