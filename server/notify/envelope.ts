import type { EventEnvelope, NotificationEvent } from "../model/event.ts";
import { rulesOf, time } from "./event-types.ts";
import { deepLink, eventLine, messageOf } from "./message.ts";

/** Makes the JSON form in which an event is sent. */
export function envelopeOf(event: NotificationEvent, publicUrl: string): EventEnvelope {
  const rules = rulesOf(event.type);
  return {
    id: event.id,
    type: event.type,
    version: "1.0.0",
    timestamp: time(rules.atMs(event)),
    title: messageOf([event], publicUrl).title,
    message: [eventLine(event), ...rules.details(event)].join("\n"),
    data: {
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
      ...rules.data(event),
      breachingDatapoint: { time: time(event.breached.bucketMs), value: event.breached.value },
      late: event.late,
      deepLink: deepLink(event, publicUrl),
    },
  };
}
