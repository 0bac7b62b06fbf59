/** A button that puts the chart of a query on a dashboard. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useLoading } from "../api/loading.ts";
import { may } from "../api/session.ts";
import { go } from "../browser/address.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { addChart, loadDashboards, type NewChart } from "./kept-dashboards.ts";

interface AddToDashboardProps extends NewChart {
  /** The range of the chart, as the address has it. */
  range: { from: string; to: string };
}

export function AddToDashboard(props: AddToDashboardProps) {
  const isOpen = useSignal(false);
  if (!may("configure")) return null;
  return (
    <>
      <button
        type="button"
        onClick={() => {
          isOpen.value = true;
        }}
      >
        Add to a dashboard
      </button>
      {isOpen.value ? (
        <AddDialog
          {...props}
          onClose={() => {
            isOpen.value = false;
          }}
        />
      ) : null}
    </>
  );
}

/** The choice that makes a dashboard. */
const newOne = "";

function AddDialog({ title, query, range, onClose }: AddToDashboardProps & { onClose(): void }) {
  const loading = useLoading(loadDashboards);
  useEffect(() => void loading.load(undefined), []);
  const name = useSignal(title);
  const chosen = useSignal(newOne);
  const newTitle = useSignal("");
  const problem = useSignal("");
  const answer = loading.answer.value;
  const own = (answer?.dashboards ?? []).filter(
    ({ metadata: { id = "" } }) => answer?.managed?.[id] === undefined,
  );
  const add = async (event: Event) => {
    event.preventDefault();
    const made = {
      settings: { layoutVersion: 2, defaultTimeRange: "1h" },
      metadata: { title: newTitle.value },
      content: { widgets: [] },
    };
    try {
      const chart = { title: name.value, query };
      const id = await addChart(chosen.value === newOne ? made : { id: chosen.value }, chart);
      go(`/dashboards/${encodeURIComponent(id)}?${new URLSearchParams({ from: range.from, to: range.to })}`);
    } catch (error) {
      problem.value = (error as Error).message;
    }
  };
  return (
    <Dialog title="Add to a dashboard" onClose={onClose}>
      <form class="dialog-form" onSubmit={add}>
        <Field label="Title of the chart">
          {(attributes) => (
            <input
              {...attributes}
              value={name.value}
              onInput={(event) => {
                name.value = event.currentTarget.value;
              }}
            />
          )}
        </Field>
        <Field label="Dashboard" hint="Dashboards that are managed elsewhere cannot be changed here.">
          {(attributes) => (
            <select
              {...attributes}
              value={chosen.value}
              onChange={(event) => {
                chosen.value = event.currentTarget.value;
              }}
            >
              <option value={newOne}>A new one</option>
              {own.map(({ metadata }) => (
                <option key={metadata.id} value={metadata.id}>
                  {metadata.title}
                </option>
              ))}
            </select>
          )}
        </Field>
        {chosen.value === newOne ? (
          <Field label="Title of the dashboard">
            {(attributes) => (
              <input
                {...attributes}
                required
                value={newTitle.value}
                onInput={(event) => {
                  newTitle.value = event.currentTarget.value;
                }}
              />
            )}
          </Field>
        ) : null}
        {[problem.value, loading.problem.value?.message ?? ""].map((sentence, i) =>
          sentence === "" ? null : (
            <p key={i} class="problem" role="alert">
              {sentence}
            </p>
          ),
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Add
          </button>
        </div>
      </form>
    </Dialog>
  );
}
