/** The editor of a dashboard: widgets are added, moved, changed and removed; each step can be undone until it is saved. */

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useUnsaved } from "../browser/unsaved.ts";
import type { KeptDashboard, KeptWidget } from "./answers.ts";
import { addWidget, Grid, type GridEditing } from "./grid.tsx";
import type { QueryScope } from "./queries.ts";
import { SettingsForm } from "./settings-form.tsx";
import { WidgetForm } from "./widget-form.tsx";

interface EditorProps {
  saved: KeptDashboard;
  /** What is edited; undefined while it is as it was saved. */
  draft: Signal<KeptDashboard | undefined>;
  scope: QueryScope;
  onBrush(startMs: number, endMs: number): void;
  /** Rejects with ApiProblem. */
  onSave(dashboard: KeptDashboard): Promise<void>;
  onEnd(): void;
}

/** Steps that can be undone. */
const stepsMax = 100;

export function Editor({ saved, draft, scope, onBrush, onSave, onEnd }: EditorProps) {
  const steps = useSignal<readonly (KeptDashboard | undefined)[]>([]);
  const hasSettingsOpen = useSignal(false);
  /** The widget that is edited, and what puts its new form into the dashboard. */
  const edited = useSignal<{ widget: KeptWidget; save(next: KeptWidget): void } | undefined>(undefined);
  const problem = useSignal("");
  const told = useSignal("");
  const dashboard = draft.value ?? saved;
  const widgets = dashboard.content?.widgets ?? [];
  useUnsaved({
    // A form that is open may hold edits, too.
    hasChanges: () => draft.peek() !== undefined || edited.peek() !== undefined || hasSettingsOpen.peek(),
    staysAt: ({ searchParams }) => searchParams.get("edit") === "1",
  });
  // Whoever has left the editor has given its draft up.
  useEffect(
    () => () => {
      draft.value = undefined;
    },
    [],
  );
  const change = (next: KeptDashboard) => {
    steps.value = [...steps.value, draft.value].slice(-stepsMax);
    draft.value = next;
  };
  const setWidgets = (next: KeptWidget[]) =>
    change({ ...dashboard, content: { ...dashboard.content, widgets: next } });
  const undo = () => {
    draft.value = steps.value.at(-1);
    steps.value = steps.value.slice(0, -1);
    told.value = "Undone";
  };
  const editing: GridEditing = {
    onChange: setWidgets,
    onEdit: (widget, put) => {
      edited.value = { widget, save: put };
    },
    onTell: (text) => {
      told.value = text;
    },
  };
  const save = async () => {
    if (draft.value === undefined) return onEnd();
    try {
      await onSave(draft.value);
      draft.value = undefined;
      onEnd();
    } catch (error) {
      problem.value = (error as Error).message;
    }
  };
  return (
    <>
      <div class="screen-head editor-bar">
        <button type="button" onClick={() => addWidget(widgets, editing)}>
          Add a widget
        </button>
        <button
          type="button"
          onClick={() => {
            hasSettingsOpen.value = true;
          }}
        >
          Settings and variables
        </button>
        <button type="button" disabled={steps.value.length === 0} onClick={undo}>
          Undo
        </button>
        <span role="status" class="hint">
          {told.value === ""
            ? draft.value === undefined
              ? "Nothing was changed yet"
              : "Not saved yet"
            : told.value}
        </span>
        <span class="grow" />
        <button type="button" onClick={onEnd}>
          Cancel
        </button>
        <button type="button" class="primary" onClick={() => void save()}>
          Save
        </button>
      </div>
      {problem.value === "" ? null : (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
      <Grid widgets={widgets} scope={scope} onBrush={onBrush} editing={editing} />
      {edited.value === undefined ? null : (
        <WidgetForm
          widget={edited.value.widget}
          scope={scope}
          onSave={(next) => {
            edited.value!.save(next);
            edited.value = undefined;
          }}
          onClose={() => {
            edited.value = undefined;
          }}
        />
      )}
      {hasSettingsOpen.value ? (
        <SettingsForm
          dashboard={dashboard}
          onSave={(next) => {
            change(next);
            hasSettingsOpen.value = false;
          }}
          onClose={() => {
            hasSettingsOpen.value = false;
          }}
        />
      ) : null}
    </>
  );
}
