/** Slack's official client and our sender, pointed at the same double: what the one takes for Slack, the other is judged by. */
import { ErrorCode, LogLevel, WebClient } from "@slack/web-api";
import { expect, test } from "vitest";
import type { Action } from "../../../server/model/alert.ts";
import type { AlertEvent } from "../../../server/model/event.ts";
import { AddressGuard } from "../../../server/notify/senders/address-guard.ts";
import { slackSender } from "../../../server/notify/senders/slack.ts";
import { fired, resolved, slack } from "./events.ts";
import { openSlack, type SlackDouble } from "./slack-double.ts";

const publicUrl = "https://svc.example";
const token = "xoxb-double";

function clientOf({ apiUrl }: SlackDouble, botToken = token): WebClient {
  const settings = { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true, logLevel: LogLevel.ERROR };
  return new WebClient(botToken, { slackApiUrl: apiUrl, ...settings, logger: silent });
}

const silent = {
  ...{ debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
  ...{ setLevel: () => undefined, getLevel: () => LogLevel.ERROR, setName: () => undefined },
};

function senderOf({ apiUrl }: SlackDouble, botToken = token) {
  const guard = new AddressGuard(["127.0.0.0/8"]);
  const send = slackSender({ botToken, apiUrl: apiUrl.replace(/\/$/, ""), guard, publicUrl });
  return (
    channel: string,
    events: readonly AlertEvent[],
    receipts: { ts: string; channel: string }[] = [],
  ) => {
    const action = slack(channel) as Extract<Action, { type: "slack" }>;
    return send({ id: "msg-1", action, events, receipts, nowMs: Date.now() });
  };
}

/** What the official client makes of an answer. */
async function said(call: Promise<unknown>): Promise<unknown> {
  return call.catch(
    ({ code, data, retryAfter }: { code: string; data?: { error: string }; retryAfter?: number }) => {
      return [code, data?.error ?? retryAfter];
    },
  );
}

test("a message and its end in a thread", async () => {
  const double = await openSlack();
  const client = clientOf(double);
  const blocks = [{ type: "section", text: { type: "mrkdwn", text: "hello" } }];
  const posted = await client.chat.postMessage({ channel: "#alerts", text: "hello", blocks });
  expect(posted).toMatchObject({ ok: true, channel: "C1", ts: "1700000000.000001" });
  await client.chat.postMessage({ channel: "#alerts", text: "end", thread_ts: posted.ts! });
  expect(double.messages).toEqual([
    { channel: "#alerts", text: "hello", blocks },
    { channel: "#alerts", text: "end", blocks: [], thread_ts: posted.ts },
  ]);

  const send = senderOf(double);
  const first = await send("#alerts", [fired("cart")]);
  const receipt = { ts: "1700000000.000003", channel: "C1" };
  expect(first).toEqual({ kind: "delivered", receipt });
  expect(await send("#alerts", [resolved("cart")], [receipt])).toMatchObject({ kind: "delivered" });
  expect(double.messages.slice(2)).toMatchObject([
    { channel: "#alerts", text: expect.stringMatching(/^Firing: Too many errors\n/) as string },
    {
      channel: "#alerts",
      text: expect.stringMatching(/^Resolved: Too many errors\n/) as string,
      thread_ts: receipt.ts,
    },
  ]);
});

test("too many messages: a pause is asked for", async () => {
  const double = await openSlack();
  double.limited = 2;
  const call = clientOf(double).chat.postMessage({ channel: "#alerts", text: "hello" });
  expect(await said(call)).toEqual([ErrorCode.RateLimitedError, 30]);
  expect(await senderOf(double)("#alerts", [fired("cart")])).toMatchObject({
    kind: "retry",
    afterMs: 30_000,
  });
  expect(await senderOf(double)("#alerts", [fired("cart")])).toMatchObject({ kind: "delivered" });
});

test.each([
  ["#nowhere", token, "channel_not_found"],
  ["#alerts", "xoxb-wrong", "invalid_auth"],
])("%s with the token %s is refused under 200, for good", async (channel, botToken, error) => {
  const double = await openSlack();
  const call = clientOf(double, botToken).chat.postMessage({ channel, text: "hello" });
  expect(await said(call)).toEqual([ErrorCode.PlatformError, error]);
  expect(await senderOf(double, botToken)(channel, [fired("cart")])).toEqual({
    kind: "final",
    problem: `Slack refused: ${error}`,
  });
  expect(double.messages).toEqual([]);
});

test("whatever an alert holds, its message keeps within Slack's limits", async () => {
  const double = await openSlack();
  const tooLong = [{ type: "section", text: { type: "mrkdwn", text: "x".repeat(3_001) } }];
  const call = clientOf(double).chat.postMessage({ channel: "#alerts", text: "x", blocks: tooLong });
  expect(await said(call)).toEqual([ErrorCode.PlatformError, "invalid_blocks"]);
  const long = {
    alertName: "😀".repeat(50_000),
    alertDescription: "<&>".repeat(50_000),
    rule: "r".repeat(9_000),
  };
  const many = Array.from({ length: 1_000 }, (_, i) => fired(`service ${i}`, long));
  expect(await senderOf(double)("#alerts", many)).toMatchObject({ kind: "delivered" });
  expect(await senderOf(double)(double.hookUrl, many)).toEqual({ kind: "delivered" });
  expect(double.messages).toHaveLength(2);
});

test("an incoming webhook, and one that was taken away", async () => {
  const double = await openSlack();
  const send = senderOf(double);
  expect(await send(double.hookUrl, [fired("cart")])).toEqual({ kind: "delivered" });
  expect(double.messages).toMatchObject([
    { channel: "", text: expect.stringMatching(/^Firing: Too many errors\n/) as string },
  ]);
  expect(await send(`${double.hookUrl}-gone`, [fired("cart")])).toEqual({
    kind: "final",
    problem: "the receiver answered 404: no_service",
  });
  double.limited = 1;
  expect(await send(double.hookUrl, [fired("cart")])).toMatchObject({ kind: "retry", afterMs: 30_000 });
});
