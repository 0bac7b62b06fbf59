/** Every type of event has an envelope that fits its definition. */

import { expect, test } from "vitest";
import { openApiOf } from "../../../server/api/openapi.ts";
import {
  eventEnvelopes,
  eventTypes,
  type InvestigationEvent,
  type NotificationEvent,
  notificationEvent,
} from "../../../server/model/event.ts";
import { envelopeOf } from "../../../server/notify/message/envelope.ts";
import { fillBody } from "../../../server/notify/message/template.ts";
import { variablesOf } from "../../../server/notify/message/variables.ts";
import { fired, firedAtMs, resolved } from "./events.ts";

const { type: _, ...facts } = fired("cart");
const investigated: InvestigationEvent = {
  ...facts,
  type: "investigationCompleted",
  report: {
    investigationId: "4f0c",
    completedAt: new Date(firedAtMs + 60_000).toISOString(),
    windowStart: new Date(firedAtMs - 120_000).toISOString(),
    windowEnd: new Date(firedAtMs + 60_000).toISOString(),
    summary: "cart is the likely cause (cpu, 90 %)",
    confidence: 0.9,
    suspects: [
      {
        ...{ service: "/k8s/shop/cart", kind: "cpu", confidence: 0.9, score: 0.8, pod: "cart-1" },
        evidence: [
          { id: "1.1", sentence: "CPU of cart-1 is up to 98", query: "max({cpu})" },
          { id: "1.2", sentence: "GET /cart takes 2 s", query: "traces{}" },
        ],
      },
      { service: "/k8s/shop/stock", kind: "code", confidence: 0.1, score: 0.2, evidence: [] },
    ],
    timeline: [{ at: new Date(firedAtMs - 60_000).toISOString(), sentence: "CPU of cart-1 is up to 98" }],
    affected: ["web “GET /” (40 calls): 20 % of the calls fail, where 1 % is usual"],
    nextSteps: ["See what takes the CPU in the pod cart-1"],
    fires: [{ alertId: facts.alertId, alertName: facts.alertName, fireId: facts.fireId }],
  },
};
const events: Record<(typeof eventTypes)[number], NotificationEvent> = {
  alertFired: fired("cart"),
  alertResolved: resolved("cart"),
  alertUnhealthy: fired("cart", { type: "alertUnhealthy", rule: "", labels: {}, problem: "access lost" }),
  alertHealthy: resolved("cart", { type: "alertHealthy", rule: "", labels: {}, problem: "access lost" }),
  investigationCompleted: investigated,
};

test.each(eventTypes)("%s", (type) => {
  const event = events[type];
  expect(notificationEvent.parse(event)).toEqual(event);
  const envelope = envelopeOf(event, "https://svc.example");
  expect(eventEnvelopes[type].parse(envelope)).toEqual(envelope);
  expect(envelope).toMatchObject({ id: event.id, type, version: "1.0.0" });
  expect(envelope.data).toMatchObject({ fireId: event.fireId, firedAt: new Date(firedAtMs).toISOString() });
});

test("a completed investigation names suspect, evidence and next step, for programs and for people", () => {
  const message = [
    "high, service.name=cart: cart is the likely cause (cpu, 90 %)",
    "GET /cart takes 2 s",
    "less likely: /k8s/shop/stock (code)",
    "next: See what takes the CPU in the pod cart-1",
  ].join("\n");
  expect(envelopeOf(investigated, "https://svc.example")).toMatchObject({
    timestamp: new Date(firedAtMs + 60_000).toISOString(),
    title: "Investigated: Too many errors",
    message,
    data: { ...investigated.report, deepLink: "https://svc.example/investigations/4f0c", state: "firing" },
  });
  const variables = variablesOf(investigated, "https://svc.example");
  const body = fillBody('{"who":"$suspect_service","sure":$investigation_confidence}', undefined, variables);
  expect(JSON.parse(body)).toEqual({ who: "/k8s/shop/cart", sure: 0.9 });
  expect(fillBody("[$suspect_kind]", "text/plain", variablesOf(fired("cart"), "https://svc.example"))).toBe(
    "[]",
  );
});

test("the document has the schema of every event", () => {
  const { webhooks, components } = openApiOf([]);
  expect(Object.keys(webhooks)).toEqual([...eventTypes]);
  expect(Object.keys(components.schemas)).toEqual(
    expect.arrayContaining([
      "InvestigationCompletedData",
      "InvestigationCompletedEvent",
      "Suspect",
      "Evidence",
    ]),
  );
});
