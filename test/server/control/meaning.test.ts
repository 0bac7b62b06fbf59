/**
 * Errors that schemas cannot express, about queries, names and ranges. Cases are data: a value and its error sentence.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { startServer } from "../running.ts";
import { ask } from "./asking.ts";
import { withValue } from "./place.ts";
import { alert, dashboard, ingestionRule, silence, webhook } from "./samples.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

async function refused(method: string, path: string, body: unknown): Promise<string> {
  const got = await ask<{ error: string }>(server, method, path, body);
  expect(got.status).toBe(400);
  return got.json.error;
}

const query = "timeseries.expression.svcQLTimeseries.query";
const rule = "timeseries.evaluationRules[0]";

describe("alerts", () => {
  test.each([
    [
      query,
      "count(logs) > 5",
      /: an alert's query does not compare at its top: its rules do, with operator and threshold \(line 1, column \d+\)\n/,
    ],
    [query, "count(logs) >= bool 5", /does not compare at its top/],
    [
      query,
      "topk(3, count(logs) by (service.name))",
      /: topk ranks over a whole range of time, which an alert does not have$/,
    ],
    [query, "1 + sum(bottomk(3, count(logs) by (service.name)))", /: bottomk ranks/],
    [query, "count(logs{x=$x})", /: the variable \$x has no value here/],
    [query, "cout(logs)", /\(line 1, column 1\)\n {2}cout\(logs\)\n {2}\^\^\^\^/],
    [query, "", /./],
    ["timeseries.expression.svcQLTimeseries.bucketSize", 0, /bucketSize must be 1 or more, got 0$/],
    ["timeseries.expression.svcQLTimeseries.bucketSize", undefined, /bucketSize is required: an integer$/],
    [
      `${rule}.static.persistenceSettings.datapointsToAlarm`,
      4,
      /datapointsToAlarm must not be more than datapointsInEvaluationWindow, got 4 and 3$/,
    ],
    [`${rule}.static.persistenceSettings.datapointsToAlarm`, 0, /must be 1 or more, got 0$/],
    [
      `${rule}.static.operators`,
      [],
      /^alert\.timeseries\.evaluationRules\[0\]\.static\.operators must have at least 1 element$/,
    ],
    [`${rule}.static.operators[0].threshold`, undefined, /threshold is required: a number$/],
    [
      `${rule}.static.operators[0].operator`,
      "greaterThen",
      /operator must be one of greaterThan, .*, got "greaterThen"$/,
    ],
    [`${rule}.name`, " ", /name must not be blank, got " "$/],
    ["timeseries.evaluationRules", [], /must have at least 1 element$/],
    [
      "timeseries.evaluationRules[1]",
      alert.timeseries.evaluationRules[0],
      /evaluationRules\[1\]\.name must be unique within the alert: "critical" comes twice$/,
    ],
    ["metadata.name", undefined, /^alert\.metadata\.name is required: a string$/],
    ["metadata.nam", "x", /^unknown field "alert\.metadata\.nam"; did you mean name\?$/],
    [
      "investigateOnfire",
      true,
      /^unknown field "alert\.investigateOnfire"; did you mean investigateOnFire\?$/,
    ],
    [
      `${rule}.actions[1].emailDestination.emails[0]`,
      "ops",
      /emails\[0\] must be an e-mail address, got "ops"$/,
    ],
    [
      `${rule}.actions[0].type`,
      "sms",
      /actions\[0\]\.type must be one of slack, email, pagerDuty, webhook, got "sms"$/,
    ],
    [
      `${rule}.actions[0].type`,
      undefined,
      /actions\[0\]\.type is required: one of slack, email, pagerDuty, webhook$/,
    ],
    [`${rule}.actions[0].emailDestination`, {}, /unknown field ".*actions\[0\]\.emailDestination"/],
  ])("%s as %j is refused", async (path, value, error) => {
    const got = await refused("POST", "/alerts/update", { alert: withValue(alert, path, value) });
    expect(got).toMatch(error);
    expect(got).toMatch(/^(?:unknown field ")?alert\./);
  });

  test.each([
    "(count(logs{log_level=`error`}) default 0) / count(logs)",
    "sum(rate(http_requests_total)) by (service) * 100",
    "(count(logs) > 5) default 0",
    "quantile(0.99, duration_ms, traces{service.name=`/k8s/shop/cart`})",
  ])("%s is taken", async (text) => {
    const got = await ask(server, "POST", "/alerts/update", { alert: withValue(alert, query, text) });
    expect(got.json).toMatchObject({ id: alert.metadata.id });
  });
});

const widget = "content.widgets[0]";
const series = `${widget}.chart.expression.svcQLQueries[0].query`;

describe("dashboards", () => {
  test.each([
    [series, "count(logs{a=$unheard})", `${series}: the variable $unheard has no value here`],
    [series, "logs", `${series}: a timeseries query needs an aggregation`],
    [
      "content.widgets[11].group.widgets[0]",
      { type: "iframe" },
      'content.widgets[11].group.widgets[0].type must be one of group, markdown, chart, stat, table, gauge, barGauge, pie, trace, log, got "iframe"',
    ],
    [
      `${widget}.position.absolute.x`,
      13,
      `${widget}.position.absolute reaches beyond column 24: x 13 and w 12 make 25 (settings.layoutVersion is 2)`,
    ],
    [`${widget}.position.absolute.w`, 0, `${widget}.position.absolute.w must be 1 or more, got 0`],
    [
      "content.variables[1].name",
      "service",
      "content.variables[1].name must be unique: $service comes twice",
    ],
    ["content.variables[1].name", "a-b", "content.variables[1].name must be a name of letters, digits and _"],
    ["content.variables[2].query", "count(", "content.variables[2].query: "],
    [
      "content.widgets[9].trace.expression.svcQLQueries[0].query",
      "logs",
      "svcQLQueries[0].query: a search for traces selects `traces{…}`",
    ],
    ["content.widgets[10].log.expression.svcQLQueries[0].query", "logs{", "svcQLQueries[0].query: "],
    [
      "content.widgets[4].stat.expression.svcQLQueries",
      undefined,
      "content.widgets[4].stat.expression.svcQLQueries is required: an array",
    ],
    ["metadata.folderPath", "shop", "metadata.folderPath must be a folder such as /dashboards/shop/"],
    [
      "metadata.folderPath",
      "/dashboards//",
      "metadata.folderPath must be a folder such as /dashboards/shop/",
    ],
    [
      "metadata.folderPath",
      "/dashboards/kubernetes-managed/prod/shop/",
      "metadata.folderPath: /dashboards/kubernetes-managed/ is for what Kubernetes manages",
    ],
    ["metadata.title", undefined, "metadata.title is required: a string"],
    [
      "settings.defaultTimeRange",
      "an hour",
      "settings.defaultTimeRange must be a duration such as 1h, 30m or 7d",
    ],
    ["settings.layoutVersion", 3, "settings.layoutVersion must be one of 1, 2, got 3"],
  ])("%s as %j is refused", async (path, value, error) => {
    const got = await refused("POST", "/dashboards/update", { dashboard: withValue(dashboard, path, value) });
    expect(got).toContain(error);
    expect(got).toMatch(/^dashboard\./);
  });

  test.each([
    [series, "count(logs) > $threshold"],
    [series, 'count(logs{service.name="$service"}) by ($pod)'],
    [series, "topk(5, count(logs) by (service.name))"],
    ["content.widgets[2].chart.expression.promQLQueries[0].query", "not (a query"],
    ["content.widgets", []],
    ["content.widgets", undefined],
    ["content.variables[0].defaultValue", ""],
    [`${widget}.chart.yAxis`, { unit: "bytes", kept: [null, {}] }],
    ["metadata.folderPath", "/dashboards/"],
    ["settings", undefined],
  ])("%s as %j is taken and kept as it was sent", async (path, value) => {
    const sent = withValue(dashboard, path, value);
    const got = await ask(server, "POST", "/dashboards/update", { dashboard: sent });
    expect(got.json).toEqual({ id: "shop" });
    expect((await ask(server, "GET", "/dashboards/shop")).json.dashboard).toEqual(sent);
  });
});

describe("the others", () => {
  test.each([
    [
      "/webhooks",
      { webhook: { ...webhook, url: "ftp://x/" } },
      'webhook.url must be an http or https URL, got "ftp://x/"',
    ],
    [
      "/webhooks",
      { webhook: { ...webhook, url: "$deep_link" } },
      'webhook.url must be an http or https URL, got "$deep_link"',
    ],
    [
      "/webhooks",
      { webhook: { ...webhook, headers: { "X-A": "a\r\nX-B: b" } } },
      "webhook.headers.X-A must be one line",
    ],
    [
      "/webhooks",
      { webhook: { ...webhook, headers: { "X A": "a" } } },
      "webhook.headers.X A must be a header's name",
    ],
    ["/webhooks", { webhook: { ...webhook, headers: { A: "1", a: "2" } } }, 'webhook.headers has "a" twice'],
    [
      "/webhooks",
      { webhook: { ...webhook, secret: "short" } },
      /^webhook\.secret must be whsec_ and 24 to 64 bytes in base64$/,
    ],
    [
      "/webhooks",
      { webhook: { ...webhook, headersFrom: {} } },
      'unknown field "webhook.headersFrom"; did you mean headers?',
    ],
    [
      "/silences",
      { silence: { ...silence, endsAt: 5 } },
      "silence.endsAt must be after startsAt, got 5 and 1800000000000",
    ],
    [
      "/silences",
      { silence: { endsAt: 5 } },
      "silence must name alertIds or match: it would silence everything",
    ],
    [
      "/ingestion-rules",
      { ingestionRule: withValue(ingestionRule, "rules[0].match.matchExpressions[1].values[0]", "(") },
      /^ingestionRule\.rules\[0\]\.match\.matchExpressions\[1\]\.values\[0\] must be a regular expression in RE2 syntax: /,
    ],
    [
      "/ingestion-rules",
      { ingestionRule: withValue(ingestionRule, "rules[0].action", "Drop") },
      'ingestionRule.rules[0].action must be "Exclude", got "Drop"',
    ],
    [
      "/telemetry-rules",
      { telemetryRule: { groups: [], rules: [] } },
      "telemetryRule.type is required: one of cluster, namespace",
    ],
  ])("%s refuses %j", async (path, body, error) => {
    const got = await refused("POST", path, body);
    if (typeof error === "string") expect(got).toBe(error);
    else expect(got).toMatch(error);
  });
});
