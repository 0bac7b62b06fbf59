/** E-mail over real SMTP servers: what arrives, and what their answers mean. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import PostalMime from "postal-mime";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Action } from "../../../server/model/alert.ts";
import type { AlertEvent } from "../../../server/model/event.ts";
import { emailSender } from "../../../server/notify/senders/email.ts";
import { fired, mail, resolved } from "./events.ts";

const publicUrl = "https://svc.example";

function delivery<A extends Action>(action: A, ...events: AlertEvent[]) {
  return { id: "msg-1", action, events, receipts: [] as never[], nowMs: Date.now() };
}

const mailAction = mail("a@shop.example", "b@shop.example") as Extract<Action, { type: "email" }>;

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
    expect(begin!.subject).toBe("Firing: Errors↵Bcc: evil@evil.example <b> (2 instances)");
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

  test("a recipient that is refused for now is tried again, without those who have the mail", async () => {
    let refusals = 2;
    const { mails, port } = await openMailbox({
      onRcptTo: ({ address }, _session, done) => {
        const isRefused = address === "b@shop.example" && refusals-- > 0;
        done(isRefused ? Object.assign(new Error("too many recipients"), { responseCode: 452 }) : undefined);
      },
    });
    const send = emailSender({ ...settings, port });
    const outcomes = [];
    for (let i = 0; i < 3; i++) outcomes.push((await send(delivery(mailAction, fired("cart")))).kind);
    expect(outcomes).toEqual(["retry", "retry", "delivered"]);
    expect(mails.map(({ to }) => to)).toEqual([["a@shop.example"], ["b@shop.example"]]);
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
