/** Real receivers: what they get, and what their answers mean. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import PostalMime from "postal-mime";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { Webhook as Verifier } from "standardwebhooks";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Action } from "../../../server/model/alert.ts";
import type { AlertEvent } from "../../../server/model/event.ts";
import type { Webhook } from "../../../server/model/webhook.ts";
import { AddressGuard } from "../../../server/notify/address-guard.ts";
import { emailSender } from "../../../server/notify/email.ts";
import { sendHttp } from "../../../server/notify/http-request.ts";
import { answerBytesMax, listedInstancesMax } from "../../../server/notify/limits.ts";
import { signHeaders } from "../../../server/notify/signature.ts";
import { slackSender } from "../../../server/notify/slack.ts";
import { webhookSender } from "../../../server/notify/webhook.ts";
import { fired, firedAtMs, hook, mail, resolved, slack } from "./events.ts";
import { json, openReceiver } from "./receiver.ts";

const guard = new AddressGuard(["127.0.0.0/8"]);
const publicUrl = "https://svc.example";
const secret = `whsec_${Buffer.from("a key of twenty-four bytes").toString("base64")}`;

function delivery<A extends Action>(action: A, ...events: AlertEvent[]) {
  return { id: "msg-1", action, events, receipts: [] as never[], nowMs: Date.now() };
}

const hookAction = hook("hook-1") as Extract<Action, { type: "webhook" }>;
const mailAction = mail("a@shop.example", "b@shop.example") as Extract<Action, { type: "email" }>;
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
    expect(begin).toMatchObject({ channel: "#alerts", text: "Firing: Too many errors" });
    expect(JSON.stringify(begin!.blocks)).toContain("service.name=&lt;!channel&gt; &amp; co: value 42");
    expect(end).toMatchObject({ thread_ts: "17.5", text: "Resolved: Too many errors" });
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

/** Of localhost, and of its own making. */
function certificate(): { key: string; cert: string } {
  const dir = mkdtempSync(join(tmpdir(), "svc-mail-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const [key, cert] = [join(dir, "key.pem"), join(dir, "cert.pem")];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  execFileSync("openssl", ["req", "-x509", ...kind, ...names, "-keyout", key, "-out", cert], {
    stdio: "ignore",
  });
  return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
}

describe("e-mail", () => {
  async function openMailbox(options: SMTPServerOptions = {}) {
    const mails: { to: string[]; raw: string }[] = [];
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ["STARTTLS"],
      onData(stream, session, done) {
        let raw = "";
        stream.on("data", (chunk: Buffer) => (raw += chunk.toString()));
        stream.on("end", () => {
          mails.push({ to: session.envelope.rcptTo.map(({ address }) => address), raw });
          done();
        });
      },
      ...options,
    });
    server.on("error", () => undefined);
    server.listen(0, "127.0.0.1");
    await once(server.server, "listening");
    onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
    return { mails, port: (server.server.address() as AddressInfo).port };
  }

  const settings = {
    host: "127.0.0.1",
    security: "none",
    from: "svc <alerts@svc.example>",
    publicUrl,
  } as const;

  test("text and HTML; the end stands beneath its fire; nothing in a value is a header or markup", async () => {
    const { mails, port } = await openMailbox();
    const send = emailSender({ ...settings, port });
    const alertName = "Errors\r\nBcc: evil@evil.example <b>";
    const outcome = await send(
      delivery(mailAction, fired("<cart>", { alertName }), fired("b", { alertName })),
    );
    expect(outcome).toEqual({ kind: "delivered", receipt: { messageId: "<msg-1@svc.example>" } });
    await send({
      ...delivery(mailAction, resolved("<cart>")),
      id: "msg-2",
      receipts: [{ messageId: "<msg-1@svc.example>" }],
    });
    expect(mails.map(({ to }) => to)).toEqual([
      mailAction.emailDestination.emails,
      mailAction.emailDestination.emails,
    ]);
    const [begin, end] = await Promise.all(mails.map(({ raw }) => PostalMime.parse(raw)));
    expect(begin!.subject).toBe("Firing: Errors Bcc: evil@evil.example <b> (2 instances)");
    expect(begin!.bcc ?? []).toEqual([]);
    expect(begin!.from).toMatchObject({ address: "alerts@svc.example", name: "svc" });
    expect(begin!.text).toContain("- high, service.name=<cart>: value 42, since 2026-01-10T12:00:00.000Z");
    expect(begin!.html).toContain("service.name=&lt;cart&gt;: value 42");
    expect(begin!.html).not.toContain("<b>");
    expect(begin!.messageId).toBe("<msg-1@svc.example>");
    expect([end!.inReplyTo, end!.messageId]).toEqual(["<msg-1@svc.example>", "<msg-2@svc.example>"]);
    expect(end!.references).toContain("<msg-1@svc.example>");
  });

  test("a login is used; a wrong one is tried again", async () => {
    const { mails, port } = await openMailbox({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) =>
        done(username === "svc" && password === "right" ? null : new Error("wrong password"), {
          user: username,
        }),
    });
    const login = { ...settings, port, user: "svc" };
    expect(
      await emailSender({ ...login, password: "wrong" })(delivery(mailAction, fired("cart"))),
    ).toMatchObject({ kind: "retry" });
    expect(
      await emailSender({ ...login, password: "right" })(delivery(mailAction, fired("cart"))),
    ).toMatchObject({ kind: "delivered" });
    expect(mails).toHaveLength(1);
  });

  test.each(["tls", "starttls"] as const)(
    "with %s and a login; who has another certificate is not told",
    async (security) => {
      const { key, cert } = certificate();
      const { mails, port } = await openMailbox({
        ...{ secure: security === "tls", disabledCommands: [], key, cert, authOptional: false },
        onAuth: ({ username, password }, session, done) => {
          const isRight = session.secure && username === "svc" && password === "right";
          done(isRight ? null : new Error("no"), { user: username });
        },
      });
      const login = { ...settings, host: "localhost", port, security, user: "svc", password: "right" };
      expect(await emailSender(login)(delivery(mailAction, fired("cart")))).toMatchObject({
        kind: "retry",
        problem: expect.stringContaining("self-signed") as string,
      });
      expect(mails).toEqual([]);
      expect(await emailSender({ ...login, ca: cert })(delivery(mailAction, fired("cart")))).toMatchObject({
        kind: "delivered",
      });
      expect((await PostalMime.parse(mails[0]!.raw)).subject).toBe("Firing: Too many errors");
    },
  );

  test("refused for good is final, for now is tried again; TLS that is required and not there is not done without", async () => {
    const refusing = (responseCode: number) => ({
      onRcptTo: (_: unknown, __: unknown, done: (error: Error) => void) =>
        done(Object.assign(new Error("no"), { responseCode })),
    });
    const never = await openMailbox(refusing(550));
    expect(
      await emailSender({ ...settings, port: never.port })(delivery(mailAction, fired("cart"))),
    ).toMatchObject({ kind: "final" });
    const later = await openMailbox(refusing(451));
    expect(
      await emailSender({ ...settings, port: later.port })(delivery(mailAction, fired("cart"))),
    ).toMatchObject({ kind: "retry" });
    const plain = await openMailbox();
    const strict = emailSender({ ...settings, port: plain.port, security: "starttls" });
    expect(await strict(delivery(mailAction, fired("cart")))).toMatchObject({ kind: "retry" });
    expect(plain.mails).toEqual([]);
    expect(await emailSender(undefined)(delivery(mailAction, fired("cart")))).toMatchObject({
      kind: "final",
    });
  });
});
