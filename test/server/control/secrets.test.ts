/**
 * Secrets of alerts and webhooks: shown to those who may write them, a mark to others; and the mark, sent back, keeps
 * them.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { secretPlaceholder } from "../../../server/control/hidden-secrets.ts";
import { type Running, startServer } from "../running.ts";
import { ask } from "./asking.ts";
import { withValue } from "./place.ts";
import { alert, webhook } from "./samples.ts";

let server: Running;
let viewer: string;
beforeAll(async () => {
  server = await startServer();
  viewer = (await ask<{ token: string }>(server, "POST", "/tokens", { role: "viewer" })).json.token;
});
afterAll(() => server.stop());

const first = "timeseries.evaluationRules[0]";
const slackUrl = "https://hooks.slack.example/services/T0/B0/s3cret-slack";
const pagerDuty = { routingKey: "s3cret-key", serviceName: "shop", more: { token: "s3cret-more" } };
const actions = [
  { type: "slack", slackDestination: { channel: slackUrl } },
  { type: "slack", slackDestination: { channel: "#ops", notifyOnResolve: true } },
  { type: "email", emailDestination: { emails: ["ops@example.com"] } },
  { type: "pagerDuty", pagerDutyDestination: pagerDuty },
];
const withSecrets = withValue(alert, `${first}.actions`, actions);
const withPlaceholders = withValue(
  withValue(withSecrets, `${first}.actions[0].slackDestination.channel`, secretPlaceholder),
  `${first}.actions[3].pagerDutyDestination`,
  { routingKey: secretPlaceholder, serviceName: "shop", more: secretPlaceholder },
);
const one = `/alerts/${alert.metadata.id}`;

function save(sent: unknown) {
  return ask<{ error?: string }>(server, "POST", "/alerts/update", { alert: sent });
}

async function stored(): Promise<unknown> {
  return (await ask(server, "GET", one)).json.alert;
}

describe("an alert", () => {
  beforeAll(async () => {
    expect((await save(withSecrets)).status).toBe(200);
  });

  test("shows its secrets only to callers who may write it", async () => {
    expect(await stored()).toEqual(withSecrets);
    for (const asking of [{ token: viewer }, { token: null }]) {
      const read = await ask(server, "GET", one, undefined, asking);
      expect(read.json.alert).toEqual(withPlaceholders);
      const list = await ask(server, "GET", "/alerts", undefined, asking);
      expect(list.json.alerts).toEqual([withPlaceholders]);
      const found = await ask(server, "GET", "/notifications", undefined, asking);
      for (const { text } of [read, list, found]) expect(text).not.toContain("s3cret");
    }
  });

  test("keeps the secret of a placeholder that moves within its rule", async () => {
    const [url, channel, mail, key] = (
      withPlaceholders.timeseries as unknown as { evaluationRules: [{ actions: object[] }] }
    ).evaluationRules[0].actions;
    const order = [key, url, mail, channel];
    expect((await save(withValue(withPlaceholders, "metadata.name", "other"))).status).toBe(200);
    expect(await stored()).toEqual(withValue(withSecrets, "metadata.name", "other"));
    expect((await save(withValue(withPlaceholders, `${first}.actions`, [mail, key]))).status).toBe(200);
    expect(await stored()).toEqual(withValue(withSecrets, `${first}.actions`, [actions[2], actions[3]]));
    await save(withSecrets);
    const moved = await save(withValue(withPlaceholders, `${first}.actions`, order));
    // The stored rule has two Slack actions, and the placeholder may stand for either.
    expect([moved.status, moved.json.error]).toEqual([200, undefined]);
    expect(JSON.stringify(await stored())).toContain("s3cret-key");
    await save(withSecrets);
  });

  test.each([
    ["in another rule", withValue(withPlaceholders, `${first}.name`, "renamed")],
    [
      "of what is not stored",
      withValue(withPlaceholders, `${first}.actions[3].pagerDutyDestination.other`, secretPlaceholder),
    ],
    ["of a new alert", withValue(withPlaceholders, "metadata.id", "new")],
  ])("refuses a placeholder %s", async (_what, sent) => {
    const got = await save(sent);
    expect(got.status).toBe(400);
    expect(got.json.error).toMatch(
      /^alert\.timeseries\.evaluationRules\[0\]\.actions\[\d\]\..* is "\[hidden\]", which stands for a secret/,
    );
    expect(await stored()).toEqual(withSecrets);
  });
});

describe("a webhook", () => {
  const { secret: _, ...rest } = webhook;
  const path = `/webhooks/${webhook.id}`;
  const placeholders = {
    ...rest,
    url: secretPlaceholder,
    body: secretPlaceholder,
    headers: { Authorization: secretPlaceholder, "X-Team": secretPlaceholder },
  };
  beforeAll(async () => {
    expect((await ask(server, "PUT", path, { webhook })).status).toBe(200);
  });

  test("shows placeholders to callers who may not write it", async () => {
    expect((await ask(server, "GET", path)).json).toMatchObject({ webhook: rest, hasSecret: true });
    for (const asking of [{ token: viewer }, { token: null }]) {
      const read = await ask(server, "GET", path, undefined, asking);
      expect(read.json).toMatchObject({ webhook: placeholders, hasSecret: true });
      const list = await ask(server, "GET", "/webhooks", undefined, asking);
      expect(list.json.webhooks).toEqual([placeholders]);
    }
  });

  test("keeps the secrets of placeholders, and the signing secret", async () => {
    const changed = { ...placeholders, displayName: "Other" };
    expect((await ask(server, "PUT", path, { webhook: changed })).status).toBe(200);
    expect((await ask(server, "GET", path)).json).toMatchObject({
      webhook: { ...rest, displayName: "Other" },
      hasSecret: true,
    });
    await ask(server, "PUT", path, { webhook });
  });

  test.each([
    [{ ...placeholders, headers: { "X-Other": secretPlaceholder } }, "webhook.headers.X-Other"],
    [{ ...placeholders, id: "new" }, "webhook.url"],
  ])("refuses a placeholder where no secret is stored", async (sent, where) => {
    const got = await ask<{ error: string }>(server, "PUT", `/webhooks/${sent.id}`, { webhook: sent });
    expect([got.status, got.json.error.startsWith(`${where} is "[hidden]"`)]).toEqual([400, true]);
  });
});
