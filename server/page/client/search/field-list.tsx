/** The fields of what was found, and the values of those that are opened. */

import { signal, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { FieldsAnswer, ValuesAnswer } from "../api/answers.ts";
import { ask } from "../api/client.ts";
import { makeLoading } from "../api/loading.ts";
import { run, type SearchRun, splitBy } from "../found/search-state.ts";
import { FieldActions } from "../rows/field-actions.tsx";

const fieldsMax = 500;
const valuesMax = 10;

const fields = makeLoading(async (started: SearchRun, aborting: AbortSignal) => {
  const body = { ...started, limit: fieldsMax };
  return { started, ...(await ask<FieldsAnswer>("/api/v1/query/fields", { body, signal: aborting })) };
});

/** Whether the list is shown where the screen is too small for it beside the rows. */
export const areFieldsOpen = signal(false);

export function FieldList() {
  const filter = useSignal("");
  useSignalEffect(() => {
    const started = run.value;
    // The list goes while rows are shown as they arrive, and comes back with the same run.
    if (started !== undefined && fields.answer.peek()?.started !== started) void fields.load(started);
  });
  const answer = fields.answer.value;
  const shown =
    answer?.fields.filter(({ name }) => name.toLowerCase().includes(filter.value.toLowerCase())) ?? [];
  return (
    <aside
      class={fields.isLoading.value ? "field-list stale" : "field-list"}
      data-open={areFieldsOpen.value || undefined}
      aria-label="Fields"
    >
      <input
        type="search"
        aria-label="Find a field"
        placeholder="Find a field"
        value={filter.value}
        onInput={(event) => {
          filter.value = event.currentTarget.value;
        }}
      />
      {fields.problem.value === undefined ? null : (
        <p class="problem small">{fields.problem.value.message}</p>
      )}
      <ul>
        {shown.map(({ name, rows }) => (
          <li key={name}>
            <Field name={name} share={rows / Math.max(1, answer!.count)} />
          </li>
        ))}
      </ul>
      {answer?.isWhole === false ? <p class="hint">There are more fields: narrow the search.</p> : null}
    </aside>
  );
}

function Field({ name, share }: { name: string; share: number }) {
  const isOpen = useSignal(false);
  return (
    <details
      onToggle={(event) => {
        isOpen.value = event.currentTarget.open;
      }}
    >
      <summary title={`${name}: in ${percent(share)} of the rows`}>
        <bdi>{name}</bdi>
        <span class="share">{percent(share)}</span>
      </summary>
      {isOpen.value && run.value !== undefined ? <Values field={name} started={run.value} /> : null}
    </details>
  );
}

function Values({ field, started }: { field: string; started: SearchRun }) {
  const values = useSignal(
    makeLoading<SearchRun, ValuesAnswer>((asked, signal) =>
      ask("/api/v1/query/values", {
        body: { field, ...asked, limit: valuesMax },
        signal,
      }),
    ),
  ).value;
  useEffect(() => void values.load(started), [started]);
  const answer = values.answer.value;
  if (values.problem.value !== undefined) return <p class="problem small">{values.problem.value.message}</p>;
  if (answer === undefined) return <p class="hint">Counting…</p>;
  const highest = Math.max(1, ...answer.values.map(({ count }) => count));
  return (
    <>
      <ul class="values">
        {answer.values.map(({ value, count }) => (
          <li key={value} title={value}>
            <span class="bar" style={{ width: `${(100 * count) / highest}%` }} />
            <bdi>{value.slice(0, 200)}</bdi>
            <span class="count">{count.toLocaleString("en")}</span>
            <FieldActions field={field} value={value} />
          </li>
        ))}
        {answer.isWhole ? null : <li class="hint">and other values</li>}
      </ul>
      <button type="button" class="quiet" onClick={() => splitBy(field)}>
        Split the bars by this
      </button>
    </>
  );
}

function percent(share: number): string {
  if (share >= 0.995) return "100%";
  return share < 0.01 ? "<1%" : `${Math.round(share * 100)}%`;
}
