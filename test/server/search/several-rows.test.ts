/** Stages over several rows over HTTP: nobody learns of rows that he may not read, by what stands before them or by a join. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask } from "../control/asking.ts";
import { call, type Found, ingest, lines, type Running, startServer } from "../running.ts";

const startMs = Date.UTC(2026, 0, 29, 12);
const range = { startTime: startMs, endTime: startMs + 599_999 };
const traceOf = (i: number) => String(i).padStart(32, "0");
let server: Running;
/** Reads rows of the namespace "shop" alone. */
let shop: string;

beforeAll(async () => {
  server = await startServer();
  const row = (second: number, namespace: string, message: string, trace?: number) => ({
    ...{ timestamp: startMs + second * 1_000, message },
    attributes: {
      "k8s.namespace.name": namespace,
      ...(trace === undefined ? {} : { trace_id: traceOf(trace) }),
    },
  });
  const rows = [
    row(0, "shop", "job started", 1),
    row(1, "bank", "secret balance", 1),
    row(2, "shop", "job failed", 1),
    row(100, "shop", "job started", 2),
    row(200, "shop", "job finished", 2),
  ];
  expect((await ingest(server, lines(rows))).json.accepted).toBe(rows.length);
  const spans = ["shop", "bank"].map((namespace, i) => ({
    ...{ traceId: traceOf(i + 1), spanId: `a00000000000000${i}`, name: `${namespace} span`, kind: "server" },
    ...{ startTimeUnixNano: `${startMs}000000`, endTimeUnixNano: `${startMs + 5}000000` },
    attributes: { "k8s.namespace.name": namespace },
  }));
  expect((await ingest(server, lines(spans), {}, "spans")).json.accepted).toBe(2);
  await ask(server, "PUT", "/groups/shop", { group: { name: "shop" } });
  const match = { matchExpressions: [{ key: "k8s.namespace.name", operator: "In", values: ["shop"] }] };
  const telemetryRule = {
    ...{ type: "cluster", groups: ["shop"] },
    rules: [{ signals: ["logs", "traces"], match }],
  };
  expect((await ask(server, "PUT", "/telemetry-rules/shop", { telemetryRule })).status).toBe(200);
  const made = { role: "viewer", groups: ["shop"] };
  shop = (await ask<{ token: string }>(server, "POST", "/tokens", made)).json.token;
});
afterAll(() => server.stop());

async function find(query: string, token = server.adminToken) {
  const { status, json } = await call<Found>(server, "/api/v1/query/logs", {
    ...{ token, headers: { "Content-Type": "application/json" } },
    body: JSON.stringify({ query, ...range }),
  });
  expect([status, json.error]).toEqual([200, undefined]);
  return json.logs;
}

const messages = async (query: string, token?: string) =>
  (await find(query, token)).map(({ message }) => message).sort();

describe("whoever may not read a row", () => {
  test("sees no label of it", async () => {
    const query = 'logs | before = lag(message) by (trace_id) | before != ""';
    expect((await find(query)).map(({ attributes: { before } }) => before).sort()).toEqual([
      ...["job started", "job started", "secret balance"],
    ]);
    const own = await find(query, shop);
    expect(own.map(({ message, attributes: { before } }) => [message, before])).toEqual([
      ["job finished", "job started"],
      ["job failed", "job started"],
    ]);
  });

  test("finds nothing by it", async () => {
    const query = 'logs | sequence (|= "balance" then |= "failed") by (trace_id) within 1m';
    expect(await messages(query)).toEqual(["job failed"]);
    expect(await messages(query, shop)).toEqual([]);
    const undisturbed = 'logs | sequence (|= "started" then not |= "balance" then |= "failed") within 1m';
    expect(await messages(undisturbed)).toEqual([]);
    expect(await messages(undisturbed, shop)).toEqual(["job failed"]);
  });

  test("is joined with nothing of it", async () => {
    expect(await messages('logs | join (traces{name="bank span"}) on (trace_id)')).toEqual([
      ...["job finished", "job started"],
    ]);
    expect(await messages('logs | join (traces{name="bank span"}) on (trace_id)', shop)).toEqual([]);
    expect(await messages("logs | unless (traces) on (trace_id)", shop)).toEqual([
      "job finished",
      "job started",
    ]);
    const joined = 'logs | join (logs |= "secret") on (trace_id) | logs.message != ""';
    expect(await messages(joined)).toEqual(["job failed", "job started", "secret balance"]);
    expect(await messages(joined, shop)).toEqual([]);
  });

  test("counts nothing by it", async () => {
    const query = "count(logs | before = lag(message) by (trace_id)) by (before)";
    const { json } = await call<{ timeseries: { labels: { before?: string } }[] }>(
      server,
      "/api/v1/query/timeseries",
      {
        ...{ token: shop, headers: { "Content-Type": "application/json" } },
        body: JSON.stringify({ query, ...range }),
      },
    );
    expect(JSON.stringify(json)).toContain("job started");
    expect(JSON.stringify(json)).not.toContain("secret");
  });
});

test("a tail says that it takes each row by itself", async () => {
  const { status, json } = await ask<{ error: string }>(
    ...([server, "GET", `/query/tail?query=${encodeURIComponent("logs | first by (trace_id)")}`] as const),
  );
  expect([status, json.error]).toEqual([400, expect.stringContaining("takes each row as it arrives")]);
});

test.each([
  ["count(logs | first by (trace_id))", /says how far apart they may be, as in `by \(pod\) within 5m`/],
  ['count(logs | a = lag(message) by (trace_id) | a = "x")', /says how far apart/],
  [
    'count(logs | sequence (|= "a" then not |= "b") by (trace_id) within 90s)',
    /look up to 90 s ahead, which an alert waits for with an offset: `offset 90s`/,
  ],
  ["count(logs | join (traces) on (trace_id) within 1m offset 30s)", /look up to 60 s ahead/],
])("an alert over %s is refused with what is missing", async (query, problem) => {
  const { status, json } = await ask<{ error: string }>(server, "POST", "/alerts/preview", {
    ...{ alert: alertOf(query), ...range },
  });
  expect([status, json.error]).toEqual([400, expect.stringMatching(problem)]);
});

test("an alert tells of a job that has not finished in time, once that is certain", async () => {
  const query =
    'count(logs | sequence (|= "started" then not |= "finished" or "failed") by (trace_id) within 90s offset 90s)';
  const { status, json } = await ask<{ fires: { firedAt: number }[] }>(server, "POST", "/alerts/preview", {
    ...{ alert: alertOf(query), ...range },
  });
  // The job of second 100 has not finished by second 190, and the bucket that has it ends at second 240.
  expect([status, json.fires.map(({ firedAt }) => (firedAt - startMs) / 1_000)]).toEqual([200, [240]]);
});

function alertOf(query: string) {
  const persistenceSettings = { datapointsToAlarm: 1, datapointsInEvaluationWindow: 1 };
  const rule = {
    name: "any",
    static: { operators: [{ operator: "greaterThan", threshold: 0 }], persistenceSettings },
  };
  const timeseries = { expression: { svcQLTimeseries: { query, bucketSize: 60 } }, evaluationRules: [rule] };
  return { timeseries };
}
