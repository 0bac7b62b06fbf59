/**
 * Triggers and resolves incidents through PagerDuty's Events API v2. A note is one more trigger with the key of an open
 * alert, which PagerDuty adds to the alert's log.
 */
import type { NotificationEvent } from "../../model/event.ts";
import { stableId } from "../../model/stable-id.ts";
import { listedInstancesMax } from "../limits.ts";
import { envelopeOf, groupEnvelopeOf } from "../message/envelope.ts";
import { deepLink, eventLine } from "../message/event-text.ts";
import { rulesOf, time } from "../message/event-types.ts";
import { messageOf } from "../message/message.ts";
import type { AddressGuard } from "./address-guard.ts";
import { describeAnswer, retryOutcome, sendHttp } from "./http-request.ts";
import type { Outcome, Senders } from "./sender.ts";

export interface PagerDutyOptions {
  /** Routing keys by the id or the name of a service. */
  routingKeys: Readonly<Record<string, string>>;
  /** URL of a server that stands in for PagerDuty's events API, for tests. */
  eventsUrl?: string | undefined;
  guard: AddressGuard;
  publicUrl: string;
}

const pagerDutyEvents = "https://events.pagerduty.com/v2/enqueue";
/** https://developer.pagerduty.com/docs/send-alert-event: a summary has 1,024 characters, a body 512 KB. */
const summaryLengthMax = 1_024;
const fieldLengthMax = 255;
const detailsBytesMax = 256 * 1024;

export function pagerDutySender(options: PagerDutyOptions): Senders["pagerDuty"] {
  return async ({ id, action, events, othersFire }): Promise<Outcome> => {
    const { routingKey, serviceId, serviceName, groupInstances = false } = action.pagerDutyDestination;
    const named = serviceId ?? serviceName;
    const key = routingKey ?? (named === undefined ? undefined : options.routingKeys[named]);
    if (key === undefined) {
      const which =
        named === undefined
          ? "the action names no routing key and no service"
          : `no routing key is configured for the PagerDuty service ${JSON.stringify(named)}`;
      return { kind: "final", problem: which };
    }
    const body = groupInstances
      ? groupBody(key, { id, events, othersFire }, options.publicUrl)
      : pagerDutyBody(key, events[0]!, options.publicUrl);
    if (body === undefined) return { kind: "delivered" };
    const answer = await sendHttp(
      {
        method: "POST",
        url: new URL(options.eventsUrl ?? pagerDutyEvents),
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      },
      options.guard,
    );
    if (answer.status >= 200 && answer.status < 300) return { kind: "delivered" };
    if (answer.status === 429 || answer.status >= 500) return retryOutcome(answer);
    return { kind: "final", problem: describeAnswer(answer.status, answer.text) };
  };
}

/** The message about an incident that stands for all instances of a rule; undefined where the incident stays open. */
function groupBody(
  routingKey: string,
  {
    id,
    events,
    othersFire = false,
  }: Pick<Parameters<Senders["pagerDuty"]>[0], "id" | "events" | "othersFire">,
  publicUrl: string,
) {
  const last = events.at(-1)!;
  const dedup = { dedup_key: stableId("incident", last.alertId, last.rule) };
  if (rulesOf(last.type).pagerDuty === "resolve") {
    return othersFire ? undefined : { ...pagerDutyBody(routingKey, last, publicUrl), ...dedup };
  }
  const body = pagerDutyBody(routingKey, events[0]!, publicUrl);
  if (events.length === 1 || !("payload" in body)) return { ...body, ...dedup };
  // PagerDuty refuses a message of more than 512 KB for good: it lists some instances, and says how many there are.
  const listed = groupEnvelopeOf(id, events.slice(0, listedInstancesMax), publicUrl);
  const { title } = messageOf(events, publicUrl);
  const details = detailsOf({ ...listed.data, instanceCount: events.length });
  const payload = { ...body.payload, summary: cut(title, summaryLengthMax), custom_details: details };
  return { ...body, ...dedup, payload };
}

function pagerDutyBody(routingKey: string, event: NotificationEvent, publicUrl: string) {
  const dedup = { routing_key: routingKey, dedup_key: event.fireId };
  if (rulesOf(event.type).pagerDuty === "resolve") return { ...dedup, event_action: "resolve" };
  const { labels, alertName, rule } = event;
  const link = deepLink(event, publicUrl);
  const { data } = envelopeOf(event, publicUrl);
  const component = labels["service.name"];
  const group = labels["k8s.namespace.name"] ?? labels["k8s.cluster.name"];
  return {
    ...dedup,
    event_action: "trigger",
    client: "svc",
    client_url: link,
    links: [{ href: link, text: rulesOf(event.type).link.text }, ...runbookLink(event)],
    payload: {
      summary: cut(`${alertName}: ${eventLine(event)}`, summaryLengthMax),
      source: cut(component ?? alertName, fieldLengthMax),
      severity: event.severity ?? "critical",
      timestamp: time(event.firedAtMs),
      ...(component === undefined ? {} : { component: cut(component, fieldLengthMax) }),
      ...(group === undefined ? {} : { group: cut(group, fieldLengthMax) }),
      class: cut(rule, fieldLengthMax),
      custom_details: detailsOf(data),
    },
  };
}

function runbookLink({ runbook = "" }: NotificationEvent) {
  return /^https?:\/\/\S+$/.test(runbook) ? [{ href: runbook, text: "Runbook" }] : [];
}

/** Returns the data whole, unless the body would be too long: then without labels and instances, and with shortened texts. */
function detailsOf(data: Record<string, unknown>): Record<string, unknown> {
  if (Buffer.byteLength(JSON.stringify(data)) <= detailsBytesMax) return data;
  const short = Object.entries(data).map(([name, value]) => [
    name,
    typeof value === "string" ? cut(value, summaryLengthMax) : value,
  ]);
  const leftOut = ["attributes", "instances"].filter((name) => name in data);
  return {
    ...Object.fromEntries(short),
    ...Object.fromEntries(leftOut.map((name) => [name, "left out: too long"])),
  };
}

function cut(text: string, length: number): string {
  const shown = text.toWellFormed();
  return shown.length <= length ? shown : `${shown.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
