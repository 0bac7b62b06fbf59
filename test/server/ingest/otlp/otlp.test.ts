/** OTLP over HTTP: what a sender is answered, and what a search then finds. */
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { otlp } from "../../../../server/ingest/otlp/schema.ts";
import type { Entry, Running } from "../../running.ts";
import { call, search, startServer } from "../../running.ts";
import { protobufOf } from "./otlp-bodies.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const now = Date.now();
let last = now - 1_000_000;

type Json = Record<string, unknown>;

/** Gives each test a time of its own, in whole milliseconds. */
function nextMs(): number {
  return ++last;
}

function pairs(values: Record<string, string>) {
  return Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));
}

function logs(record: Json, resource: Record<string, string> = {}, scope: Json = {}): Json {
  return {
    resourceLogs: [
      { resource: { attributes: pairs(resource) }, scopeLogs: [{ scope, logRecords: [record] }] },
    ],
  };
}

function send(path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  const type = typeof body === "string" ? "application/json" : "application/x-protobuf";
  return call(server, path, {
    token: server.adminToken,
    headers: { "Content-Type": type, ...headers },
    body,
  });
}

function sendLogs(request: Json, headers: Record<string, string> = {}) {
  return send("/v1/logs", new Uint8Array(protobufOf("LogsRequest", request)), headers);
}

async function foundAt(ms: number): Promise<Entry[]> {
  return (await search(server, { startTime: ms, endTime: ms })).json.logs;
}

/** The row that a log record becomes. */
async function row(record: Json, resource: Record<string, string> = {}, scope: Json = {}): Promise<Entry> {
  const ms = nextMs();
  const got = await sendLogs(logs({ timeUnixNano: `${ms}000000`, ...record }, resource, scope));
  expect(got.status).toBe(200);
  expect(got.text).toBe("");
  return (await foundAt(ms))[0]!;
}

describe("a log record", () => {
  test("has the attributes of its resource and scope, unless it has the key itself", async () => {
    const { attributes } = await row(
      { attributes: pairs({ a: "record", b: "record" }) },
      { a: "resource", c: "resource", d: "resource" },
      { name: "lib", version: "1.2", attributes: pairs({ a: "scope", c: "scope" }) },
    );
    expect(attributes).toEqual({
      a: "record",
      b: "record",
      c: "scope",
      d: "resource",
      "otel.scope.name": "lib",
      "otel.scope.version": "1.2",
    });
  });

  test.each([
    [{ severityText: "Information", severityNumber: 17 }, "Information"],
    [{ severityNumber: 1 }, "trace"],
    [{ severityNumber: 8 }, "debug"],
    [{ severityNumber: 9 }, "info"],
    [{ severityNumber: 16 }, "warn"],
    [{ severityNumber: 20 }, "error"],
    [{ severityNumber: 21 }, "fatal"],
    [{}, ""],
  ])("%j has the level %s", async (severity, level) => {
    expect((await row(severity)).log_level).toBe(level);
  });

  test("keeps nothing else: no number beside a text, no second time, no flags, no schema", async () => {
    const ms = nextMs();
    const record = {
      timeUnixNano: `${ms}000000`,
      observedTimeUnixNano: `${ms + 1}000000`,
      ...{ severityNumber: 10, severityText: "Notice", flags: 1, body: { stringValue: "whole" } },
    };
    const request = logs(record);
    const [group] = request.resourceLogs as Json[];
    for (const list of [group!, ...(group!.scopeLogs as Json[])]) list.schemaUrl = "https://example.com/1.2";
    expect((await send("/v1/logs", JSON.stringify(request))).status).toBe(200);
    expect(await foundAt(ms)).toEqual([
      { timestamp: ms, log_level: "Notice", message: "whole", attributes: {} },
    ]);
    expect(await foundAt(ms + 1)).toEqual([]);
  });

  test("with a structured body is stored as JSON, which `| json` reads", async () => {
    const values = [
      {
        key: "user",
        value: { kvlistValue: { values: [{ key: "id", value: { intValue: "9007199254740993" } }] } },
      },
      { key: "tags", value: { arrayValue: { values: [{ stringValue: "x" }, { doubleValue: 0.5 }] } } },
    ];
    const found = await row({ body: { kvlistValue: { values } }, attributes: pairs({ structured: "yes" }) });
    expect(found.message).toBe('{"user":{"id":9007199254740993},"tags":["x",0.5]}');
    const query = 'logs{structured="yes"} | json | user.id="9007199254740993"';
    expect((await search(server, { query })).json.count).toBe(1);
  });

  test("has its trace and span ids in hexadecimal, and its event's name", async () => {
    const traceId = "0AF7651916CD43DD8448EB211C80319C";
    const { attributes } = await row({ traceId, spanId: "b7ad6b7169203331", eventName: "session.start" });
    expect(attributes).toEqual({
      trace_id: traceId.toLowerCase(),
      span_id: "b7ad6b7169203331",
      "event.name": "session.start",
    });
  });

  test("gets its observed time where it has none of its own", async () => {
    const ms = nextMs();
    await sendLogs(logs({ observedTimeUnixNano: `${ms}000000` }));
    expect(await foundAt(ms)).toHaveLength(1);
  });

  test("with invalid UTF-8 is stored with replacement characters", async () => {
    const ms = nextMs();
    const bytes = protobufOf(
      "LogsRequest",
      logs({ timeUnixNano: `${ms}000000`, body: { stringValue: "bad !!" } }),
    );
    bytes.write("\xff\xfe", bytes.indexOf("!!"), "latin1");
    expect((await send("/v1/logs", new Uint8Array(bytes))).status).toBe(200);
    expect((await foundAt(ms))[0]!.message).toBe("bad \ufffd\ufffd");
  });
});

describe("service.name of telemetry from Kubernetes", () => {
  const kubernetes = { "k8s.namespace.name": "shop", "k8s.pod.name": "cart-7d9f-x" };

  test.each([
    ["is made of namespace and workload", { ...kubernetes, "k8s.deployment.name": "cart" }, "/k8s/shop/cart"],
    ["falls back to the pod", kubernetes, "/k8s/shop/cart-7d9f-x"],
    [
      "stands in for an SDK's unknown_service",
      { ...kubernetes, "service.name": "unknown_service:node" },
      "/k8s/shop/cart-7d9f-x",
    ],
    ["stays as it was sent", { ...kubernetes, "service.name": "cart" }, "cart"],
    ["is not made up without a namespace", { "k8s.pod.name": "x" }, undefined],
  ])("%s", async (_name, resource, expected) => {
    expect((await row({}, resource)).attributes["service.name"]).toBe(expected);
  });
});

describe("a span", () => {
  const span = {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    name: "GET /cart",
    kind: 2,
    attributes: pairs({ "http.route": "/cart", name: "own" }),
    status: { code: 2, message: "boom" },
    events: [{ timeUnixNano: "5", name: "exception", attributes: pairs({ "exception.type": "E" }) }],
  };

  test.each(["protobuf", "json"])("in %s is found by its attributes", async (form) => {
    const ms = nextMs();
    const state = { traceState: "vendor=1" };
    const times = { startTimeUnixNano: `${ms}000000`, endTimeUnixNano: `${ms + 2}500000` };
    const links = [{ traceId: span.traceId, spanId: "0000000000000001", traceState: "other=2" }];
    const spans = [{ ...span, ...state, ...times, links }];
    const request = {
      resourceSpans: [
        { resource: { attributes: pairs({ "service.name": "cart" }) }, scopeSpans: [{ spans }] },
      ],
    };
    const body =
      form === "json" ? JSON.stringify(request) : new Uint8Array(protobufOf("TraceRequest", request));
    expect((await send("/v1/traces", body)).status).toBe(200);
    const { rows } = await server.service.store.search({
      signal: "traces",
      fromNs: BigInt(ms) * 1_000_000n,
      toNs: BigInt(ms + 1) * 1_000_000n,
      steps: [],
      limit: 10,
    });
    expect(rows.map(({ attributes }) => ({ ...attributes }))).toEqual([
      {
        trace_id: span.traceId,
        span_id: span.spanId,
        name: "GET /cart",
        kind: "server",
        status_code: "error",
        status_message: "boom",
        duration_ms: "2.5",
        "http.route": "/cart",
        "attributes.name": "own",
        "service.name": "cart",
        events: '[{"timeUnixNano":"5","name":"exception","attributes":{"exception.type":"E"}}]',
        trace_state: "vendor=1",
        links: `[{"traceId":"${span.traceId}","spanId":"0000000000000001","traceState":"other=2","attributes":{}}]`,
      },
    ]);
  });

  test.each(["protobuf", "json"])(
    "in %s says what it lost, and that it ends before it starts",
    async (form) => {
      const ms = nextMs();
      const event = { timeUnixNano: "5", name: "chunk", attributes: pairs({ text: "x".repeat(1_000) }) };
      const lost = { droppedAttributesCount: 2, droppedEventsCount: 3, events: Array(400).fill(event) };
      const times = { startTimeUnixNano: `${ms}000000`, endTimeUnixNano: `${ms - 1}000000` };
      const request = { resourceSpans: [{ scopeSpans: [{ spans: [{ ...span, ...times, ...lost }] }] }] };
      const body =
        form === "json" ? JSON.stringify(request) : new Uint8Array(protobufOf("TraceRequest", request));
      const got = await send("/v1/traces", body);
      const [row] = (
        await server.service.store.search({
          ...{ signal: "traces", steps: [], limit: 10 },
          ...{ fromNs: BigInt(ms) * 1_000_000n, toNs: BigInt(ms + 1) * 1_000_000n },
        })
      ).rows;
      const kept = (JSON.parse(row!.attributes.events!) as unknown[]).length;
      expect(kept).toBeGreaterThan(200);
      expect({ ...row!.attributes }).toMatchObject({
        ...{ duration_ms: "0", ends_before_start: "true", dropped_attributes_count: "2" },
        dropped_events_count: String(3 + 400 - kept),
      });
      const problem = `${400 - kept} events and links were left out of spans that have too many`;
      if (form === "json")
        expect(got.json).toEqual({ partialSuccess: { rejectedSpans: "0", errorMessage: problem } });
      else expect(got.text).toContain(problem);
    },
  );
});

describe("answers", () => {
  const bad = { ...logs({ timeUnixNano: "1", body: { stringValue: "old" } }) };
  const future = { timeUnixNano: `${now + 10 * 86_400_000}000000` };

  test("rows that cannot be stored are a partial success", async () => {
    const ms = nextMs();
    const request = {
      resourceLogs: [{ scopeLogs: [{ logRecords: [future, { timeUnixNano: `${ms}000000` }] }] }],
    };
    const inJson = await send("/v1/logs", JSON.stringify(request));
    expect(inJson.status).toBe(200);
    expect(inJson.json).toEqual({
      partialSuccess: {
        rejectedLogRecords: "1",
        errorMessage: "record 1: the time is more than a day ahead of the server's clock",
      },
    });
    const got = await fetch(`${server.url}/v1/logs`, {
      method: "POST",
      headers: { Authorization: `Bearer ${server.adminToken}`, "Content-Type": "application/x-protobuf" },
      body: new Uint8Array(protobufOf("LogsRequest", request)),
    });
    expect(got.headers.get("content-type")).toBe("application/x-protobuf");
    const message = otlp.lookupType("LogsResponse").decode(new Uint8Array(await got.arrayBuffer()));
    expect(JSON.parse(JSON.stringify(message))).toEqual(inJson.json);
    expect(await foundAt(ms)).toHaveLength(2);
  });

  test("errors are a Status in the encoding of the request", async () => {
    const inJson = await send("/v1/logs", "{");
    expect([inJson.status, inJson.json.code]).toEqual([400, 3]);
    const got = await fetch(`${server.url}/v1/traces`, {
      method: "POST",
      headers: { Authorization: "Bearer x", "Content-Type": "application/x-protobuf" },
      body: new Uint8Array(0),
    });
    expect(got.status).toBe(401);
    const status = otlp.lookupType("Status").decode(new Uint8Array(await got.arrayBuffer()));
    expect(status.toJSON()).toEqual({ code: 16, message: "the token is unknown, expired or revoked" });
  });

  test.each([
    ["cut short", protobufOf("LogsRequest", bad).subarray(0, -1)],
    ["no protobuf", Buffer.from("hello world")],
  ])("a body that is %s is refused whole", async (_name, body) => {
    expect((await send("/v1/logs", new Uint8Array(body))).status).toBe(400);
  });

  test.each([
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
  ])("%s is unpacked", async (encoding, pack) => {
    const ms = nextMs();
    const body = pack(protobufOf("LogsRequest", logs({ timeUnixNano: `${ms}000000` })));
    expect((await send("/v1/logs", new Uint8Array(body), { "Content-Encoding": encoding })).status).toBe(200);
    expect(await foundAt(ms)).toHaveLength(1);
  });

  test("a repeated body adds nothing where every record has a time of its own", async () => {
    const ms = nextMs();
    const request = logs({ timeUnixNano: `${ms}000000` });
    for (let i = 0; i < 3; i++) expect((await sendLogs(request)).status).toBe(200);
    expect(await foundAt(ms)).toHaveLength(1);
    const before = (await search(server, { query: 'logs{untimed="x"}' })).json.count;
    for (let i = 0; i < 2; i++) await sendLogs(logs({ attributes: pairs({ untimed: "x" }) }));
    expect((await search(server, { query: 'logs{untimed="x"}' })).json.count).toBe(before + 2);
  });

  test("an empty request is answered with 200", async () => {
    expect((await sendLogs({})).status).toBe(200);
    expect((await send("/v1/traces", "{}")).json).toEqual({});
  });
});
