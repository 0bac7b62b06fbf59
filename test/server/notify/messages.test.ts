/** What people read at night: every destination says what is measured, where, how much, against what, and since when. */

import fc from "fast-check";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Action } from "../../../server/model/alert.ts";
import type { AlertEvent } from "../../../server/model/event.ts";
import { eventEnvelopes } from "../../../server/model/event.ts";
import { messageOf } from "../../../server/notify/message/message.ts";
import { oneLine, shorten } from "../../../server/notify/message/plain-text.ts";
import { AddressGuard } from "../../../server/notify/senders/address-guard.ts";
import { emailSender } from "../../../server/notify/senders/email.ts";
import { pagerDutySender } from "../../../server/notify/senders/pager-duty.ts";
import { slackSender } from "../../../server/notify/senders/slack.ts";
import { webhookSender } from "../../../server/notify/senders/webhook.ts";
import { fired, firedAtMs, hook, mail, pager, resolved, slack } from "./events.ts";
import { json, openReceiver } from "./receiver.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const guard = new AddressGuard(["127.0.0.0/8"]);
const publicUrl = "https://svc.example";

const night: Partial<AlertEvent> = {
  alertName: "Errors of the shop",
  severity: "critical",
  alertLabels: { team: "payments" },
  runbook: "https://wiki.example/errors",
  condition: {
    operators: [{ operator: "greaterThan", threshold: 10 }],
    datapointsToAlarm: 2,
    datapointsInEvaluationWindow: 3,
  },
  firingInstances: 4,
};

/** What a message must say. */
const musts = [
  "Errors of the shop",
  "critical",
  'count(logs{log_level="error"}) by (service.name)',
  "value 42",
  "> 10",
  "2 of 3 buckets of 1 min",
  new Date(firedAtMs).toISOString(),
  "service.name=cart",
  "https://svc.example/alerts/alert-1?fire=",
  "https://wiki.example/errors",
  "team=payments",
];

type Delivery<Type extends Action["type"]> = { action: Extract<Action, { type: Type }> };

function deliveryOf<Type extends Action["type"]>(action: Action, ...events: AlertEvent[]) {
  return { id: "msg-1", events, receipts: [], nowMs: firedAtMs, ...({ action } as Delivery<Type>) };
}

interface SlackBody {
  blocks: { text: { type: string; text: string } }[];
}

async function sendToSlack(...events: AlertEvent[]): Promise<SlackBody> {
  const receiver = await openReceiver(json({ ok: true, ts: "1", channel: "C1" }));
  const send = slackSender({ botToken: "xoxb-1", apiUrl: receiver.url, guard, publicUrl });
  await send(deliveryOf<"slack">(slack("#a"), ...events));
  return JSON.parse(receiver.received[0]!.body) as SlackBody;
}

async function sendMail(...events: AlertEvent[]): Promise<{ text: string; html: string }> {
  const mails: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData(stream, _session, done) {
      const pieces: Buffer[] = [];
      stream.on("data", (piece: Buffer) => pieces.push(piece));
      stream.on("end", () => {
        mails.push(Buffer.concat(pieces).toString("utf8"));
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as { port: number };
  const from = "svc@svc.example";
  const send = emailSender({ host: "127.0.0.1", port, security: "none", from, publicUrl });
  await send(deliveryOf<"email">(mail("a@b.example"), ...events));
  const { text = "", html = "" } = await PostalMime.parse(mails[0]!);
  return { text, html };
}

async function sendToWebhook(value: { groupInstances?: boolean; body?: string }, ...events: AlertEvent[]) {
  const receiver = await openReceiver(200);
  const send = webhookSender({
    webhookOf: () => ({ value: { url: receiver.url, ...value } }),
    readSecret: async () => ({ problem: "none" }),
    onGone: () => undefined,
    isOff: () => false,
    mayReceive: () => true,
    ...{ guard, publicUrl },
  });
  await send(deliveryOf<"webhook">(hook("h"), ...events));
  return JSON.parse(receiver.received[0]!.body) as Record<string, unknown>;
}

async function sendToPagerDuty(action: Action, ...events: AlertEvent[]) {
  const receiver = await openReceiver(202);
  const send = pagerDutySender({ routingKeys: { shop: "R" }, eventsUrl: receiver.url, guard, publicUrl });
  const outcome = await send(deliveryOf<"pagerDuty">(action, ...events));
  const [received] = receiver.received;
  return { outcome, body: received && (JSON.parse(received.body) as Record<string, unknown>) };
}

describe(`messages (SVC_SEED=${seed})`, () => {
  test("Slack says all of it", async () => {
    const { blocks } = await sendToSlack(fired("cart", night));
    const text = blocks.map((block) => block.text.text).join("\n");
    for (const must of musts) expect(text).toContain(must);
  });

  test("e-mail says all of it, as text and as HTML", async () => {
    const { text, html } = await sendMail(fired("cart", night));
    for (const must of musts) expect(text).toContain(must);
    const shown = html.replaceAll("&quot;", '"').replaceAll("&gt;", ">").replaceAll("&lt;", "<");
    for (const must of musts) expect(shown).toContain(must);
  });

  test("a webhook gets all of it, as facts and as a text", async () => {
    const envelope = await sendToWebhook({}, fired("cart", night));
    expect(eventEnvelopes.alertFired.parse(envelope)).toEqual(envelope);
    expect(envelope).toMatchObject({
      title: "Firing (critical): Errors of the shop",
      message: "high, service.name=cart: value 42 (> 10), since 2026-01-10T12:00:00.000Z",
      data: {
        ...{ severity: "critical", alertLabels: { team: "payments" }, firingInstances: 4 },
        ...{ condition: night.condition, runbook: "https://wiki.example/errors" },
        breachingDatapoint: { value: 42 },
      },
    });
    const names = [
      ...["severity", "threshold", "datapoints_to_alarm", "datapoints_in_evaluation_window", "query"],
      ...["runbook", "alert_labels", "firing_instances", "rule_name", "bucket_size", "instance_count"],
    ];
    const body = `{${names.map((name) => `"${name}": $${name}`).join(",")}}`;
    expect(await sendToWebhook({ body }, fired("cart", night))).toEqual({
      ...{ severity: "critical", threshold: "> 10", datapoints_to_alarm: 2, rule_name: "high" },
      ...{ datapoints_in_evaluation_window: 3, query: musts[2], bucket_size: 60, instance_count: 1 },
      ...{ runbook: night.runbook, alert_labels: night.alertLabels, firing_instances: 4 },
    });
  });

  test("PagerDuty gets all of it, with the severity and a link to the runbook", async () => {
    const { body } = await sendToPagerDuty(pager, fired("cart", { ...night, severity: "warning" }));
    expect(body).toMatchObject({
      links: [{ text: "Open the alert" }, { href: "https://wiki.example/errors", text: "Runbook" }],
      payload: {
        summary:
          "Errors of the shop: high, service.name=cart: value 42 (> 10), since 2026-01-10T12:00:00.000Z",
        severity: "warning",
        custom_details: { condition: night.condition, query: musts[2], alertLabels: { team: "payments" } },
      },
    });
  });

  test("what is not listed is counted, with the link; what is cut says by how much", async () => {
    const many = Array.from({ length: 57 }, (_, i) => fired(`service-${i}`, night));
    const more = `and 37 more: https://svc.example/alerts/alert-1?fire=${many[0]!.fireId}`;
    const { blocks } = await sendToSlack(...many);
    expect(blocks.map((block) => block.text.text)).toContain(more);
    expect((await sendMail(...many)).text).toContain(more);
    const grouped = await sendToWebhook({ groupInstances: true }, ...many);
    expect(grouped.message).toContain(more);
    expect((grouped.data as { instances: unknown[] }).instances).toHaveLength(57);
    expect(eventEnvelopes.alertFired.parse(grouped)).toEqual(grouped);
    const long = fired("x".repeat(1_200), night);
    expect(messageOf([long], publicUrl).instances[0]).toMatch(
      /x… \(\+[\d,]+ characters\): value 42 \(> 10\), since/,
    );
  });

  test("an alert's own template stands in the place of its description", async () => {
    const messageTemplate =
      "$service has $breaching_datapoint_value errors ($threshold). $alert_message $unknown";
    const event = fired("cart", { ...night, messageTemplate });
    const said =
      "cart has 42 errors (> 10). high, service.name=cart: value 42 (> 10), since 2026-01-10T12:00:00.000Z $unknown";
    expect((await sendMail(event)).text).toContain(said);
    expect((await sendToSlack(event)).blocks.map((block) => block.text.text)).toContain(said);
    expect((await sendToWebhook({}, event)).message).toBe(
      `${said}\nhigh, service.name=cart: value 42 (> 10), since 2026-01-10T12:00:00.000Z`,
    );
  });

  test("one incident for all instances opens with the first and resolves with the last", async () => {
    const action: Action = {
      type: "pagerDuty",
      pagerDutyDestination: { serviceName: "shop", groupInstances: true },
    };
    const trigger = await sendToPagerDuty(action, fired("a", night), fired("b", night));
    const last = await sendToPagerDuty(action, resolved("b"));
    expect(trigger.body).toMatchObject({
      event_action: "trigger",
      payload: { summary: "Firing (critical): Errors of the shop (2 instances)" },
    });
    expect(last.body).toMatchObject({ event_action: "resolve", dedup_key: trigger.body!.dedup_key });
    const delivery = { ...deliveryOf<"pagerDuty">(action, resolved("a")), othersFire: true };
    const send = pagerDutySender({
      routingKeys: { shop: "R" },
      eventsUrl: "http://127.0.0.1:1/",
      guard,
      publicUrl,
    });
    expect(await send(delivery)).toEqual({ kind: "delivered" });
  });

  test("no label forges a line, ends one, or hides what follows it", async () => {
    const names = await fc.sample(
      fc.string({
        unit: fc.constantFrom("a", "\n", "\r", "•", "*", "<", "|", "\u2028", "\u202e", "\0", "😀", "- "),
      }),
      { numRuns: 19, seed },
    );
    const events = ["\n• high, service.name=pay: value 0\n", ...names].map((name) => fired(name, night));
    const { blocks } = await sendToSlack(...events);
    const lines = blocks
      .flatMap((block) => (block.text.type === "plain_text" ? block.text.text.split(/[\n\r\u2028]/) : []))
      .filter((line) => line.startsWith("•"));
    expect(lines).toHaveLength(events.length);
    for (const line of lines)
      expect(line).toMatch(/^• high, service\.name=.*: value 42 \(> 10\), since 2026/s);
    const { text } = await sendMail(...events);
    const listed = text.split(/[\r\n\u2028]+/).filter((line) => line.startsWith("- "));
    expect(listed).toHaveLength(events.length);
    for (const line of listed) expect(line).toMatch(/^- high, service\.name=.*: value 42/s);
  });

  test("texts of one line, and shortened ones", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 40, max: 300 }), (text, length) => {
        const line = oneLine(text, length);
        expect(line).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
        expect(line.isWellFormed()).toBe(true);
        expect(line.length).toBeLessThanOrEqual(length);
      }),
      { seed },
    );
    expect(shorten("abcdefghij".repeat(10), 50)).toBe(`${"abcdefghij".repeat(3)}a… (+69 characters)`);
  });
});
