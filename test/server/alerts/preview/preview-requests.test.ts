/** Previews of alerts: what is refused, what is cut short, and whose rows they see. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  previewBucketsMax,
  previewInstancesMax,
  previewVerdictsMax,
} from "../../../../server/alerts/limits.ts";
import { ask } from "../../control/asking.ts";
import { call, ingest, lines, type Running, startServer } from "../../running.ts";

interface Preview {
  evaluatedFrom: number | null;
  evaluatedThrough: number | null;
  fireCount: number;
  fires: { labels: Record<string, string>; firedAt: number; resolvedAt: number | null }[];
  instances: { labels: Record<string, string>; points: [number, number | null][] }[];
  more: number;
  warnings?: string[];
  error?: string;
}

const minute = 60_000;
const startMs = Math.floor((Date.now() - 86_400_000) / minute) * minute;
const byService = 'count(logs{log_level="error"}) by (service.name)';

function ruleOf(name = "any", window = 1, threshold = 0) {
  const persistenceSettings = { datapointsToAlarm: 1, datapointsInEvaluationWindow: window };
  return { name, static: { operators: [{ operator: "greaterThan", threshold }], persistenceSettings } };
}

function alertOf(query = byService, evaluationRules: object[] = [ruleOf()], bucketSize = 60) {
  const timeseries = { expression: { svcQLTimeseries: { query, bucketSize } }, evaluationRules };
  return { timeseries };
}

const range = { startTime: startMs, endTime: startMs + 10 * minute - 1 };
let server: Running;

beforeAll(async () => {
  server = await startServer();
  // Each service has rows in the minute of its number, and the last ten in one more.
  const rows = Array.from({ length: 30 }, (_, service) => [service, ...(service < 20 ? [] : [service + 4])])
    .flatMap((minutes, service) => minutes.map((at) => ({ at, service })))
    .map(({ at, service }) => ({
      ...{ timestamp: startMs + at * minute, log_level: "error", message: "x" },
      attributes: { "service.name": `s${service}` },
    }));
  expect((await ingest(server, lines(rows))).status).toBe(200);
});
afterAll(() => server.stop());

function preview(body: object, token?: string) {
  return ask<Preview>(server, "POST", "/alerts/preview", body, token === undefined ? {} : { token });
}

test("a draft needs no name, and nothing of it is stored", async () => {
  for (const metadata of [undefined, {}, { name: "" }, { id: "x", description: "d" }]) {
    const actions = [{ type: "webhook", webhookDestination: { uuid: "none of that id" } }];
    const alert = { ...alertOf(byService, [{ ...ruleOf(), actions }]), ...(metadata && { metadata }) };
    const { status, json } = await preview({ alert, ...range });
    expect([status, json.fireCount, json.fires.length]).toEqual([200, 10, 10]);
  }
  expect((await ask(server, "GET", "/alerts")).json).toEqual({ alerts: [] });
  expect((await ask(server, "GET", "/notifications")).json).toEqual({ notifications: [] });
});

test("a member's preview sees the member's rows alone", async () => {
  await ask(server, "PUT", "/groups/red", { group: { name: "red" } });
  const match = { matchExpressions: [{ key: "service.name", operator: "In", values: ["s3"] }] };
  const telemetryRule = { type: "cluster", groups: ["red"], rules: [{ signals: ["logs"], match }] };
  await ask(server, "PUT", "/telemetry-rules/red", { telemetryRule });
  const made = { role: "viewer", groups: ["red"] };
  const { token } = (await ask<{ token: string }>(server, "POST", "/tokens", made)).json;
  const { json } = await preview({ alert: alertOf(), ...range }, token);
  expect(json.fires.map(({ labels, firedAt }) => [labels["service.name"], firedAt])).toEqual([
    ["s3", startMs + 4 * minute],
  ]);
  expect([json.instances.length, json.more]).toEqual([1, 0]);
  const counted = await preview({ alert: alertOf("count(logs)"), ...range }, token);
  expect(counted.json.instances[0]!.points.flatMap(([, value]) => value ?? [])).toEqual([1]);
});

test("errors in the query and in fields have the place that saving shows", async () => {
  const wrong: [object, RegExp][] = [
    [alertOf("count(logs"), /^alert\.timeseries\.expression\.svcQLTimeseries\.query: /],
    [alertOf("count(logs) > 5"), /^alert\.timeseries\.expression\.svcQLTimeseries\.query: an alert's query/],
    [alertOf("topk(3, count(logs) by (a))"), /query: topk ranks/],
    [alertOf(byService, [ruleOf("a"), ruleOf("a")]), /evaluationRules\[1\]\.name must be unique/],
    [alertOf(byService, []), /^alert\.timeseries\.evaluationRules/],
    [alertOf(byService, [{ ...ruleOf(), treshold: 1 }]), /evaluationRules\[0\].*treshold/],
    [alertOf(byService, undefined, 0), /bucketSize must be/],
    [{ ...alertOf(), tipe: "timeseries" }, /tipe.*did you mean type/],
  ];
  for (const [alert, problem] of wrong) {
    const got = await preview({ alert, ...range });
    const metadata = { name: "saved" };
    const saved = await ask<{ error: string }>(server, "POST", "/alerts/update", {
      alert: { metadata, ...alert },
    });
    expect([got.status, got.json.error]).toEqual([400, expect.stringMatching(problem)]);
    expect(saved.json.error).toBe(got.json.error);
  }
  const late = alertOf(`${byService} / count(logs{log_level="error"}) by (service.name, message, log_level)`);
  expect((await preview({ alert: late, ...range })).status).toBe(200);
  const ambiguous = alertOf("count(logs) by (service.name) + on () count(logs) by (log_level, service.name)");
  const found = await preview({ alert: ambiguous, ...range });
  expect([found.status, found.json.error]).toEqual([
    400,
    expect.stringMatching(/^alert\.timeseries\.expression\.svcQLTimeseries\.query: \d+ series on the/),
  ]);
});

test.each([
  [{ startTime: 2, endTime: 1 }, "startTime must not be after endTime, got 2 and 1"],
  [{ startTime: 1 }, "endTime is required"],
  [{ startTime: startMs - 1, endTime: "now" }, "endTime must be an integer, Unix time in milliseconds"],
])("the range %j is refused", async (sent, problem) => {
  const { status, json } = await preview({ alert: alertOf(), ...sent });
  expect([status, json.error]).toEqual([400, expect.stringContaining(problem)]);
});

test("a range without a whole bucket that is complete is not judged", async () => {
  const inside = { startTime: startMs + 1, endTime: startMs + minute - 2 };
  const ahead = { startTime: Date.now() + 5 * minute, endTime: Date.now() + 10 * minute };
  for (const sent of [inside, ahead]) {
    const { json } = await preview({ alert: alertOf(), ...sent });
    expect(json).toMatchObject({ evaluatedFrom: null, evaluatedThrough: null, fireCount: 0, instances: [] });
    expect(json.warnings).toEqual([expect.stringContaining("nothing was judged")]);
  }
  const now = Date.now();
  const { json } = await preview({ alert: alertOf(), startTime: startMs, endTime: now + 60 * minute });
  expect(json.evaluatedThrough! % minute).toBe(0);
  // Rows may take half a minute to come.
  expect(json.evaluatedThrough!).toBeLessThanOrEqual(Date.now() - 30_000);
  expect(json.evaluatedThrough!).toBeGreaterThan(now - 30_000 - minute);
});

test("instances that fired most often are listed, and all are judged", async () => {
  const { json } = await preview({ alert: alertOf(), ...range, endTime: startMs + 40 * minute - 1 });
  expect(json).toMatchObject({ fireCount: 40, more: 30 - previewInstancesMax });
  const named = new Set(json.instances.map(({ labels }) => labels["service.name"]));
  expect(named.size).toBe(previewInstancesMax);
  for (let service = 20; service < 30; service++) expect(named.has(`s${service}`)).toBe(true);
  expect(json.warnings).toEqual([
    "20 instances, those that fired most often, are listed, of 30; all were judged",
  ]);
});

test("the newest buckets are listed, and all are judged", async () => {
  const rules = ["a", "b", "c"].map((name) => ruleOf(name, 5));
  const endTime = startMs + 40 * minute - 1;
  const seconds = 30_000;
  const alert = alertOf("count(logs)", rules, 1);
  const { json } = await preview({ alert, startTime: endTime + 1 - seconds * 1_000, endTime });
  const listed = Math.floor(previewVerdictsMax / 3);
  expect(json.instances.map(({ points }) => points.length)).toEqual([listed]);
  expect(json.instances[0]!.points.at(-1)![0]).toBe(endTime + 1 - 1_000);
  expect(json.fireCount % 3).toBe(0);
  // 34 minutes begin with rows, so that each rule fires in each for the seconds of its window.
  expect(json.fireCount).toBe(3 * 34);
  expect(json.warnings).toEqual([
    `${listed} buckets of each instance, the newest, are listed, of ${seconds}; all were judged`,
  ]);
});

test("more work than a preview may do is refused", async () => {
  const wide = { startTime: 0, endTime: 1_700_000_000_000 };
  const tooMany = await preview({ alert: alertOf(), ...wide });
  expect([tooMany.status, tooMany.json.error]).toEqual([
    400,
    expect.stringContaining(`and a preview judges ${previewBucketsMax} at most`),
  ]);
  const rules = Array.from({ length: 200 }, (_, i) => ruleOf(`r${i}`, 1_440));
  const endTime = startMs + 40 * minute;
  const heavy = await preview({
    alert: alertOf(byService, rules),
    startTime: endTime - 5_000 * minute,
    endTime,
  });
  expect([heavy.status, heavy.json.error]).toEqual([400, expect.stringContaining("shorten the range")]);
});

test("a draft that is no JSON, and one of a caller without a token, are refused", async () => {
  const headers = { "Content-Type": "application/json" };
  const { status } = await call(server, "/api/v1/alerts/preview", {
    token: server.adminToken,
    headers,
    body: "{",
  });
  expect(status).toBe(400);
  const anonymous = await ask(
    server,
    "POST",
    "/alerts/preview",
    { alert: alertOf(), ...range },
    { token: null },
  );
  // Telemetry rules exist, so that callers must say who they are.
  expect(anonymous.status).toBe(401);
});

test("the example of the readme has the fields of an answer", async () => {
  const readme = readFileSync(join(import.meta.dirname, "../../../../server/README.md"), "utf8");
  const section = readme.split("## Trying an alert")[1]!.split("\n## ")[0]!;
  const [request, shown] = [...section.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => {
    return JSON.parse(text!) as Record<string, object[]>;
  });
  expect((await preview(request!)).status).toBe(200);
  const json = (await preview({ alert: alertOf(), ...range })).json as unknown as typeof shown;
  expect(Object.keys(json!)).toEqual(Object.keys(shown!));
  for (const list of ["rules", "instances", "fires"]) {
    expect(Object.keys(json![list]![0]!)).toEqual(Object.keys(shown![list]![0]!));
  }
});
