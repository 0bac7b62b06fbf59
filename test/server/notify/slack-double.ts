/** Slack's `chat.postMessage` and an incoming webhook, as far as messages go: https://docs.slack.dev/reference/methods/chat.postMessage */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

interface Block {
  type: string;
  text?: { type: string; text: string };
}

interface SlackMessage {
  channel: string;
  text: string;
  blocks: Block[];
  thread_ts?: string;
}

export interface SlackDouble {
  /** With a slash at the end, as the official client wants it. */
  apiUrl: string;
  hookUrl: string;
  messages: SlackMessage[];
  /** So many calls are refused for their number. */
  limited: number;
}

const token = "xoxb-double";
const channels = new Map([["#alerts", "C1"]]);

export async function openSlack(): Promise<SlackDouble> {
  const double: SlackDouble = { apiUrl: "", hookUrl: "", messages: [], limited: 0 };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    if (double.limited > 0) {
      double.limited--;
      answer(response, 429, { ok: false, error: "ratelimited" }, { "Retry-After": "30" });
    } else if (request.url!.startsWith("/services/")) postToHook(double, request, body, response);
    else postMessage(double, request, body, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(double, { apiUrl: `${url}/api/`, hookUrl: `${url}/services/T1/B1/secret` });
}

/** Slack says 200 also when it refuses. */
function postMessage(
  double: SlackDouble,
  request: IncomingMessage,
  body: string,
  response: ServerResponse,
): void {
  const message = messageOf(request, body);
  const channel = channels.get(message.channel);
  const error = refusal(request) ?? (channel === undefined ? "channel_not_found" : problemOf(message));
  if (error !== undefined) {
    answer(response, 200, { ok: false, error });
    return;
  }
  double.messages.push(message);
  const ts = `1700000000.${String(double.messages.length).padStart(6, "0")}`;
  answer(response, 200, { ok: true, channel, ts, message: { type: "message", text: message.text, ts } });
}

function refusal({ url, headers }: IncomingMessage): string | undefined {
  if (url !== "/api/chat.postMessage") return "unknown_method";
  return headers.authorization === `Bearer ${token}` ? undefined : "invalid_auth";
}

/** An incoming webhook answers with a word. */
function postToHook(
  double: SlackDouble,
  request: IncomingMessage,
  body: string,
  response: ServerResponse,
): void {
  const message = messageOf(request, body);
  const isThere = request.url === "/services/T1/B1/secret";
  const problem = isThere ? problemOf(message) : "no_service";
  if (problem === undefined) double.messages.push(message);
  response.writeHead(problem === undefined ? 200 : isThere ? 400 : 404).end(problem ?? "ok");
}

/** The official client sends a form whose fields are JSON where they are no text; JSON is taken, too. */
function messageOf({ headers }: IncomingMessage, body: string): SlackMessage {
  if (headers["content-type"]?.startsWith("application/json")) {
    return { channel: "", text: "", blocks: [], ...(JSON.parse(body) as Partial<SlackMessage>) };
  }
  const { blocks = "[]", channel = "", text = "", ...others } = Object.fromEntries(new URLSearchParams(body));
  return { ...others, channel, text, blocks: JSON.parse(blocks) as Block[] };
}

/** https://docs.slack.dev/reference/block-kit/blocks and the limit of `text`. */
function problemOf({ text, blocks }: SlackMessage): string | undefined {
  if (text === "" && blocks.length === 0) return "no_text";
  if (text.length > 40_000) return "msg_too_long";
  if (blocks.length > 50) return "invalid_blocks";
  const fits = blocks.every(({ type, text: shown }) => {
    const length = shown?.text.length ?? 0;
    if (type === "header") return shown?.type === "plain_text" && length > 0 && length <= 150;
    return type === "section" && length > 0 && length <= 3_000;
  });
  return fits ? undefined : "invalid_blocks";
}

function answer(
  response: ServerResponse,
  status: number,
  value: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(value));
}
