/** Asks for an investigation: of a window, of what a query finds in it, or of a trace. */

import { useSignal } from "@preact/signals";
import { ApiProblem, ask } from "../api/client.ts";
import { go, parameters } from "../browser/address.ts";
import { goToRange } from "../time/address-range.tsx";
import { resolveRange } from "../time/range.ts";
import { RangePicker } from "../time/range-picker.tsx";
import { Field } from "../ui/field.tsx";
import type { OpenedInvestigation } from "./answers.ts";

const defaultFrom = "-15m";

export function QuestionForm() {
  const address = parameters.value;
  const range = { from: address.get("from") ?? defaultFrom, to: address.get("to") ?? "now" };
  const subject = useSignal(address.get("trace") ?? address.get("q") ?? "");
  const problem = useSignal<ApiProblem | undefined>(undefined);
  const isRunning = useSignal(false);
  const investigate = async () => {
    isRunning.value = true;
    problem.value = undefined;
    try {
      const body = bodyOf(subject.value.trim(), resolveRange(range, Date.now()));
      const { id } = await ask<OpenedInvestigation>("/api/v1/investigations", { body });
      go(`/investigations/${encodeURIComponent(id)}`);
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      problem.value = error;
    } finally {
      isRunning.value = false;
    }
  };
  return (
    <form
      class="fields"
      onSubmit={(event) => {
        event.preventDefault();
        void investigate();
      }}
    >
      <RangePicker range={range} onChange={goToRange} />
      <Field label="Of a query or a trace, or of everything" problem={problem.value?.message}>
        {(attributes) => (
          <input
            {...attributes}
            class="investigated"
            type="text"
            spellcheck={false}
            placeholder={'traces{status_code="error"}'}
            value={subject.value}
            onInput={(event) => {
              subject.value = event.currentTarget.value;
            }}
          />
        )}
      </Field>
      <button type="submit" class="primary" disabled={isRunning.value}>
        {isRunning.value ? "Investigating…" : "Investigate"}
      </button>
    </form>
  );
}

function bodyOf(subject: string, range: { startTime: number; endTime: number }) {
  if (/^[0-9a-f]{32}$/i.test(subject)) return { traceId: subject };
  return subject === "" ? range : { query: subject, ...range };
}
