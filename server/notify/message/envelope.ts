import type { EventEnvelope, NotificationEvent } from "../../model/event.ts";
import { deepLink, eventMessage } from "./event-text.ts";
import { rulesOf, time } from "./event-types.ts";
import { descriptionOf, messageOf, moreText, titleOf } from "./message.ts";

/** Makes the JSON form in which an event is sent. */
export function envelopeOf(event: NotificationEvent, publicUrl: string): EventEnvelope {
  const rules = rulesOf(event.type);
  return {
    id: event.id,
    type: event.type,
    version: "1.0.0",
    timestamp: time(rules.atMs(event)),
    title: titleOf([event]),
    message: [...writtenText(event, publicUrl), eventMessage(event)].join("\n"),
    data: dataOf(event, publicUrl),
  };
}

/**
 * The JSON form of one message about several events of one alert and one type. `data` is the first event's;
 * `data.instances` has one element for each event.
 */
export function groupEnvelopeOf(
  id: string,
  events: readonly NotificationEvent[],
  publicUrl: string,
): EventEnvelope {
  const [first] = events as [NotificationEvent];
  const message = messageOf(events, publicUrl);
  return {
    ...envelopeOf(first, publicUrl),
    id,
    title: message.title,
    message: [...writtenText(first, publicUrl), ...message.instances, moreText(message)]
      .filter((line) => line !== undefined)
      .join("\n"),
    data: {
      ...dataOf(first, publicUrl),
      instances: events.map((event) => instanceOf(event, publicUrl)),
    },
  };
}

/** What the alert's own template says, if it has one. */
function writtenText(event: NotificationEvent, publicUrl: string): string[] {
  return (event.messageTemplate ?? "") === "" ? [] : [descriptionOf(event, publicUrl)];
}

function dataOf(event: NotificationEvent, publicUrl: string): EventEnvelope["data"] {
  const rules = rulesOf(event.type);
  const { condition, severity, alertLabels, runbook, firingInstances } = event;
  return {
    alertId: event.alertId,
    alertName: event.alertName,
    alertDescription: event.alertDescription,
    rule: event.rule,
    state: rules.state,
    fireId: event.fireId,
    attributes: event.labels,
    query: event.query,
    bucketSize: event.bucketSeconds,
    firedAt: time(event.firedAtMs),
    condition: condition ?? null,
    severity: severity ?? null,
    alertLabels: alertLabels ?? {},
    runbook: runbook ?? null,
    firingInstances: firingInstances ?? null,
    repeat: event.repeat ?? null,
    ...rules.data(event),
    breachingDatapoint: breachingDatapointOf(event),
    late: event.late,
    deepLink: deepLink(event, publicUrl),
  };
}

/** What differs between the instances in one message. */
function instanceOf(event: NotificationEvent, publicUrl: string): Record<string, unknown> {
  return {
    fireId: event.fireId,
    rule: event.rule,
    attributes: event.labels,
    firedAt: time(event.firedAtMs),
    ...rulesOf(event.type).data(event),
    breachingDatapoint: breachingDatapointOf(event),
    late: event.late,
    deepLink: deepLink(event, publicUrl),
  };
}

function breachingDatapointOf({ breached }: NotificationEvent) {
  return { time: time(breached.bucketMs), value: breached.value };
}
