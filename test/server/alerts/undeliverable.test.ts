/** What saving alerts and webhooks says of what cannot be delivered, over HTTP. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../control/asking.ts";
import { type Running, startServer } from "../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer({ notify: { allowedNetworks: ["127.0.0.0/8"] } });
});
afterAll(() => server.stop());

test("saving an alert says which of its actions reach nobody", async () => {
  const actions = [
    { type: "slack", slackDestination: { channel: "#alerts" } },
    { type: "slack", slackDestination: { channel: "https://hooks.slack.example/services/T/B/x" } },
    { type: "email", emailDestination: { emails: ["a@b.example"] } },
    { type: "pagerDuty", pagerDutyDestination: { serviceName: "shop" } },
    { type: "pagerDuty", pagerDutyDestination: {} },
    { type: "pagerDuty", pagerDutyDestination: { routingKey: "R" } },
  ];
  const alert = {
    metadata: { id: "nowhere", name: "nowhere" },
    timeseries: {
      expression: { svcQLTimeseries: { query: "count(logs)", bucketSize: 60 } },
      evaluationRules: [
        {
          name: "any",
          static: {
            operators: [{ operator: "lessThan", threshold: 0 }],
            persistenceSettings: { datapointsToAlarm: 1, datapointsInEvaluationWindow: 1 },
          },
          actions,
        },
      ],
    },
  };
  const { status, json } = await ask<{ warnings: string[] }>(server, "POST", "/alerts/update", { alert });
  expect(status).toBe(200);
  const at = (place: number) => `alert.timeseries.evaluationRules[0].actions[${place}] reaches nobody: `;
  expect(json.warnings).toEqual([
    `${at(0)}the server has no Slack token (--slack-token)`,
    `${at(2)}the server has no mail server (--smtp)`,
    `${at(3)}the server has no routing key for the PagerDuty service "shop" (--pagerduty-key)`,
    `${at(4)}it names no routingKey, serviceId or serviceName`,
  ]);
});

test.each(["Connection", "transfer-encoding", "Content-Length", "Host", "Upgrade", "webhook-signature"])(
  "a webhook must not set the header %s",
  async (name) => {
    const webhook = { url: "https://hooks.example/in", headers: { [name]: "x" } };
    const { status, json } = await ask<{ error: string }>(server, "POST", "/webhooks", { webhook });
    expect(status).toBe(400);
    expect(json.error).toContain(`webhook.headers must not set ${JSON.stringify(name)}`);
  },
);
