/** Ingestion rules, stamped environments and senders' limits, as senders of every protocol and `/metrics` see them. */

import { once } from "node:events";
import { connect } from "node:net";
import snappy from "snappyjs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { otlp } from "../../../server/ingest/otlp/schema.ts";
import { writeRequest1 } from "../../../server/ingest/prometheus/schema.ts";
import { ask } from "../control/asking.ts";
import {
  call,
  type Got,
  type IngestResult,
  ingest,
  lines,
  post,
  type Running,
  search,
  startServer,
} from "../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer({ syslogAddress: { host: "127.0.0.1", port: 0 } });
});
afterAll(() => server.stop());

const nowMs = Date.now() - 60_000;
const nanos = `${nowMs}000000`;

async function readMetric(line: string): Promise<number> {
  const { text } = await call(server, "/metrics");
  const found = text.split("\n").find((each) => each.startsWith(`${line} `));
  return Number(found?.slice(line.length + 1) ?? Number.NaN);
}

/** Creates the rule, and deletes it after `run`. */
async function withRule<T>(id: string, rule: object, run: () => Promise<T>): Promise<T> {
  const made = await ask(server, "POST", "/ingestion-rules", { ingestionRule: { id, ...rule } });
  expect(made.status).toBe(200);
  try {
    return await run();
  } finally {
    expect((await ask(server, "DELETE", `/ingestion-rules/${encodeURIComponent(id)}`)).status).toBe(200);
  }
}

const makeNoiseRule = (signals: string[], key = "tier", values = ["^noise$"]) => ({
  rules: [
    { signals, action: "Exclude", match: { matchExpressions: [{ key, operator: "RegexIn", values }] } },
  ],
});

const attributes = (tier: string) => [{ key: "tier", value: { stringValue: tier } }];

interface RowRequest {
  path: string;
  type: string;
  /** A body with one row of this tier. */
  body(tier: string): string | Uint8Array<ArrayBuffer>;
  signal: string;
}

const encoded = (message: "LogsRequest" | "TraceRequest" | "MetricsRequest", value: object) => {
  const type = otlp.lookupType(message);
  return new Uint8Array(type.encode(type.fromObject(value)).finish());
};
const span = (tier: string) => ({
  traceId: Buffer.alloc(16, 7),
  spanId: Buffer.alloc(8, 7),
  name: "s",
  startTimeUnixNano: nanos,
  attributes: attributes(tier),
});

const rowRequests: readonly RowRequest[] = [
  {
    path: "/v1/logs",
    type: "application/x-protobuf",
    body: (tier) => {
      const record = { timeUnixNano: nanos, body: { stringValue: "x" }, attributes: attributes(tier) };
      return encoded("LogsRequest", { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
    },
    signal: "logs",
  },
  {
    path: "/v1/traces",
    type: "application/x-protobuf",
    body: (tier) => encoded("TraceRequest", { resourceSpans: [{ scopeSpans: [{ spans: [span(tier)] }] }] }),
    signal: "traces",
  },
  {
    path: "/v1/metrics",
    type: "application/json",
    body: (tier) => {
      const dataPoints = [{ timeUnixNano: nanos, asDouble: 1, attributes: attributes(tier) }];
      return JSON.stringify({
        resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: "m", gauge: { dataPoints } }] }] }],
      });
    },
    signal: "metrics",
  },
  {
    path: "/api/v1/write",
    type: "application/x-protobuf",
    body: (tier) => {
      const labels = [
        { name: "__name__", value: "w" },
        { name: "tier", value: tier },
      ];
      const timeseries = [{ labels, samples: [{ value: 1, timestamp: nowMs }] }];
      const bytes = writeRequest1.encode(writeRequest1.fromObject({ timeseries })).finish();
      return new Uint8Array(snappy.compress(Buffer.from(bytes)));
    },
    signal: "metrics",
  },
  {
    path: "/loki/api/v1/push",
    type: "application/json",
    body: (tier) => JSON.stringify({ streams: [{ stream: { tier }, values: [[nanos, "x"]] }] }),
    signal: "logs",
  },
  {
    path: "/_bulk",
    type: "application/x-ndjson",
    body: (tier) => lines([{ create: { _index: "i" } }, { "@timestamp": nowMs, message: "x", tier }]),
    signal: "logs",
  },
  ...["logs", "profiles", "kubernetes_resources"].map((signal) => ({
    path: `/api/v1/ingest/${signal}`,
    type: "application/x-ndjson",
    body: (tier: string) => lines([{ timestamp: nowMs, attributes: { tier } }]),
    signal,
  })),
  {
    path: "/api/v1/ingest/metrics",
    type: "application/x-ndjson",
    body: (tier) => lines([{ timestamp: nowMs, name: "j", labels: { tier }, value: 1 }]),
    signal: "metrics",
  },
];

function send({ path, type, body }: RowRequest, tier: string, token = server.adminToken, key?: string) {
  return call(server, path, {
    token,
    headers: { "Content-Type": type, ...(key === undefined ? {} : { "Idempotency-Key": key }) },
    body: body(tier),
  });
}

const allSignals = ["logs", "traces", "metrics", "profiles", "kubernetesResources"];

describe("ingestion rules", () => {
  test.each(rowRequests)(
    "$path: a row that a rule leaves out counts as taken, and a later retry adds nothing",
    async (request) => {
      const id = `noise "${request.path}"\\`;
      const line = `svc_ingest_dropped_rows_total{rule="noise \\"${request.path}\\"\\\\",signal="${request.signal}"}`;
      const rows = `svc_ingest_rows_total{signal="${request.signal}"}`;
      const key = `retry ${request.path}`;
      const before = await readMetric(rows);
      const good = await send(request, "good");
      const answer = await withRule(id, makeNoiseRule(allSignals), () =>
        send(request, "noise", server.adminToken, key),
      );
      expect(answer.status).toBe(good.status);
      expect(answer.text).not.toContain('error":"');
      if (request.path.startsWith("/api/v1/ingest")) {
        expect(answer.json).toEqual({ accepted: 0, refused: 0, dropped: 1, errors: [], duplicate: false });
      }
      expect(await readMetric(line)).toBe(1);
      expect(await readMetric(rows)).toBe(before + 1);
      // The rule is deleted by now.
      expect((await send(request, "noise", server.adminToken, key)).status).toBe(good.status);
      expect((await send(request, "good")).status).toBe(good.status);
      expect(await readMetric(rows)).toBe(before + 1);
      expect((await send(request, "noise", server.adminToken, `${key} again`)).status).toBe(good.status);
      expect(await readMetric(rows)).toBe(before + 2);
    },
  );

  test("apply to bodies that arrive after they are saved; a repeated body from before adds nothing", async () => {
    const body = lines(
      [1, 2, 3].map((n) => ({
        timestamp: nowMs + n,
        message: `once ${n}`,
        attributes: { tier: "noise" },
      })),
    );
    const first = await ingest(server, body);
    expect(first.json).toEqual({ accepted: 3, refused: 0, errors: [], duplicate: false });
    await withRule("noise", makeNoiseRule(["logs"]), async () => {
      expect((await ingest(server, body)).json).toEqual({
        accepted: 3,
        refused: 0,
        errors: [],
        duplicate: true,
      });
      const more = lines([
        { timestamp: nowMs, message: "once more", attributes: { tier: "noise" } },
        { message: "kept once" },
      ]);
      expect((await ingest(server, more)).json).toEqual({
        accepted: 1,
        refused: 0,
        dropped: 1,
        errors: [],
        duplicate: false,
      });
    });
    const found = await search(server, { query: "once" });
    expect(found.json.logs.map(({ message }) => message).sort()).toEqual([
      "kept once",
      "once 1",
      "once 2",
      "once 3",
    ]);
  });

  test("without match leave out all rows of an environment, and no other's", async () => {
    const made = await ask<{ token: string }>(server, "POST", "/environments/create", {
      environment: { name: "quiet" },
    });
    const rule = { cluster: "quiet", rules: [{ signals: ["logs"], action: "Exclude" }] };
    const rows = [
      { timestamp: nowMs, message: "q" },
      { timestamp: nowMs, attributes: { "k8s.cluster.name": "quiet" } },
    ];
    await withRule("quiet", rule, async () => {
      const headers = { Authorization: `Bearer ${made.json.token}` };
      expect((await ingest(server, lines(rows), headers)).json).toMatchObject({ accepted: 0, dropped: 2 });
      expect((await ingest(server, lines(rows))).json).toMatchObject({ accepted: 1, dropped: 1 });
      const bad = await ingest(server, lines([...rows, 5]), headers);
      expect([bad.status, bad.json]).toMatchObject([200, { accepted: 0, refused: 1, dropped: 2 }]);
    });
  });
});

describe("environments", () => {
  test("a token of an environment stamps environment and cluster on every row; the row's own value stays under another name", async () => {
    const made = await ask<{ token: string }>(server, "POST", "/environments/create", {
      environment: { name: "main" },
    });
    const { token } = made.json;
    const sent = { environment: "production", "k8s.cluster.name": "main", tier: "stamped" };
    const stored = {
      environment: "main",
      "k8s.cluster.name": "main",
      "attributes.environment": "production",
      tier: "stamped",
    };
    for (const signal of ["logs", "profiles", "kubernetes_resources"]) {
      await ingest(
        server,
        lines([{ timestamp: nowMs, attributes: sent }]),
        { Authorization: `Bearer ${token}` },
        signal,
      );
    }
    const found = await search(server, { query: 'logs{tier="stamped"}' });
    expect(found.json.logs.map((row) => row.attributes)).toEqual([stored]);
    for (const request of rowRequests)
      expect((await send(request, "environ", token)).status).toBeLessThan(300);
    for (const [signal, queries] of Object.entries({
      logs: ["count(logs{X})"],
      traces: ["count(traces{X})"],
      rows: ["count(profiles{X})", "count(kubernetes_resources{X})"],
      metrics: ["count(m{X})", "count(w{X})", "count(j{X})"],
    })) {
      for (const query of queries) {
        const stamped = 'tier="environ", environment="main", k8s.cluster.name="main"';
        const got = await post<{ series: { points: [number, number][] }[] }>(server, "timeseries", {
          query: query.replace("X", stamped),
          startTime: nowMs - 1000,
          endTime: nowMs + 1000,
          bucketSize: 3600,
        });
        const count = got.json.series.flatMap(({ points }) => points).reduce((sum, [, n]) => sum + n, 0);
        expect([query, count]).toEqual([query, signal === "logs" ? 4 : 1]);
      }
    }
  });
});

describe("limits", () => {
  const tokenOf = async (bounds: object) =>
    (await ask<{ token: string; id: string }>(server, "POST", "/tokens", { role: "ingest", ...bounds })).json;

  test.each(rowRequests)(
    "$path: 429 with Retry-After in the protocol's own form, and nothing of the body is stored",
    async (request) => {
      const { token } = await tokenOf({ rowsPerSecond: 1 });
      const many = lines(Array.from({ length: 100 }, (_, i) => ({ timestamp: nowMs, message: `many ${i}` })));
      const first = await ingest(server, many, { Authorization: `Bearer ${token}` });
      expect(first.json.accepted).toBe(100);
      const rows = `svc_ingest_rows_total{signal="${request.signal}"}`;
      const limited = 'svc_ingest_limited_batches_total{reason="rows"}';
      const before = [await readMetric(rows), await readMetric(limited)];
      const got = await send(request, "limited", token);
      expect(got.status).toBe(429);
      const seconds = Number(got.headers.get("retry-after"));
      expect(seconds).toBeGreaterThan(60);
      expect(seconds).toBeLessThanOrEqual(91);
      expect(messageOf(request, got)).toMatch(
        /^the sender's token may send 1 rows a second: try again in \d+ s$/,
      );
      expect([await readMetric(rows), await readMetric(limited)]).toEqual([before[0], before[1]! + 1]);
      expect((await call(server, "/metrics")).text).not.toContain(token);
    },
  );

  test("change with the token at once, and only tokens that may send have them", async () => {
    const { token, id } = await tokenOf({ bytesPerSecond: 1 });
    const headers = { Authorization: `Bearer ${token}` };
    const one = () => ingest(server, lines([{ message: "bytes" }]), headers);
    expect((await one()).status).toBe(200);
    expect((await one()).status).toBe(429);
    const read = () => ask(server, "GET", `/tokens/${id}`);
    expect((await read()).json).toMatchObject({ bytesPerSecond: 1 });
    expect((await ask(server, "PUT", `/tokens/${id}`, { bytesPerSecond: null })).status).toBe(200);
    expect((await read()).json).toMatchObject({ bytesPerSecond: null });
    expect((await one()).status).toBe(200);
    for (const [bounds, error] of [
      [
        { role: "viewer", rowsPerSecond: 5 },
        "rowsPerSecond is for tokens of role ingest or admin: others send no rows",
      ],
      [{ role: "ingest", rowsPerSecond: 0 }, "rowsPerSecond must be 1 or more, got 0"],
      [{ role: "ingest", bytesPerSecond: "1" }, 'bytesPerSecond must be an integer, got "1"'],
    ] as const) {
      const got = await ask<{ error: string }>(server, "POST", "/tokens", bounds);
      expect([got.status, got.json.error]).toEqual([400, error]);
    }
  });
});

/** The error message in the protocol's own form. */
function messageOf({ path, type }: RowRequest, got: Got): string {
  if (path.startsWith("/v1/")) {
    if (type === "application/json") return String(got.json.message);
    return (otlp.lookupType("Status").decode(Buffer.from(got.text)) as unknown as { message: string })
      .message;
  }
  if (path === "/_bulk") return (got.json.error as { reason: string }).reason;
  if (path === "/api/v1/write" || path.startsWith("/loki")) return got.text.trim();
  return String(got.json.error);
}

test("syslog messages above the limit of a sender are dropped and counted", async () => {
  const limited = await startServer({
    syslogAddress: { host: "127.0.0.1", port: 0 },
    senderLimits: { rowsPerSecond: 1, bytesPerSecond: null },
  });
  try {
    const sendSyslog = async (count: number) => {
      const socket = connect(limited.service.syslogPort!, "127.0.0.1");
      await once(socket, "connect");
      socket.end("<13>Jan  1 00:00:00 host app: x\n".repeat(count));
      await once(socket, "close");
    };
    const has = async (line: string) => {
      for (let tries = 0; tries < 200; tries++) {
        if ((await call(limited, "/metrics")).text.includes(`${line}\n`)) return true;
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      return false;
    };
    await sendSyslog(100);
    expect(await has('svc_ingest_rows_total{signal="logs"} 100')).toBe(true);
    await sendSyslog(7);
    expect(await has('svc_syslog_dropped_messages_total{reason="limit"} 7')).toBe(true);
    const other: Got<IngestResult> = await ingest(limited, lines([{ message: "of another sender" }]));
    expect(other.json.accepted).toBe(1);
  } finally {
    await limited.stop();
  }
});
