/** What people say of an investigation: right, or wrong and what the true cause is. */

import { useSignal } from "@preact/signals";
import { ask } from "../api/client.ts";
import { may } from "../api/session.ts";
import { clock } from "../time/zone.ts";
import { Field } from "../ui/field.tsx";
import type { Feedback, OpenedInvestigation } from "./answers.ts";

interface FeedbackFormProps {
  investigation: OpenedInvestigation;
  onSaved(): void;
}

export function FeedbackForm({ investigation: { id, feedback }, onSaved }: FeedbackFormProps) {
  const isWrong = useSignal(false);
  const cause = useSignal("");
  const problem = useSignal("");
  const save = async (body: Feedback) => {
    problem.value = "";
    try {
      await ask(`/api/v1/investigations/${encodeURIComponent(id)}/feedback`, { body });
      isWrong.value = false;
      onSaved();
    } catch (error) {
      problem.value = (error as Error).message;
    }
  };
  return (
    <section class="feedback" aria-label="Feedback">
      {feedback === null ? null : (
        <p>
          <bdi>{feedback.by}</bdi> says that it is <b>{feedback.verdict}</b>, {clock.value.short(feedback.at)}
          {feedback.cause === undefined ? "" : ": "}
          <bdi>{feedback.cause ?? ""}</bdi>
        </p>
      )}
      {may("configure") ? (
        <div class="fields">
          <span>Is the first suspect the cause?</span>
          <button type="button" onClick={() => void save({ verdict: "right" })}>
            Right
          </button>
          <button
            type="button"
            aria-expanded={isWrong.value}
            onClick={() => {
              isWrong.value = !isWrong.value;
            }}
          >
            Wrong
          </button>
        </div>
      ) : null}
      {isWrong.value ? (
        <form
          class="fields"
          onSubmit={(event) => {
            event.preventDefault();
            const told = cause.value.trim();
            void save({ verdict: "wrong", ...(told === "" ? {} : { cause: told }) });
          }}
        >
          <Field label="The true cause, where it is known">
            {(attributes) => (
              <input
                {...attributes}
                type="text"
                maxLength={1_000}
                value={cause.value}
                onInput={(event) => {
                  cause.value = event.currentTarget.value;
                }}
              />
            )}
          </Field>
          <button type="submit" class="primary">
            Save
          </button>
        </form>
      ) : null}
      {problem.value === "" ? null : (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
    </section>
  );
}
