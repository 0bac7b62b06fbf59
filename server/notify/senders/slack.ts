/** Sends messages to Slack: with a bot token to a channel, or to an incoming webhook, whose URL is the channel then. */

import { isIncomingWebhook } from "../destination.ts";
import { type Message, messageOf, moreText } from "../message/message.ts";
import { shorten } from "../message/plain-text.ts";
import type { AddressGuard } from "./address-guard.ts";
import { describeAnswer, retryOutcome, sendHttp } from "./http-request.ts";
import type { Outcome, Senders } from "./sender.ts";

export interface SlackOptions {
  /** `xoxb-…`. Without it, only incoming webhooks get messages. */
  botToken?: string | undefined;
  /** URL of a server that stands in for Slack's API, for tests. */
  apiUrl?: string | undefined;
  guard: AddressGuard;
  publicUrl: string;
}

const slackApi = "https://slack.com/api";
/**
 * Characters of a section or of the message's text. Slack allows 3,000 in a section and recommends up to 4,000 in a
 * text (https://docs.slack.dev/reference/block-kit/blocks/section-block).
 */
const sectionLengthMax = 2_900;
/** Characters that Slack allows in a header block. */
const headerLengthMax = 150;

/** Errors of Slack that pass with time. Any other error lasts until somebody changes something. */
const transientErrors = new Set([
  "ratelimited",
  "rate_limited",
  "internal_error",
  "fatal_error",
  "request_timeout",
  "service_unavailable",
  "team_added_to_org",
]);

export function slackSender(options: SlackOptions): Senders["slack"] {
  const { botToken, apiUrl = slackApi, guard, publicUrl } = options;
  return async ({ action, events, receipts }): Promise<Outcome> => {
    const { channel } = action.slackDestination;
    const message = messageOf(events, publicUrl);
    const content = contentOf(message);
    const isWebhook = isIncomingWebhook(channel);
    if (!isWebhook && botToken === undefined) {
      return { kind: "final", problem: "no Slack bot token is configured" };
    }
    const thread = (receipts as readonly ({ ts?: string } | null)[]).find(
      (receipt) => receipt?.ts !== undefined,
    )?.ts;
    const body = isWebhook
      ? content
      : {
          ...content,
          channel,
          ...(thread === undefined ? {} : { thread_ts: thread, reply_broadcast: message.isResolved }),
        };
    const answer = await sendHttp(
      {
        method: "POST",
        url: new URL(isWebhook ? channel : `${apiUrl}/chat.postMessage`),
        headers: {
          "Content-Type": "application/json; charset=utf-8",
          ...(isWebhook ? {} : { Authorization: `Bearer ${botToken}` }),
        },
        body: JSON.stringify(body),
      },
      guard,
    );
    if (answer.status === 429 || answer.status >= 500) return retryOutcome(answer);
    if (answer.status !== 200) return { kind: "final", problem: describeAnswer(answer.status, answer.text) };
    return isWebhook ? { kind: "delivered" } : readOutcome(answer.text);
  };
}

/** Reads the outcome from the body: Slack answers with status 200 even where it refuses the message. */
function readOutcome(text: string): Outcome {
  const said = parseObject(text);
  if (said?.ok === true)
    return { kind: "delivered", receipt: { ts: String(said.ts), channel: String(said.channel) } };
  if (said === undefined) return { kind: "retry", problem: "Slack's answer is not JSON" };
  const error = String(said.error);
  const problem = `Slack refused: ${error}`;
  return transientErrors.has(error) ? { kind: "retry", problem } : { kind: "final", problem };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Text stands in blocks of `plain_text`, which Slack shows as it is: nothing in it becomes a link, a mention or bold. */
function contentOf(message: Message) {
  const { title, description, facts, instances, link, icon, runbook } = message;
  const full = `${icon} ${title}`;
  const header = cut(full, headerLengthMax);
  const plain = (text: string) => ({ type: "section", text: { type: "plain_text", text, emoji: false } });
  const lines = instances.flatMap((instance) => indent(instance));
  const more = moreText(message);
  const texts = [
    ...(header === full ? [] : [title]),
    ...(description === "" ? [] : [description]),
    facts.map(({ name, text }) => `${name}: ${text}`).join("\n"),
    ...joinLines(lines),
    ...(more === undefined ? [] : [more]),
    ...(runbook === undefined || runbook.url !== undefined ? [] : [`Runbook: ${runbook.text}`]),
  ];
  const links = [link, ...(runbook?.url === undefined ? [] : [{ url: runbook.url, text: runbook.text }])];
  return {
    text: cut(escapeText([title, lines[0] ?? ""].join("\n")), sectionLengthMax),
    blocks: [
      { type: "header", text: { type: "plain_text", text: header } },
      ...texts.map((text) => plain(shorten(text, sectionLengthMax))),
      {
        type: "section",
        text: {
          type: "mrkdwn",
          text: links.map(({ url, text }) => `<${escapeText(url)}|${escapeText(text)}>`).join("  ·  "),
        },
      },
    ],
  };
}

/** The first line of an instance begins with a bullet, others are indented. */
function indent(instance: string): string[] {
  return instance.split("\n").map((line, i) => (i === 0 ? `• ${line}` : `   ${line}`));
}

/** Lines in as few texts as fit into sections. */
function joinLines(lines: readonly string[]): string[] {
  const texts: string[] = [];
  for (const line of lines) {
    const last = texts.at(-1);
    if (last === undefined || last.length + 1 + line.length > sectionLengthMax) texts.push(line);
    else texts[texts.length - 1] = `${last}\n${line}`;
  }
  return texts;
}

/**
 * Escapes a text, so that nothing in it becomes a link or a mention
 * (https://docs.slack.dev/messaging/formatting-message-text#escaping).
 */
function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Shortens a text, but never cuts within a character or an escape. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$|&[a-z]*$/, "")}…`;
}
