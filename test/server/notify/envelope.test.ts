/** Every type of event has an envelope that fits its definition. */

import { expect, test } from "vitest";
import {
  eventEnvelope,
  eventTypes,
  type InvestigationEvent,
  type NotificationEvent,
  notificationEvent,
} from "../../../server/model/event.ts";
import { envelopeOf } from "../../../server/notify/envelope.ts";
import { rulesOf } from "../../../server/notify/event-types.ts";
import { fired, firedAtMs, hook, pager, resolved } from "./events.ts";

const { type: _, ...facts } = fired("cart");
const investigated: InvestigationEvent = {
  ...facts,
  type: "investigationCompleted",
  completedAtMs: firedAtMs + 60_000,
  summary: "cart: CPU",
};
const events: Record<(typeof eventTypes)[number], NotificationEvent> = {
  alertFired: fired("cart"),
  alertResolved: resolved("cart"),
  investigationCompleted: investigated,
};

test.each(eventTypes)("%s", (type) => {
  const event = events[type];
  expect(notificationEvent.parse(event)).toEqual(event);
  const envelope = envelopeOf(event, "https://svc.example");
  expect(eventEnvelope.parse(envelope)).toEqual(envelope);
  expect(envelope).toMatchObject({ id: event.id, type, version: "1.0.0" });
  expect(envelope.data).toMatchObject({ fireId: event.fireId, firedAt: new Date(firedAtMs).toISOString() });
});

test("a completed investigation is text for webhooks and people, and nothing to PagerDuty", () => {
  expect(envelopeOf(investigated, "https://svc.example")).toMatchObject({
    timestamp: new Date(firedAtMs + 60_000).toISOString(),
    title: "Investigated: Too many errors",
    message: "high, service.name=cart: cart: CPU",
    data: { summary: "cart: CPU" },
  });
  const { isWanted } = rulesOf("investigationCompleted");
  expect([isWanted(hook("a")), isWanted(pager)]).toEqual([true, false]);
});
