/** Sends messages to Slack: with a bot token to channels, or to an incoming webhook, whose URL then stands as the channel. */
import type { AddressGuard } from "./address-guard.ts";
import { describeAnswer, retryOutcome, sendHttp } from "./http-request.ts";
import { type Message, messageOf } from "./message.ts";
import type { Outcome, Senders } from "./sender.ts";

export interface SlackOptions {
  /** `xoxb-…`; without it only incoming webhooks can be sent to. */
  botToken?: string | undefined;
  /** Another place than Slack's own, for tests. */
  apiUrl?: string | undefined;
  guard: AddressGuard;
  publicUrl: string;
}

const slackApi = "https://slack.com/api";
/** https://docs.slack.dev/reference/block-kit/blocks/section-block: 3,000 characters; header blocks have 150; a text should have 4,000. */
const sectionLengthMax = 2_900;
const headerLengthMax = 150;

/** Answers of Slack's that pass with time; any other needs somebody to change something. */
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
    const content = contentOf(messageOf(events, publicUrl));
    const isWebhook = /^https?:\/\//.test(channel);
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
          ...(thread === undefined ? {} : { thread_ts: thread, reply_broadcast: true }),
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

/** Slack says 200 also when it refuses. */
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

function contentOf({ title, description, lines, link, isResolved }: Message) {
  const listed = lines.map((line) => `• ${line}`).join("\n");
  const text = [description, listed].filter((part) => part !== "").join("\n");
  const section = (mrkdwn: string) => ({ type: "section", text: { type: "mrkdwn", text: mrkdwn } });
  return {
    text: cut(escapeText(title), sectionLengthMax),
    blocks: [
      {
        type: "header",
        text: { type: "plain_text", text: cut(`${isResolved ? "✅" : "🔥"} ${title}`, headerLengthMax) },
      },
      section(cut(escapeText(text), sectionLengthMax)),
      section(`<${link}|Open the alert>`),
    ],
  };
}

/** https://docs.slack.dev/messaging/formatting-message-text#escaping: nothing in a value becomes a link or a mention. */
function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Never within a character or an escape. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$|&[a-z]*$/, "")}…`;
}
