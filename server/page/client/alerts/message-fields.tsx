/** What messages about an alert say besides what was measured: severity, labels, runbook and a text of one's own. */

import { Field } from "../ui/field.tsx";
import type { SavedAlert } from "./answers.ts";

const severities = ["critical", "error", "warning", "info"];

interface MessageFieldsProps {
  alert: SavedAlert;
  problemAt(member: string): string | undefined;
  onChange(next: SavedAlert): void;
}

export function MessageFields({ alert, problemAt, onChange }: MessageFieldsProps) {
  /** Changes a member; an empty text removes it. */
  const set = (member: "severity" | "runbook" | "messageTemplate", text: string) => {
    const { [member]: _before, ...others } = alert;
    onChange(text === "" ? others : { ...others, [member]: text });
  };
  return (
    <details class="message-fields" open={hasAny(alert)}>
      <summary>Severity, labels and message</summary>
      <Field label="Severity" problem={problemAt(".severity")}>
        {(attributes) => (
          <select
            {...attributes}
            value={alert.severity ?? ""}
            onChange={(event) => set("severity", event.currentTarget.value)}
          >
            <option value="">none</option>
            {severities.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        )}
      </Field>
      <Field
        label="Labels"
        hint="As in team=shop, one a line: routes and silences go by them."
        problem={problemAt(".labels")}
      >
        {(attributes) => (
          <textarea
            {...attributes}
            rows={2}
            defaultValue={Object.entries(alert.labels ?? {})
              .map(([key, value]) => `${key}=${value}`)
              .join("\n")}
            onInput={(event) => onChange(withLabels(alert, event.currentTarget.value))}
          />
        )}
      </Field>
      <Field
        label="Runbook"
        hint="A link, or what to do: it stands in each message."
        problem={problemAt(".runbook")}
      >
        {(attributes) => (
          <input
            {...attributes}
            value={alert.runbook ?? ""}
            onInput={(event) => set("runbook", event.currentTarget.value)}
          />
        )}
      </Field>
      <Field
        label="Message"
        hint="Stands in the place of the description. Variables such as $service and $breaching_datapoint_value are replaced."
        problem={problemAt(".messageTemplate")}
      >
        {(attributes) => (
          <textarea
            {...attributes}
            rows={3}
            value={alert.messageTemplate ?? ""}
            onInput={(event) => set("messageTemplate", event.currentTarget.value)}
          />
        )}
      </Field>
    </details>
  );
}

function hasAny({ severity, labels, runbook, messageTemplate }: SavedAlert): boolean {
  return [severity, labels, runbook, messageTemplate].some((member) => member !== undefined);
}

function withLabels(alert: SavedAlert, text: string): SavedAlert {
  const { labels: _before, ...others } = alert;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) return others;
  const pairs = lines.map((line): [string, string] => {
    const [key, ...value] = line.split("=");
    return [key!.trim(), value.join("=").trim()];
  });
  return { ...others, labels: Object.fromEntries(pairs) };
}
