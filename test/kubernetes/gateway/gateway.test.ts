/** The gateway as workloads see it: over HTTP, with rules and pods, and a hub that is well or not. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Metrics } from "../../../server/index.ts";
import { otlp } from "../../../server/ingest/otlp/schema.ts";
import { Gateway, type GatewayOptions } from "../../../server/kubernetes/gateway/gateway.ts";
import { OtlpListener } from "../../../server/kubernetes/gateway/otlp-listener.ts";
import type { ExclusionRule } from "../../../server/model/exclusion.ts";
import { type Hub, startHub } from "./hub.ts";

let dir: string;
let hub: Hub;
let gateway: Gateway;
let listener: OtlpListener;
let metrics: Metrics;
let url: string;
const logged: string[] = [];

const cart = {
  namespace: "shop",
  service: "cart",
  attributes: { "k8s.namespace.name": "shop", "k8s.pod.name": "cart-1", "k8s.deployment.name": "cart" },
};

async function start(more: Partial<GatewayOptions> = {}): Promise<void> {
  metrics = new Metrics();
  gateway = await Gateway.open({
    dir,
    hub: { url: hub.url, token: () => "secret" },
    cluster: "main",
    pods: {
      byUid: (uid) => (uid === "u1" ? cart : undefined),
      byIp: (address) => (address === "10.0.0.1" ? cart : undefined),
    },
    metrics,
    log: (_level, message) => logged.push(message),
    directMs: 300,
    retryMs: { first: 5, max: 20 },
    ...more,
  });
  listener = new OtlpListener(gateway);
  url = `http://127.0.0.1:${await listener.listen(0, "127.0.0.1")}`;
  gateway.run();
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-gateway-"));
  hub = await startHub();
  logged.length = 0;
});
afterEach(async () => {
  await listener.close();
  await gateway.close();
  await hub.close();
  rmSync(dir, { recursive: true, force: true });
});

const pairs = (attributes: Record<string, string>) =>
  Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));

const request = (messages: readonly string[], resource: Record<string, string> = {}) => ({
  resourceLogs: [
    {
      resource: { attributes: pairs(resource) },
      scopeLogs: [
        {
          logRecords: messages.map((stringValue) => ({
            timeUnixNano: "1763000000123456789",
            body: { stringValue },
          })),
        },
      ],
    },
  ],
});

function protobufOf(messages: readonly string[], resource: Record<string, string> = {}): Buffer {
  const type = otlp.lookupType("LogsRequest");
  return Buffer.from(type.encode(type.fromObject(request(messages, resource))).finish());
}

const protobuf = { "Content-Type": "application/x-protobuf" };
const post = (body: Uint8Array | string, headers: Record<string, string> = protobuf, path = "/v1/logs") =>
  fetch(`${url}${path}`, { method: "POST", body: body as Uint8Array<ArrayBuffer>, headers });

interface LogsRequest {
  resourceLogs: {
    resource?: { attributes?: { key: string; value: { stringValue: string } }[] };
    scopeLogs: { logRecords: { timeUnixNano: string; body: { stringValue: string } }[] }[];
  }[];
}

function decode(body: Buffer): LogsRequest {
  const type = otlp.lookupType("LogsRequest");
  return type.toObject(type.decode(body), { longs: String }) as LogsRequest;
}

function textsIn({ resourceLogs }: LogsRequest) {
  return resourceLogs.map(({ resource, scopeLogs }) => ({
    resource: Object.fromEntries(
      (resource?.attributes ?? []).map(({ key, value }) => [key, value.stringValue]),
    ),
    messages: scopeLogs.flatMap(({ logRecords }) => logRecords.map(({ body }) => body.stringValue)),
  }));
}

const rule = (key: string, operator: "In" | "RegexIn", values: string[], id = "r1"): ExclusionRule => ({
  id,
  rules: [{ signals: ["logs"], action: "Exclude", match: { matchExpressions: [{ key, operator, values }] } }],
});

const metric = (name: string) =>
  Number(
    new RegExp(`^svc_gateway_${name.replaceAll(/[{}]/g, "\\$&")} (\\S+)$`, "m").exec(metrics.text())?.[1] ??
      0,
  );

describe("bodies", () => {
  test.each([
    ["protobuf", {}, (body: Buffer) => body],
    ["gzip", { "Content-Encoding": "gzip" }, gzipSync],
    ["zstd", { "Content-Encoding": "zstd" }, (body: Buffer) => zstdCompressSync(body)],
  ] as const)(
    "in %s are enriched and filtered by the name that the cluster gives",
    async (_, headers, pack) => {
      await start();
      gateway.setRules([
        rule("service.name", "In", ["/k8s/shop/cart"]),
        rule("message", "RegexIn", ["^no"], "r2"),
      ]);
      const dropped = await post(
        pack(protobufOf(["a", "b"], { "service.name": "own", "k8s.pod.uid": "u1" })),
        {
          ...protobuf,
          ...headers,
        },
      );
      expect(dropped.status).toBe(200);
      expect(hub.requests).toEqual([]);
      const kept = await post(pack(protobufOf(["yes", "no", "well"], { "service.name": "own" })), {
        ...protobuf,
        ...headers,
      });
      expect(kept.status).toBe(200);
      expect(textsIn(decode(hub.requests[0]!.body))).toEqual([
        { resource: { "service.name": "own" }, messages: ["yes", "well"] },
      ]);
      expect(hub.requests[0]).toMatchObject({ path: "/v1/logs", token: "Bearer secret" });
      expect(metric('excluded_total{rule="r1"}')).toBe(2);
      expect(metric('excluded_total{rule="r2"}')).toBe(1);
    },
  );

  test.each(["protobuf", "json"])(
    "in %s get the pod's attributes and keep the name that was sent",
    async (form) => {
      await start();
      gateway.setRules([rule("message", "In", ["gone"])]);
      const resource = { "service.name": "own", "k8s.pod.ip": "10.0.0.1", "k8s.pod.name": "named" };
      const [body, type] =
        form === "json"
          ? [JSON.stringify(request(["a", "gone"], resource)), "application/json"]
          : [protobufOf(["a", "gone"], resource), protobuf["Content-Type"]];
      const answer = await post(body, { "Content-Type": type });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("application/x-protobuf");
      const sent = hub.requests[0]!.body;
      const json = form === "json" ? (JSON.parse(sent.toString()) as LogsRequest) : decode(sent);
      expect(textsIn(json)).toEqual([
        {
          resource: {
            "k8s.pod.ip": "10.0.0.1",
            "k8s.pod.name": "named",
            "k8s.namespace.name": "shop",
            "k8s.deployment.name": "cart",
            "otel.service.name": "own",
            "service.name": "/k8s/shop/cart",
          },
          messages: ["a"],
        },
      ]);
      expect(json.resourceLogs[0]!.scopeLogs[0]!.logRecords[0]!.timeUnixNano).toBe("1763000000123456789");
      expect(metric('excluded_total{rule="r1"}')).toBe(1);
    },
  );

  test("that the gateway does not change are passed on byte by byte, once a key", async () => {
    await start();
    gateway.setRules([]);
    const body = protobufOf(["a"]);
    for (let i = 0; i < 2; i++) expect((await post(body)).status).toBe(200);
    expect(hub.requests.map((each) => each.body.equals(body))).toEqual([true, true]);
    expect(hub.taken.size).toBe(1);
    await post(body, { ...protobuf, "Idempotency-Key": "own" });
    expect(hub.taken.size).toBe(2);
  });

  test.each([[{ toString: 1 }], [[1]], [5]])(
    "in JSON are passed on where a metric's name is %j",
    async (name) => {
      await start();
      const match = {
        matchExpressions: [{ key: "__name__", operator: "In" as const, values: ["5", "gone", ""] }],
      };
      gateway.setRules([{ id: "r1", rules: [{ signals: ["metrics"], action: "Exclude", match }] }]);
      const gauge = { dataPoints: [{ asInt: 1, timeUnixNano: "1763000000123456789" }] };
      const sentMetrics = [name, "gone", "kept"].map((each) => ({ name: each, gauge }));
      const body = JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics: sentMetrics }] }] });
      // Whether such a name is taken is the hub's decision.
      const answer = await post(body, { "Content-Type": "application/json" }, "/v1/metrics");
      expect(answer.status).toBe(200);
      const sent = JSON.parse(hub.requests[0]!.body.toString());
      expect(
        sent.resourceMetrics[0].scopeMetrics[0].metrics.map((each: object) => Object.values(each)[0]),
      ).toEqual([name, "kept"]);
    },
  );

  test.each([
    ["GET", "/v1/logs", {}, 405],
    ["POST", "/v1/other", protobuf, 404],
    ["POST", "/v1/logs", { "Content-Type": "text/plain" }, 415],
    ["POST", "/v1/logs", { ...protobuf, "Content-Encoding": "br" }, 415],
    ["POST", "/v1/logs", { ...protobuf, "Content-Encoding": "gzip" }, 400],
    ["POST", "/v1/logs", { "Content-Type": "application/json" }, 400],
    ["POST", "/v1/logs", protobuf, 400],
  ])("are refused in OTLP's form: %s %s %j", async (method, path, headers, status) => {
    await start();
    gateway.setRules([rule("message", "In", ["x"])]);
    const answer = await fetch(`${url}${path}`, {
      ...{ method, headers: headers as Record<string, string> },
      ...(method === "GET" ? {} : { body: "\u000a\u0090 no OTLP" }),
    });
    expect(answer.status).toBe(status);
    const isJson = answer.headers.get("content-type") === "application/json";
    const bytes = Buffer.from(await answer.arrayBuffer());
    const said = isJson ? JSON.parse(bytes.toString()) : otlp.lookupType("Status").decode(bytes);
    expect((said as { message: string }).message).toMatch(/\w/);
    expect(hub.requests).toEqual([]);
  });
});

describe("rules", () => {
  test("are waited for, and bodies pass without them when the time is up", async () => {
    await start({ holdMs: 150 });
    const sent = post(protobufOf(["a"]));
    await expect.poll(() => metric("held_bytes")).toBeGreaterThan(0);
    expect(hub.requests).toEqual([]);
    expect((await sent).status).toBe(200);
    expect(hub.requests.length).toBe(1);
    expect(metric("opened_without_rules_total")).toBe(1);
    expect(metric("has_rules")).toBe(0);
  });

  test("that arrive in time apply to what was held", async () => {
    await start({ holdMs: 60_000 });
    const sent = post(protobufOf(["a", "b"]));
    await expect.poll(() => metric("held_bytes")).toBeGreaterThan(0);
    gateway.setRules([rule("message", "In", ["a"])]);
    expect((await sent).status).toBe(200);
    expect(textsIn(decode(hub.requests[0]!.body))[0]!.messages).toEqual(["b"]);
    expect(metric("opened_without_rules_total")).toBe(0);
  });

  test("with a bad pattern or no expressions are not in force, and the last good ones stay", async () => {
    await start();
    expect(gateway.setRules([rule("message", "In", ["a"]), rule("message", "In", ["b"], "r2")])).toEqual([]);
    const malformed = { ...rule("x", "In", ["x"], "r3") };
    malformed.rules = [{ signals: ["logs"], action: "Exclude", match: { matchExpressions: [] } }];
    const rejected = gateway.setRules([rule("message", "RegexIn", ["a", "(?=x)"]), malformed]);
    expect(rejected.map(({ id }) => id)).toEqual(["r1", "r3"]);
    expect(rejected[0]!.problem).toContain("RE2");
    await post(protobufOf(["a", "b", "c"]));
    // The last good version of r1 stays; r2 is gone.
    expect(textsIn(decode(hub.requests[0]!.body))[0]!.messages).toEqual(["b", "c"]);
    expect(metric('rejected_rules_total{rule="r1"}')).toBe(1);
  });

  test("without match leave out everything of their signals; those of other clusters nothing", async () => {
    await start();
    const all: ExclusionRule = { id: "all", rules: [{ signals: ["logs"], action: "Exclude" }] };
    gateway.setRules([{ ...all, cluster: "other" }]);
    await post(protobufOf(["a"]));
    expect(hub.requests.length).toBe(1);
    gateway.setRules([{ ...all, cluster: "main" }]);
    expect((await post(protobufOf(["b", "c"]))).status).toBe(200);
    expect(hub.requests.length).toBe(1);
    expect(metric('excluded_total{rule="all"}')).toBe(2);
  });
});

describe("a hub that is not well", () => {
  test.each([429, 503, 500, 401, "hang", "cut", "lost"] as const)(
    "(%s) gets every body once and in order, after it was acknowledged",
    async (deed) => {
      await start();
      gateway.setRules([]);
      hub.deed = () => deed;
      for (let i = 0; i < 20; i++) expect((await post(protobufOf([String(i)]))).status).toBe(200);
      expect(metric("buffer_bodies")).toBe(20);
      await expect.poll(() => hub.requests.length).toBeGreaterThan(1);
      if (deed === "hang") {
        // The body that hangs is given up when the connection breaks.
        const { port } = hub.url;
        const { taken } = hub;
        await hub.close();
        hub = await startHub(Number(port));
        for (const [key, each] of taken) hub.taken.set(key, each);
      }
      hub.deed = () => 200;
      await expect.poll(() => metric("buffer_bodies"), { timeout: 10_000 }).toBe(0);
      const messages = Array.from(hub.taken.values(), ({ body }) => textsIn(decode(body))[0]!.messages[0]);
      expect(messages).toEqual(Array.from({ length: 20 }, (_, i) => String(i)));
      await post(protobufOf(["direct"]));
      expect(metric("buffered_total")).toBe(20);
    },
  );

  test("and refuses a body as bad input is not blocked by it", async () => {
    await start();
    gateway.setRules([]);
    hub.deed = () => 400;
    expect((await post(protobufOf(["direct"]))).status).toBe(400);
    hub.deed = () => 503;
    for (const name of ["a", "bad", "c"]) expect((await post(protobufOf([name]))).status).toBe(200);
    hub.deed = ({ body }) => (body.includes("bad") ? 400 : 200);
    await expect.poll(() => metric("buffer_bodies"), { timeout: 10_000 }).toBe(0);
    const messages = Array.from(hub.taken.values(), ({ body }) => textsIn(decode(body))[0]!.messages[0]);
    expect(messages).toEqual(["a", "c"]);
    expect(metric('refused_total{status="400",buffered="true"}')).toBe(1);
    expect(metric('refused_total{status="400",buffered="false"}')).toBe(1);
    expect(logged.join("\n")).not.toContain("secret");
  });
});
