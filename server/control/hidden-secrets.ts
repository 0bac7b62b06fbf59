/**
 * Secrets of alerts and webhooks, for those who may write them alone: others see a mark in their place. A mark that is sent back
 * stands for what is stored there.
 */

import { Refusal } from "../limits/refusal.ts";
import type { Alert } from "../model/alert.ts";
import type { Webhook } from "../model/webhook.ts";

/** No URL, no routing key, and nothing that anybody would send as a header. */
export const secretMark = "[hidden]";

type Rule = Alert["timeseries"]["evaluationRules"][number];
type Action = NonNullable<Rule["actions"]>[number];
type PagerDuty = Extract<Action, { type: "pagerDuty" }>["pagerDutyDestination"];

/** Names of services, which say nothing but where; whatever else is sent to PagerDuty may be a key. */
const plainMembers: ReadonlySet<string> = new Set(["serviceId", "serviceName"]);

export function hideAlertSecrets(alert: Alert): Alert {
  return withActions(alert, hideActionSecret);
}

/** Throws Refusal 400 for a mark that stands for nothing. */
export function restoreAlertSecrets(sent: Alert, before: Alert | undefined, path: string): Alert {
  return withActions(sent, (action, rule, i, j) => {
    const where = `${path}.timeseries.evaluationRules[${i}].actions[${j}]`;
    return restoreActionSecret(action, () => storedAction(action, before, rule.name, j), where);
  });
}

function withActions(
  alert: Alert,
  change: (action: Action, rule: Rule, ruleIndex: number, index: number) => Action,
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
    return { ...action, slackDestination: { ...action.slackDestination, channel: secretMark } };
  }
  if (action.type !== "pagerDuty") return action;
  const members = Object.entries(action.pagerDutyDestination);
  const masked = members.map(([name, value]) => [name, plainMembers.has(name) ? value : secretMark]);
  return { ...action, pagerDutyDestination: Object.fromEntries(masked) as PagerDuty };
}

function restoreActionSecret(action: Action, stored: () => Action | undefined, where: string): Action {
  if (action.type === "slack" && action.slackDestination.channel === secretMark) {
    const before = stored();
    if (before?.type !== "slack") throw meansNothing(`${where}.slackDestination.channel`);
    const { channel } = before.slackDestination;
    return { ...action, slackDestination: { ...action.slackDestination, channel } };
  }
  if (action.type !== "pagerDuty") return action;
  const members = Object.entries(action.pagerDutyDestination);
  if (!members.some(([, value]) => value === secretMark)) return action;
  const before = stored();
  const destination = before?.type === "pagerDuty" ? before.pagerDutyDestination : {};
  const whole = members.map(([name, value]) => {
    if (value !== secretMark) return [name, value];
    if (!Object.hasOwn(destination, name)) throw meansNothing(`${where}.pagerDutyDestination.${name}`);
    return [name, destination[name]];
  });
  return { ...action, pagerDutyDestination: Object.fromEntries(whole) as PagerDuty };
}

/** The action of the same rule, kind and place; or the only one of its kind there, for actions are moved about. */
function storedAction({ type }: Action, before: Alert | undefined, rule: string, index: number) {
  const actions = before?.timeseries.evaluationRules.find(({ name }) => name === rule)?.actions ?? [];
  const same = actions[index];
  if (same?.type === type) return same;
  const alike = actions.filter((each) => each.type === type);
  return alike.length === 1 ? alike[0] : undefined;
}

function meansNothing(path: string): Refusal {
  const mark = JSON.stringify(secretMark);
  return new Refusal(
    400,
    `${path} is ${mark}, which stands for a secret that is stored, and none is stored there: send it`,
  );
}

export function hideWebhookSecrets(
  { secret: _, ...rest }: Webhook,
  mayWrite: boolean,
): Omit<Webhook, "secret"> {
  if (mayWrite) return rest;
  const { headers, body } = rest;
  return {
    ...rest,
    url: secretMark,
    ...(headers === undefined ? {} : { headers: mapped(headers, () => secretMark) }),
    ...(body === undefined || body === "" ? {} : { body: secretMark }),
  };
}

/** Throws Refusal 400 for a mark that stands for nothing. */
export function restoreWebhookSecrets(sent: Webhook, before: Webhook | undefined, path: string): Webhook {
  const restored = (value: string, stored: string | undefined, at: string) => {
    if (value !== secretMark) return value;
    if (stored === undefined) throw meansNothing(`${path}.${at}`);
    return stored;
  };
  const { url, headers, body } = sent;
  const secret = sent.secret === undefined ? before?.secret : sent.secret;
  return {
    ...sent,
    url: restored(url, before?.url, "url"),
    ...(headers === undefined
      ? {}
      : {
          headers: mapped(headers, (value, name) =>
            restored(value, before?.headers?.[name], `headers.${name}`),
          ),
        }),
    ...(body === undefined ? {} : { body: restored(body, before?.body, "body") }),
    ...(secret === undefined ? {} : { secret }),
  };
}

function mapped(
  headers: Readonly<Record<string, string>>,
  change: (value: string, name: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, change(value, name)]));
}
