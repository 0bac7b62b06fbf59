/** Makes a silence: a time in which alerts, or instances with some labels, notify nobody. */

import { useSignal } from "@preact/signals";
import { ApiProblem, ask } from "../api/client.ts";
import { clock } from "../time/zone.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";

interface SilenceDialogProps {
  /** The silenced alerts; all alerts where absent, and then labels are needed. */
  alertIds?: readonly string[];
  onClose(): void;
  onSaved(): void;
}

const hourMs = 3_600_000;
const durations: readonly { name: string; ms: number }[] = [
  { name: "30 minutes", ms: hourMs / 2 },
  { name: "2 hours", ms: 2 * hourMs },
  { name: "8 hours", ms: 8 * hourMs },
  { name: "1 day", ms: 24 * hourMs },
  { name: "1 week", ms: 168 * hourMs },
];

export function SilenceDialog({ alertIds, onClose, onSaved }: SilenceDialogProps) {
  const durationMs = useSignal(durations[1]!.ms);
  const comment = useSignal("");
  const labels = useSignal("");
  const problem = useSignal<ApiProblem | undefined>(undefined);
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      const matchExpressions = readLabels(labels.value);
      const silence = {
        endsAt: Date.now() + durationMs.value,
        ...(comment.value === "" ? {} : { comment: comment.value }),
        ...(alertIds === undefined ? {} : { alertIds }),
        ...(matchExpressions.length === 0 ? {} : { match: { matchExpressions } }),
      };
      await ask("/api/v1/silences", { body: { silence } });
      onSaved();
      onClose();
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      problem.value = error;
    }
  };
  const isAboutLabels = problem.value?.field?.includes("match") === true;
  return (
    <Dialog title={alertIds === undefined ? "New silence" : "Silence this alert"} onClose={onClose}>
      <form class="dialog-form" onSubmit={save}>
        <Field label="For" hint={`Until ${clock.value.short(Date.now() + durationMs.value)}`}>
          {(attributes) => (
            <select
              {...attributes}
              value={String(durationMs.value)}
              onChange={(event) => {
                durationMs.value = Number(event.currentTarget.value);
              }}
            >
              {durations.map(({ name, ms }) => (
                <option key={ms} value={String(ms)}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field
          label={alertIds === undefined ? "Labels" : "Labels, where not all instances are meant"}
          hint="service.name=/k8s/shop/cart, one of them a line; several values with commas; != for all others"
          problem={isAboutLabels ? problem.value!.message : undefined}
        >
          {(attributes) => (
            <textarea
              {...attributes}
              rows={2}
              value={labels.value}
              onInput={(event) => {
                labels.value = event.currentTarget.value;
              }}
            />
          )}
        </Field>
        <Field label="Comment">
          {(attributes) => (
            <input
              {...attributes}
              value={comment.value}
              onInput={(event) => {
                comment.value = event.currentTarget.value;
              }}
            />
          )}
        </Field>
        {problem.value === undefined || isAboutLabels ? null : (
          <p class="problem" role="alert">
            {problem.value.message}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Silence
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Reads lines such as `service.name=cart,basket`. Throws ApiProblem for one that is none. */
function readLabels(text: string) {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const match = /^([^=!]+?)\s*(!?=)\s*(.*)$/.exec(line);
      if (match === null)
        throw new ApiProblem(`${line} must be a name, = or !=, and values`, 400, { field: "match" });
      const [, key, sign, values] = match as unknown as [string, string, string, string];
      return {
        key,
        operator: sign === "=" ? "In" : "NotIn",
        values: values.split(",").map((value) => value.trim()),
      };
    });
}
