/** Sends messages by SMTP. */
import { createTransport } from "nodemailer";
import { stableId } from "../../model/stable-id.ts";
import { tryMsMax } from "../limits.ts";
import { type Message, messageOf, moreText } from "../message/message.ts";
import { escapeMarkup } from "../message/template.ts";
import type { Outcome, Senders } from "./sender.ts";

/** Messages of which some recipients wait for a retry. */
const messagesMax = 1_000;

export interface EmailOptions {
  host: string;
  port: number;
  /** `tls`: from the first byte (port 465); `starttls`: STARTTLS is required; `none`: for a server on this machine. */
  security: "tls" | "starttls" | "none";
  user?: string;
  password?: string;
  /** The sender's address. */
  from: string;
  publicUrl: string;
  /** Certificates (PEM) that are trusted besides the system's. */
  ca?: string;
}

/** Without `options`, no SMTP server is configured, and every message fails. */
export function emailSender(options: EmailOptions | undefined): Senders["email"] {
  if (options === undefined) {
    return async () => ({ kind: "final", problem: "no SMTP server is configured" });
  }
  const transport = createTransport(transportOptions(options));
  const domain = options.from.replace(/^.*@|>.*$/g, "");
  const reached = new ReachedRecipients();
  return async ({ id, action, events, receipts }): Promise<Outcome> => {
    const message = messageOf(events, options.publicUrl);
    const first = events[0]!;
    const earlier = (receipts as readonly ({ messageId?: string } | null)[]).flatMap(
      (receipt) => receipt?.messageId ?? [],
    );
    try {
      const messageId = `<${id}@${domain}>`;
      const sent: SentMail = await transport.sendMail({
        messageId,
        from: options.from,
        to: [...action.emailDestination.emails],
        envelope: { from: options.from, to: reached.withoutReached(id, action.emailDestination.emails) },
        subject: message.title.replace(/\s+/g, " "),
        text: textOf(message),
        html: htmlOf(message),
        // Mail programs show all messages about an alert together, and the end of a fire beneath its begin.
        references: [`<${stableId("thread", first.alertId)}@${domain}>`, ...earlier],
        ...(earlier.length === 0 ? {} : { inReplyTo: earlier[0]! }),
        headers: { "Auto-Submitted": "auto-generated", "X-Svc-Alert": encodeURIComponent(first.alertId) },
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      const waiting = sent.rejectedErrors?.find(({ responseCode = 0 }) => responseCode < 500);
      if (waiting === undefined) {
        reached.forget(id);
        return { kind: "delivered", receipt: { messageId } };
      }
      reached.note(id, sent.accepted);
      return { kind: "retry", problem: waiting.message };
    } catch (error) {
      return failureOf(error as SendError);
    }
  };
}

function transportOptions({ host, port, security, user, password, ca }: EmailOptions) {
  return {
    host,
    port,
    secure: security === "tls",
    requireTLS: security === "starttls",
    ignoreTLS: security === "none",
    ...(user === undefined ? {} : { auth: { user, pass: password ?? "" } }),
    ...(ca === undefined ? {} : { tls: { ca } }),
    // The library's default limits are minutes long.
    connectionTimeout: tryMsMax,
    greetingTimeout: tryMsMax,
    socketTimeout: tryMsMax,
    dnsTimeout: tryMsMax,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** What the library says of a mail that at least one recipient's server accepted. */
interface SentMail {
  accepted: (string | { address: string })[];
  rejectedErrors?: readonly { message: string; responseCode?: number | undefined }[] | undefined;
}

/**
 * The recipients of messages that others wait for: a retry goes to these alone. After a restart it goes to all of them again, which
 * is better than to none.
 */
class ReachedRecipients {
  readonly #of = new Map<string, Set<string>>();

  withoutReached(id: string, recipients: readonly string[]): string[] {
    const reached = this.#of.get(id);
    const left = recipients.filter((each) => reached?.has(each) !== true);
    return left.length === 0 ? [...recipients] : left;
  }

  note(id: string, accepted: SentMail["accepted"]): void {
    const addresses = accepted.map((each) => (typeof each === "string" ? each : each.address));
    this.#of.set(id, new Set([...(this.#of.get(id) ?? []), ...addresses]));
    const [oldest] = this.#of.size > messagesMax ? this.#of.keys() : [];
    if (oldest !== undefined) this.#of.delete(oldest);
  }

  forget(id: string): void {
    this.#of.delete(id);
  }
}

type SendError = Error & { code?: string; responseCode?: number; syscall?: string };

/** A permanent refusal of the recipients or the text is final. After other errors, as of a login, a retry may help. */
function failureOf({ message, code, responseCode = 0, syscall }: SendError): Outcome {
  const isFinal = (code === "EENVELOPE" || code === "EMESSAGE") && responseCode >= 500;
  if (isFinal) return { kind: "final", problem: message };
  const isRefused = responseCode >= 400 || syscall === "connect";
  return { kind: "retry", problem: message, ...(isRefused ? { isRefused } : {}) };
}

function textOf(message: Message): string {
  const { title, description, facts, instances, link, runbook } = message;
  const parts = [
    title,
    description,
    facts.map(({ name, text }) => `${name}: ${text}`).join("\n"),
    instances.map((instance) => `- ${instance.replaceAll("\n", "\n  ")}`).join("\n"),
    moreText(message) ?? "",
    ...(runbook === undefined ? [] : [`Runbook: ${runbook.url ?? runbook.text}`]),
    link.url,
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

function htmlOf(message: Message): string {
  const { title, description, facts, instances, more, link, runbook, isResolved } = message;
  const toLines = (text: string) => escapeMarkup(text).replaceAll("\n", "<br>");
  const items = instances.map((instance) => `<li>${toLines(instance)}</li>`);
  const rows = facts.map(
    ({ name, text }) => `<tr><td>${name}</td><td><code>${escapeMarkup(text)}</code></td></tr>`,
  );
  const anchor = (url: string, text: string) => `<a href="${escapeMarkup(url)}">${escapeMarkup(text)}</a>`;
  const colour = isResolved ? "#1a7f37" : "#b42318";
  return [
    `<h2 style="color:${colour}">${escapeMarkup(title)}</h2>`,
    ...(description === "" ? [] : [`<p>${toLines(description)}</p>`]),
    `<table cellpadding="4">${rows.join("")}</table>`,
    `<ul>${items.join("")}</ul>`,
    ...(more === 0 ? [] : [`<p>and ${more} more: ${anchor(link.url, link.text)}</p>`]),
    ...(runbook === undefined
      ? []
      : [`<p>${runbook.url === undefined ? toLines(runbook.text) : anchor(runbook.url, runbook.text)}</p>`]),
    `<p>${anchor(link.url, link.text)}</p>`,
  ].join("\n");
}
