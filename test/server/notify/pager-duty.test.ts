/** What PagerDuty is sent, against its published schema, and what its answers mean. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Action } from "../../../server/model/alert.ts";
import type { AlertEvent } from "../../../server/model/event.ts";
import { AddressGuard } from "../../../server/notify/senders/address-guard.ts";
import { pagerDutySender } from "../../../server/notify/senders/pager-duty.ts";
import { fired, firedAtMs, pager, resolved } from "./events.ts";
import { json, openReceiver } from "./receiver.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const guard = new AddressGuard(["127.0.0.0/8"]);
const publicUrl = "https://svc.example";
const schema = JSON.parse(
  readFileSync(join(import.meta.dirname, "schemas", "pager-duty-event.json"), "utf8"),
) as object;
const isEvent = new Ajv({ strict: false }).compile(schema);
const bodyBytesMax = 512_000;

type Pager = Extract<Action, { type: "pagerDuty" }>;

async function senderTo(...behaviours: Parameters<typeof openReceiver>) {
  const receiver = await openReceiver(...behaviours);
  const send = pagerDutySender({ routingKeys: { shop: "R1" }, eventsUrl: receiver.url, guard, publicUrl });
  const deliver = (event: AlertEvent, action: Pager = pager as Pager) =>
    send({ id: "msg-1", action, events: [event], receipts: [], nowMs: firedAtMs });
  return { deliver, receiver };
}

function checked(body: string): Record<string, unknown> & { payload: Record<string, unknown> } {
  const sent = JSON.parse(body) as ReturnType<typeof checked>;
  expect(isEvent(sent), JSON.stringify(isEvent.errors)).toBe(true);
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(bodyBytesMax);
  return sent;
}

describe(`PagerDuty (SVC_SEED=${seed})`, () => {
  test("a message about very many instances lists some, and says how many there are", async () => {
    const receiver = await openReceiver(202);
    const send = pagerDutySender({ routingKeys: { shop: "R1" }, eventsUrl: receiver.url, guard, publicUrl });
    const events = Array.from({ length: 1_000 }, (_, i) => {
      const event = fired(`pod-${i}`);
      const labels = Object.fromEntries(
        ["a", "b", "c", "d"].map((name) => [name, `${name}-${i}-${"x".repeat(60)}`]),
      );
      return { ...event, labels: { ...event.labels, ...labels } };
    });
    const { type, pagerDutyDestination } = pager as Pager;
    const action: Pager = { type, pagerDutyDestination: { ...pagerDutyDestination, groupInstances: true } };
    expect(await send({ id: "msg-1", action, events, receipts: [], nowMs: firedAtMs })).toEqual({
      kind: "delivered",
    });
    const { payload } = checked(receiver.received[0]!.body);
    const details = payload.custom_details as { instances: unknown[]; instanceCount: number };
    expect([details.instances.length, details.instanceCount]).toEqual([20, 1_000]);
  });

  test("trigger and resolve have one key; services are mapped to routing keys", async () => {
    const { deliver, receiver } = await senderTo(202);
    const labels = { "service.name": "cart", "k8s.namespace.name": "shop" };
    await deliver(fired("cart", { labels }));
    await deliver(resolved("cart"));
    const [trigger, resolve] = receiver.received.map(({ body }) => checked(body));
    const key = fired("cart").fireId;
    expect(trigger).toMatchObject({
      ...{ routing_key: "R1", event_action: "trigger", dedup_key: key, client: "svc" },
      links: [{ href: expect.stringMatching(/^https:\/\/svc\.example\/alerts\/alert-1\?fire=/) as string }],
      payload: {
        ...{ source: "cart", component: "cart", group: "shop", class: "high", severity: "critical" },
        timestamp: new Date(firedAtMs).toISOString(),
        custom_details: { attributes: labels },
      },
    });
    expect(resolve).toEqual({ routing_key: "R1", event_action: "resolve", dedup_key: key });
  });

  test("whatever an alert holds, the body keeps to the schema and its lengths", async () => {
    const { deliver, receiver } = await senderTo(202);
    const text = fc.oneof(
      fc.string({ unit: "binary", minLength: 1 }),
      fc.nat(200_000).map((length) => "é".repeat(length + 1)),
    );
    const changes = fc.record({
      alertName: text,
      alertDescription: text,
      rule: text,
      labels: fc.dictionary(fc.constantFrom("service.name", "k8s.namespace.name", "other"), text),
    });
    await fc.assert(
      fc.asyncProperty(changes, async (change) => {
        await deliver(fired("cart", change));
        await deliver(resolved("cart", change));
        for (const { body } of receiver.received.splice(0)) checked(body);
      }),
      { seed, numRuns: 15 },
    );
  });

  test("what each answer means: 202 is success, 400 is final, 429 and 5xx are tried again", async () => {
    const limited = json({ status: "throttle exceeded" }, 429, { "Retry-After": "30" });
    const { deliver } = await senderTo(202, 400, limited, 500, 503, "reset", 403);
    const outcomes = [];
    for (let i = 0; i < 7; i++) {
      outcomes.push(await deliver(fired("cart")).catch(() => ({ kind: "thrown, which is tried again" })));
    }
    expect(outcomes.map(({ kind }) => kind)).toEqual([
      ...["delivered", "final", "retry", "retry", "retry", "thrown, which is tried again", "final"],
    ]);
    expect(outcomes[2]).toMatchObject({ afterMs: 30_000 });
  });

  test("a key of the action's own, and a service that nobody has configured", async () => {
    const { deliver, receiver } = await senderTo(202);
    await deliver(fired("cart"), { type: "pagerDuty", pagerDutyDestination: { routingKey: "own" } });
    expect(checked(receiver.received[0]!.body)).toMatchObject({ routing_key: "own" });
    expect(
      await deliver(fired("cart"), { type: "pagerDuty", pagerDutyDestination: { serviceId: "P9" } }),
    ).toMatchObject({ kind: "final", problem: expect.stringContaining('"P9"') as string });
    expect(await deliver(fired("cart"), { type: "pagerDuty", pagerDutyDestination: {} })).toMatchObject({
      kind: "final",
    });
  });
});
