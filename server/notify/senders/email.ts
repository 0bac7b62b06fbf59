/** Sends messages by SMTP. */
import { createTransport } from "nodemailer";
import { stableId } from "../../model/stable-id.ts";
import { tryMsMax } from "../limits.ts";
import { type Message, messageOf, moreText } from "../message/message.ts";
import { escapeMarkup } from "../message/template.ts";
import type { Outcome, Senders } from "./sender.ts";

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
  return async ({ id, action, events, receipts }): Promise<Outcome> => {
    const message = messageOf(events, options.publicUrl);
    const first = events[0]!;
    const earlier = (receipts as readonly ({ messageId?: string } | null)[]).flatMap(
      (receipt) => receipt?.messageId ?? [],
    );
    try {
      const messageId = `<${id}@${domain}>`;
      await transport.sendMail({
        messageId,
        from: options.from,
        to: [...action.emailDestination.emails],
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
      return { kind: "delivered", receipt: { messageId } };
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
