/** What members of a group may read, as the server's own filters say. */

import { useSignal } from "@preact/signals";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { nameCount } from "../ui/count.ts";
import { Field } from "../ui/field.tsx";

interface SightAnswer {
  signals: { signal: string; rows: number; services: { value: string; count: number }[] }[];
  metrics: { names: string[]; isWhole: boolean };
}

const dayMs = 86_400_000;

export function GroupSight() {
  const names = useSignal("");
  const loading = useLoading((groups: string[], signal: AbortSignal) =>
    ask<SightAnswer>("/api/v1/query/visible", {
      body: { groups, startTime: Date.now() - dayMs, endTime: Date.now() },
      signal,
    }),
  );
  const look = (event: Event) => {
    event.preventDefault();
    void loading.load(names.value.split(",").map((each) => each.trim()));
  };
  const answer = loading.answer.value;
  return (
    <section aria-label="What a group sees">
      <h2>What can this group see?</h2>
      <form class="fields" onSubmit={look}>
        <Field label="Groups of a member">
          {(attributes) => (
            <input
              {...attributes}
              required
              value={names.value}
              onInput={(event) => {
                names.value = event.currentTarget.value;
              }}
            />
          )}
        </Field>
        <button type="submit">Look at the last day</button>
      </form>
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {answer === undefined ? null : (
        <div role="status">
          <dl class="sight">
            {answer.signals.map(({ signal, rows, services }) => (
              <div key={signal}>
                <dt>{signal.replace("_", " ")}</dt>
                <dd>
                  {nameCount(rows, "row")}
                  {services.length === 0 ? null : ": "}
                  <bdi>{services.map(({ value }) => value).join(", ")}</bdi>
                </dd>
              </div>
            ))}
            <div>
              <dt>metrics</dt>
              <dd>
                {answer.metrics.names.length === 0 ? "none" : answer.metrics.names.join(", ")}
                {answer.metrics.isWhole ? "" : " and more"}
              </dd>
            </div>
          </dl>
        </div>
      )}
    </section>
  );
}
