/** Triggers and resolves incidents through PagerDuty's Events API v2. */
import type { AlertEvent } from "../alert-event.ts";
import type { AddressGuard } from "./address-guard.ts";
import { envelopeOf } from "./envelope.ts";
import { answerProblem, retryOutcome, sendHttp } from "./http-request.ts";
import { deepLink, eventLine, time } from "./message.ts";
import type { Outcome, Senders } from "./sender.ts";

export interface PagerDutyOptions {
  /** Routing keys by the id or the name of a service. */
  routingKeys: Readonly<Record<string, string>>;
  /** Another place than PagerDuty's own, for tests. */
  eventsUrl?: string;
  guard: AddressGuard;
  publicUrl: string;
}

const pagerDutyEvents = "https://events.pagerduty.com/v2/enqueue";
/** https://developer.pagerduty.com/docs/send-alert-event */
const summaryLengthMax = 1_024;
const sourceLengthMax = 255;

export function pagerDutySender(options: PagerDutyOptions): Senders["pagerDuty"] {
  return async ({ action, events: [event] }): Promise<Outcome> => {
    const { routingKey, serviceId, serviceName } = action.pagerDutyDestination;
    const named = serviceId ?? serviceName;
    const key = routingKey ?? (named === undefined ? undefined : options.routingKeys[named]);
    if (key === undefined) {
      const which =
        named === undefined
          ? "the action names no routing key and no service"
          : `no routing key is configured for the PagerDuty service ${JSON.stringify(named)}`;
      return { kind: "final", problem: which };
    }
    const answer = await sendHttp(
      {
        method: "POST",
        url: new URL(options.eventsUrl ?? pagerDutyEvents),
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(pagerDutyBody(key, event!, options.publicUrl)),
      },
      options.guard,
    );
    if (answer.status >= 200 && answer.status < 300) return { kind: "delivered" };
    if (answer.status === 429 || answer.status >= 500) return retryOutcome(answer);
    return { kind: "final", problem: answerProblem(answer.status, answer.text) };
  };
}

function pagerDutyBody(routingKey: string, event: AlertEvent, publicUrl: string) {
  const dedup = { routing_key: routingKey, dedup_key: event.fireId };
  if (event.type === "alertResolved") return { ...dedup, event_action: "resolve" };
  const { labels, alertName } = event;
  return {
    ...dedup,
    event_action: "trigger",
    client: "svc",
    client_url: deepLink(event, publicUrl),
    payload: {
      summary: `${alertName}: ${eventLine(event)}`.slice(0, summaryLengthMax).toWellFormed(),
      source: (labels["service.name"] ?? alertName).slice(0, sourceLengthMax).toWellFormed(),
      severity: "critical",
      timestamp: time(event.firedAtMs),
      custom_details: envelopeOf(event, publicUrl).data,
    },
  };
}
