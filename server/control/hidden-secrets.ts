/**
 * Secrets of alerts and webhooks: only callers who may write the resource see them, others see `[hidden]`. A
 * placeholder that is sent back stands for the secret that is stored there.
 */

import type { Action, Alert, EvaluationRule } from "../model/alert.ts";
import type { Webhook } from "../model/webhook.ts";
import { Refusal } from "../throttle/refusal.ts";

/** Placeholder of a secret: it is no URL, no routing key, and nothing that anybody would send as a header. */
export const secretPlaceholder = "[hidden]";

type PagerDuty = Extract<Action, { type: "pagerDuty" }>["pagerDutyDestination"];

/** Members that are no secrets: they name a service. Any other member that is sent to PagerDuty may be a key. */
const publicMembers: ReadonlySet<string> = new Set(["serviceId", "serviceName", "groupInstances"]);

/** The alert for callers who may not write it. */
export function hideAlertSecrets(alert: Alert): Alert {
  return withActions(alert, hideActionSecret);
}

/** Puts stored secrets in the place of placeholders. Throws Refusal 400 where none is stored. */
export function restoreAlertSecrets(sent: Alert, before: Alert | undefined, path: string): Alert {
  return withActions(sent, (action, rule, i, j) => {
    const where = `${path}.timeseries.evaluationRules[${i}].actions[${j}]`;
    return restoreActionSecret(action, () => storedAction(action, before, rule.name, j), where);
  });
}

function withActions(
  alert: Alert,
  change: (action: Action, rule: EvaluationRule, ruleIndex: number, index: number) => Action,
): Alert {
  const evaluationRules = alert.timeseries.evaluationRules.map((rule, i) => {
    if (rule.actions === undefined) return rule;
    return { ...rule, actions: rule.actions.map((action, j) => change(action, rule, i, j)) };
  });
  return { ...alert, timeseries: { ...alert.timeseries, evaluationRules } };
}

function hideActionSecret(action: Action): Action {
  if (action.type === "slack") {
    const { channel } = action.slackDestination;
    // The address of an incoming webhook lets anybody post.
    if (!/^https?:/i.test(channel.trim())) return action;
    return { ...action, slackDestination: { ...action.slackDestination, channel: secretPlaceholder } };
  }
  if (action.type !== "pagerDuty") return action;
  const members = Object.entries(action.pagerDutyDestination);
  const masked = members.map(([name, value]) => [name, publicMembers.has(name) ? value : secretPlaceholder]);
  return { ...action, pagerDutyDestination: Object.fromEntries(masked) as PagerDuty };
}

function restoreActionSecret(action: Action, stored: () => Action | undefined, where: string): Action {
  if (action.type === "slack" && action.slackDestination.channel === secretPlaceholder) {
    const before = stored();
    if (before?.type !== "slack") throw makeNothingStored(`${where}.slackDestination.channel`);
    const { channel } = before.slackDestination;
    return { ...action, slackDestination: { ...action.slackDestination, channel } };
  }
  if (action.type !== "pagerDuty") return action;
  const members = Object.entries(action.pagerDutyDestination);
  if (!members.some(([, value]) => value === secretPlaceholder)) return action;
  const before = stored();
  const destination = before?.type === "pagerDuty" ? before.pagerDutyDestination : {};
  const restored = members.map(([name, value]) => {
    if (value !== secretPlaceholder) return [name, value];
    if (!Object.hasOwn(destination, name)) throw makeNothingStored(`${where}.pagerDutyDestination.${name}`);
    return [name, destination[name]];
  });
  return { ...action, pagerDutyDestination: Object.fromEntries(restored) as PagerDuty };
}

/**
 * Finds the stored action with this rule, type and index; else the only one of the type in the rule, since people
 * reorder actions.
 */
function storedAction({ type }: Action, before: Alert | undefined, rule: string, index: number) {
  const actions = before?.timeseries.evaluationRules.find(({ name }) => name === rule)?.actions ?? [];
  const atIndex = actions[index];
  if (atIndex?.type === type) return atIndex;
  const ofType = actions.filter((each) => each.type === type);
  return ofType.length === 1 ? ofType[0] : undefined;
}

function makeNothingStored(path: string): Refusal {
  const placeholder = JSON.stringify(secretPlaceholder);
  return new Refusal(
    400,
    `${path} is ${placeholder}, which stands for a secret that is stored, and none is stored there: send it`,
  );
}

/** Returns the webhook without its signing secret. Hides other secrets from callers who may not write the webhook. */
export function hideWebhookSecrets(
  { secret: _, ...rest }: Webhook,
  canWrite: boolean,
): Omit<Webhook, "secret"> {
  if (canWrite) return rest;
  const { headers, body } = rest;
  return {
    ...rest,
    url: secretPlaceholder,
    ...(headers === undefined ? {} : { headers: mapHeaders(headers, () => secretPlaceholder) }),
    ...(body === undefined || body === "" ? {} : { body: secretPlaceholder }),
  };
}

/** Puts stored secrets in the place of placeholders. Throws Refusal 400 where none is stored. */
export function restoreWebhookSecrets(sent: Webhook, before: Webhook | undefined, path: string): Webhook {
  const restore = (value: string, stored: string | undefined, field: string) => {
    if (value !== secretPlaceholder) return value;
    if (stored === undefined) throw makeNothingStored(`${path}.${field}`);
    return stored;
  };
  const restoreHeader = (value: string, name: string) =>
    restore(value, before?.headers?.[name], `headers.${name}`);
  const { url, headers, body } = sent;
  const secret = sent.secret === undefined ? before?.secret : sent.secret;
  return {
    ...sent,
    url: restore(url, before?.url, "url"),
    ...(headers === undefined ? {} : { headers: mapHeaders(headers, restoreHeader) }),
    ...(body === undefined ? {} : { body: restore(body, before?.body, "body") }),
    ...(secret === undefined ? {} : { secret }),
  };
}

function mapHeaders(
  headers: Readonly<Record<string, string>>,
  change: (value: string, name: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, change(value, name)]));
}
