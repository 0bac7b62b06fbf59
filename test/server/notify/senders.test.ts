/** Real receivers: what they get, and what their answers mean. */
import { Webhook as Verifier } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import type { Action } from "../../../server/model/alert.ts";
import type { AlertEvent } from "../../../server/model/event.ts";
import type { Webhook } from "../../../server/model/webhook.ts";
import { answerBytesMax, listedInstancesMax } from "../../../server/notify/limits.ts";
import { AddressGuard } from "../../../server/notify/senders/address-guard.ts";
import { sendHttp } from "../../../server/notify/senders/http-request.ts";
import { signHeaders } from "../../../server/notify/senders/signature.ts";
import { slackSender } from "../../../server/notify/senders/slack.ts";
import { webhookSender } from "../../../server/notify/senders/webhook.ts";
import { fired, firedAtMs, hook, resolved, slack } from "./events.ts";
import { json, openReceiver } from "./receiver.ts";

const guard = new AddressGuard(["127.0.0.0/8"]);
const publicUrl = "https://svc.example";
const secret = `whsec_${Buffer.from("a key of twenty-four bytes").toString("base64")}`;

function delivery<A extends Action>(action: A, ...events: AlertEvent[]) {
  return { id: "msg-1", action, events, receipts: [] as never[], nowMs: Date.now() };
}

const hookAction = hook("hook-1") as Extract<Action, { type: "webhook" }>;
const slackAction = slack("#alerts") as Extract<Action, { type: "slack" }>;

describe("webhooks", () => {
  function senderOf(webhooks: Record<string, Webhook>) {
    const off = new Set<string>();
    const send = webhookSender({
      webhookOf: (uuid) => webhooks[uuid] && { value: webhooks[uuid] },
      mayReceive: () => true,
      readSecret: async () => ({ problem: "there are no Secrets here" }),
      onGone: (uuid) => off.add(uuid),
      isOff: (uuid) => off.has(uuid),
      guard,
      publicUrl,
    });
    return { send, off };
  }

  test("the published vector of Standard Webhooks", () => {
    const headers = signHeaders(
      "msg_p5jXN8AQM9LWM0D4loKWxJek",
      1_614_265_330_000,
      '{"test": 2432232314}',
      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    );
    expect(headers["webhook-signature"]).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  });

  test("the envelope is sent, signed so that Standard Webhooks' own library takes it", async () => {
    const receiver = await openReceiver(200);
    const { send } = senderOf({ "hook-1": { url: `${receiver.url}/in`, secret } });
    expect(await send(delivery(hookAction, fired("cart")))).toEqual({ kind: "delivered" });
    const [{ method, path, headers, body }] = receiver.received as [(typeof receiver.received)[0]];
    expect([method, path, headers["content-type"], headers["webhook-id"]]).toEqual([
      "POST",
      "/in",
      "application/json",
      "msg-1",
    ]);
    const envelope = new Verifier(secret).verify(body, headers as Record<string, string>) as Record<
      string,
      unknown
    >;
    expect(envelope).toMatchObject({
      id: fired("cart").id,
      type: "alertFired",
      version: "1.0.0",
      timestamp: new Date(firedAtMs).toISOString(),
      title: "Firing: Too many errors",
      data: {
        state: "firing",
        fireId: fired("cart").fireId,
        attributes: { "service.name": "cart" },
        late: false,
      },
    });
    expect(() => new Verifier(secret).verify(`${body} `, headers as Record<string, string>)).toThrow();
  });

  test("method, headers and body are the integration's own", async () => {
    const receiver = await openReceiver(204);
    const webhook = {
      url: `${receiver.url}/$service?state=$alert_state`,
      method: "PUT" as const,
      headers: { Authorization: "Bearer secret", "X-Alert": "$alert_name" },
      body: '{"text": "$alert_name is $alert_state", "value": $breaching_datapoint_value}',
    };
    const { send } = senderOf({ "hook-1": webhook });
    await send(delivery(hookAction, fired("/k8s/shop/cart", { alertName: 'a "quoted"\nname' })));
    const [{ method, path, headers, body }] = receiver.received as [(typeof receiver.received)[0]];
    expect([method, path]).toEqual(["PUT", "/%2Fk8s%2Fshop%2Fcart?state=firing"]);
    expect([headers.authorization, headers["x-alert"]]).toEqual(["Bearer secret", 'a "quoted" name']);
    expect(JSON.parse(body)).toEqual({ text: 'a "quoted"\nname is firing', value: 42 });
  });

  test("header values beyond ASCII arrive as UTF-8, encoded once; a header that frames the message is not sent", async () => {
    const receiver = await openReceiver(204);
    const webhook = { url: receiver.url, headers: { "X-Name": "Zürich € $service" } };
    const { send } = senderOf({ "hook-1": webhook });
    await send(delivery(hookAction, fired("Köln 😀")));
    const sent = Buffer.from(String(receiver.received[0]!.headers["x-name"]), "latin1").toString("utf8");
    expect(sent).toBe("Zürich € Köln 😀");
    const stored = senderOf({ "hook-1": { url: receiver.url, headers: { "Content-Length": "3" } } });
    expect(await stored.send(delivery(hookAction, fired("cart")))).toEqual({
      kind: "final",
      problem: 'the webhook must not set the header "Content-Length"',
    });
    expect(receiver.received).toHaveLength(1);
  });

  test("what each answer means", async () => {
    const receiver = await openReceiver("reset", 302, 400, 429, 500, 200, 410);
    const { send, off } = senderOf({ "hook-1": { url: receiver.url } });
    const outcomes = [];
    for (let i = 0; i < 7; i++) {
      outcomes.push(
        await send(delivery(hookAction, fired("cart"))).catch((error: Error) => ({
          kind: "thrown",
          problem: error.message,
        })),
      );
    }
    expect(outcomes).toEqual([
      { kind: "thrown", problem: expect.stringMatching(/socket hang up|ECONNRESET/) as string },
      { kind: "retry", problem: "the receiver answered 302: so it is" },
      { kind: "retry", problem: "the receiver answered 400: so it is", isRefused: true },
      { kind: "retry", problem: "the receiver answered 429: so it is", afterMs: 7_000, isRefused: true },
      { kind: "retry", problem: "the receiver answered 500: so it is" },
      { kind: "delivered" },
      { kind: "final", problem: "the receiver answered 410: so it is; the integration is switched off" },
    ]);
    expect([...off]).toEqual(["hook-1"]);
    expect(await send(delivery(hookAction, fired("cart")))).toMatchObject({ kind: "final" });
    expect(receiver.received).toHaveLength(7);
  });

  test("the end goes where it is meant to go; an integration that is not there is said", async () => {
    const receiver = await openReceiver(200);
    const { send } = senderOf({
      begin: { url: `${receiver.url}/begin` },
      end: { url: `${receiver.url}/end` },
    });
    const action = { type: "webhook" as const, webhookDestination: { uuid: "begin", resolvedUuid: "end" } };
    await send(delivery(action, fired("cart")));
    await send(delivery(action, resolved("cart")));
    expect(receiver.received.map(({ path }) => path)).toEqual(["/begin", "/end"]);
    expect(await send(delivery(hookAction, fired("cart")))).toEqual({
      kind: "final",
      problem: 'there is no webhook integration "hook-1"',
    });
  });

  test("a receiver that hangs, trickles or floods is left", async () => {
    const receiver = await openReceiver(
      "hang",
      (response) => {
        response.writeHead(200).write("a");
        const timer = setInterval(() => response.write("a"), 20);
        response.on("close", () => clearInterval(timer));
      },
      (response) => {
        response.writeHead(200);
        const more = () => {
          if (response.destroyed) return;
          response.write("x".repeat(65_536));
          setImmediate(more);
        };
        more();
      },
    );
    const request = { method: "POST", url: new URL(receiver.url), headers: {}, body: "{}" };
    await expect(sendHttp(request, guard, 300)).rejects.toThrow("no answer within 0.3 s");
    await expect(sendHttp(request, guard, 300)).rejects.toThrow("no answer within 0.3 s");
    expect((await sendHttp(request, guard, 5_000)).text).toHaveLength(answerBytesMax);
  });
});

describe("Slack", () => {
  const receipt = { ok: true, ts: "17.5", channel: "C1" };

  test("a message to a channel; the end answers in its thread; nothing in a value is markup", async () => {
    const receiver = await openReceiver(json(receipt));
    const send = slackSender({ botToken: "xoxb-1", apiUrl: receiver.url, guard, publicUrl });
    const first = await send(delivery(slackAction, fired("<!channel> & co")));
    expect(first).toEqual({ kind: "delivered", receipt: { ts: "17.5", channel: "C1" } });
    await send({ ...delivery(slackAction, resolved("cart")), receipts: [{ ts: "17.5", channel: "C1" }] });
    const [begin, end] = receiver.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
    expect(receiver.received[0]).toMatchObject({
      path: "/chat.postMessage",
      headers: { authorization: "Bearer xoxb-1" },
    });
    expect(begin).toMatchObject({
      channel: "#alerts",
      text: expect.stringMatching(
        /^Firing: Too many errors\n.*&lt;!channel&gt; &amp; co: value 42/,
      ) as string,
    });
    const blocks = begin!.blocks as { text: { type: string; text: string } }[];
    const shown = blocks.find(({ text }) => text.text.includes("service.name=<!channel> & co: value 42"));
    expect(shown!.text.type).toBe("plain_text");
    expect(end).toMatchObject({
      thread_ts: "17.5",
      text: expect.stringMatching(/^Resolved: Too many errors\n/) as string,
    });
  });

  test("many instances are one message that lists some, within Slack's limits", async () => {
    const receiver = await openReceiver(json(receipt));
    const send = slackSender({ botToken: "xoxb-1", apiUrl: receiver.url, guard, publicUrl });
    await send(
      delivery(
        slackAction,
        ...Array.from({ length: 500 }, (_, i) => fired(`service ${i} ${"&".repeat(200)}`)),
      ),
    );
    const { blocks } = JSON.parse(receiver.received[0]!.body) as { blocks: { text: { text: string } }[] };
    expect(blocks[0]!.text.text).toContain("(500 instances)");
    expect(blocks.every(({ text }) => text.text.length <= 3_000)).toBe(true);
    await send(
      delivery(slackAction, ...Array.from({ length: listedInstancesMax + 5 }, (_, i) => fired(`${i}`))),
    );
    expect(receiver.received[1]!.body).toContain("and 5 more");
  });

  test("what each answer means", async () => {
    const receiver = await openReceiver(
      json({ ok: false, error: "channel_not_found" }),
      json({ ok: false, error: "ratelimited" }, 429, { "Retry-After": "30" }),
      json({ ok: false, error: "internal_error" }),
      503,
      404,
    );
    const send = slackSender({ botToken: "xoxb-1", apiUrl: receiver.url, guard, publicUrl });
    const outcomes = [];
    for (let i = 0; i < 5; i++) outcomes.push(await send(delivery(slackAction, fired("cart"))));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["final", "retry", "retry", "retry", "final"]);
    expect(outcomes[0]).toEqual({ kind: "final", problem: "Slack refused: channel_not_found" });
    expect(outcomes[1]).toMatchObject({ afterMs: 30_000 });
  });

  test("an incoming webhook stands as the channel; without a token a channel cannot be sent to", async () => {
    const receiver = await openReceiver(200);
    const send = slackSender({ guard, publicUrl });
    const action = slack(`${receiver.url}/services/T/B/X`) as typeof slackAction;
    expect(await send(delivery(action, fired("cart")))).toEqual({ kind: "delivered" });
    expect(receiver.received[0]).toMatchObject({ path: "/services/T/B/X" });
    expect(JSON.parse(receiver.received[0]!.body)).not.toHaveProperty("channel");
    expect(await send(delivery(slackAction, fired("cart")))).toEqual({
      kind: "final",
      problem: "no Slack bot token is configured",
    });
  });
});
