/** Sends messages by SMTP. */
import { createTransport } from "nodemailer";
import { stableId } from "../model/stable-id.ts";
import { tryMsMax } from "./limits.ts";
import { type Message, messageOf } from "./message.ts";
import type { Outcome, Senders } from "./sender.ts";
import { escapeMarkup } from "./template.ts";

export interface EmailOptions {
  host: string;
  port: number;
  /** `tls`: from the first byte (port 465); `starttls`: required; `none`: only for a server on the same machine. */
  security: "tls" | "starttls" | "none";
  user?: string;
  password?: string;
  /** The sender's address. */
  from: string;
  publicUrl: string;
  /** Certificates that are trusted besides the system's, PEM. */
  ca?: string;
}

/** `options` undefined: no server is configured. */
export function emailSender(options: EmailOptions | undefined): Senders["email"] {
  if (options === undefined) {
    return async () => ({ kind: "final", problem: "no SMTP server is configured" });
  }
  const transport = createTransport(transportOptions(options));
  const domain = options.from.replace(/^.*@|>.*$/g, "");
  return async ({ id, action, events, receipts }): Promise<Outcome> => {
    const message = messageOf(events, options.publicUrl);
    const first = events[0]!;
    const earlier = receipts.flatMap((receipt) => messageIdOf(receipt) ?? []);
    try {
      const messageId = `<${id}@${domain}>`;
      await transport.sendMail({
        messageId,
        from: options.from,
        to: [...action.emailDestination.emails],
        subject: message.title.replace(/\s+/g, " "),
        text: textOf(message),
        html: htmlOf(message),
        // What is known of one alert stands together, and the end beneath its fire.
        references: [`<${stableId("thread", first.alertId)}@${domain}>`, ...earlier],
        ...(earlier.length === 0 ? {} : { inReplyTo: earlier[0]! }),
        headers: { "Auto-Submitted": "auto-generated", "X-Svc-Alert": encodeURIComponent(first.alertId) },
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      return { kind: "delivered", receipt: { messageId } };
    } catch (error) {
      return failureOf(error as Error & { code?: string; responseCode?: number });
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
    // Its own limits are minutes long.
    connectionTimeout: tryMsMax,
    greetingTimeout: tryMsMax,
    socketTimeout: tryMsMax,
    dnsTimeout: tryMsMax,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** A server that refuses the recipients or the text for good will do so again; a bad login may be mended. */
function failureOf({
  message,
  code,
  responseCode = 0,
  syscall,
}: Error & { code?: string; responseCode?: number; syscall?: string }): Outcome {
  const isForGood = (code === "EENVELOPE" || code === "EMESSAGE") && responseCode >= 500;
  if (isForGood) return { kind: "final", problem: message };
  const isRefused = responseCode >= 400 || syscall === "connect";
  return { kind: "retry", problem: message, ...(isRefused ? { isRefused } : {}) };
}

function messageIdOf(receipt: unknown): string | undefined {
  const { messageId } = (receipt ?? {}) as { messageId?: string };
  return messageId;
}

function textOf({ title, description, lines, more, link }: Message): string {
  const listed = [...lines, ...(more > 0 ? [`and ${more} more`] : [])].map((line) => `- ${line}`);
  const parts = [title, description, listed.join("\n"), link];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

function htmlOf({ title, description, lines, more, link, isResolved }: Message): string {
  const listed = [...lines, ...(more > 0 ? [`and ${more} more`] : [])];
  const items = listed.map((line) => `<li>${escapeMarkup(line)}</li>`).join("");
  const colour = isResolved ? "#1a7f37" : "#b42318";
  const about = description === "" ? "" : `<p>${escapeMarkup(description)}</p>`;
  return [
    `<h2 style="color:${colour}">${escapeMarkup(title)}</h2>`,
    `${about}<ul>${items}</ul>`,
    `<p><a href="${escapeMarkup(link)}">Open the alert</a></p>`,
  ].join("\n");
}
