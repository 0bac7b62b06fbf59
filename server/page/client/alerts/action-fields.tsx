/** The fields of one destination that a rule tells. */

import { useEffect } from "preact/hooks";
import { ask } from "../api/client.ts";
import { makeLoading } from "../api/loading.ts";
import { Field } from "../ui/field.tsx";
import type { AlertAction } from "./answers.ts";

interface ActionFieldsProps {
  action: AlertAction;
  problem: string | undefined;
  onChange(action: AlertAction): void;
  onRemove(): void;
}

interface WebhooksAnswer {
  webhooks: { id: string; name?: string }[];
}

const webhooks = makeLoading((_: undefined, signal: AbortSignal) =>
  ask<WebhooksAnswer>("/api/v1/webhooks?limit=1000", { signal }),
);

/** The member of an action that says where to, and how it is called. */
const destinations: Readonly<Record<string, { member: string; key: string; label: string }>> = {
  slack: { member: "slackDestination", key: "channel", label: "Slack channel" },
  email: { member: "emailDestination", key: "emails", label: "E-mail addresses, with commas" },
  pagerDuty: { member: "pagerDutyDestination", key: "routingKey", label: "PagerDuty routing key" },
  webhook: { member: "webhookDestination", key: "uuid", label: "Webhook" },
};

export function ActionFields({ action, problem, onChange, onRemove }: ActionFieldsProps) {
  const known = destinations[action.type];
  if (known === undefined) return null;
  const destination = (action[known.member] ?? {}) as Record<string, unknown>;
  const change = (changes: Record<string, unknown>) =>
    onChange({ ...action, [known.member]: { ...destination, ...changes } });
  const value = destination[known.key];
  const text = Array.isArray(value) ? value.join(", ") : String(value ?? "");
  const setText = (next: string) =>
    change({ [known.key]: known.key === "emails" ? next.split(",").map((each) => each.trim()) : next });
  return (
    <div class="fields">
      <Field label={known.label} problem={problem}>
        {(attributes) =>
          action.type === "webhook" ? (
            <WebhookChoice attributes={attributes} id={text} onChange={setText} />
          ) : (
            <input {...attributes} value={text} onInput={(event) => setText(event.currentTarget.value)} />
          )
        }
      </Field>
      {action.type === "pagerDuty" ? null : (
        <label class="check">
          <input
            type="checkbox"
            checked={destination.notifyOnResolve === true}
            onChange={(event) => change({ notifyOnResolve: event.currentTarget.checked })}
          />{" "}
          also of the end
        </label>
      )}
      <button type="button" onClick={onRemove}>
        Remove destination
      </button>
    </div>
  );
}

interface WebhookChoiceProps {
  attributes: object;
  id: string;
  onChange(id: string): void;
}

function WebhookChoice({ attributes, id, onChange }: WebhookChoiceProps) {
  useEffect(() => void webhooks.load(undefined), []);
  const known = webhooks.answer.value?.webhooks ?? [];
  const isKnown = id === "" || known.some((each) => each.id === id);
  return (
    <select {...attributes} value={id} onChange={(event) => onChange(event.currentTarget.value)}>
      <option value="">Choose one</option>
      {isKnown ? null : <option value={id}>{id}</option>}
      {known.map((each) => (
        <option key={each.id} value={each.id}>
          {each.name ?? each.id}
        </option>
      ))}
    </select>
  );
}
