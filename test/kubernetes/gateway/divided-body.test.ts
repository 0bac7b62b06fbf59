/** Bodies that a proxy before the hub does not take are sent in parts. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Metrics } from "../../../server/index.ts";
import { otlp } from "../../../server/ingest/otlp/schema.ts";
import { Gateway } from "../../../server/kubernetes/gateway/gateway.ts";
import { type Hub, startHub } from "./hub.ts";

let dir: string;
let hub: Hub;
let gateway: Gateway;
let metrics: Metrics;
const logged: string[] = [];
/** Bytes that the proxy takes. */
const bytesMax = 400;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-divided-"));
  hub = await startHub();
  hub.deed = takeSmall;
  logged.length = 0;
  metrics = new Metrics();
  gateway = await Gateway.open({
    dir,
    hub: { url: hub.url, token: () => "secret" },
    cluster: "main",
    pods: { byUid: () => undefined, byIp: () => undefined },
    metrics,
    log: (_level, message) => logged.push(message),
    retryMs: { first: 5, max: 20 },
  });
  gateway.setRules([]);
  gateway.run();
});
afterEach(async () => {
  await gateway.close();
  await hub.close();
  rmSync(dir, { recursive: true, force: true });
});

const takeSmall = ({ body }: { body: Buffer }) => (body.length > bytesMax ? 413 : 200);

const signals = {
  logs: { type: "LogsRequest", names: ["resourceLogs", "scopeLogs", "logRecords"] },
  traces: { type: "TraceRequest", names: ["resourceSpans", "scopeSpans", "spans"] },
  metrics: { type: "MetricsRequest", names: ["resourceMetrics", "scopeMetrics", "metrics"] },
} as const;
type Signal = keyof typeof signals;
type Tree = { [name: string]: Tree[] } & { name?: string; resource?: { attributes: { key: string }[] } };

/** A record is called by what it belongs to: resource, scope, number. */
function bodyOf(signal: Signal, resources: number, scopes: number, records: readonly string[]): Buffer {
  const { type, names } = signals[signal];
  const [resourceName, scopeName, recordName] = names;
  const each = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));
  const message = otlp.lookupType(type);
  const tree = {
    [resourceName]: each(resources, (r) => ({
      resource: { attributes: [{ key: `r${r}`, value: { stringValue: "x" } }] },
      schemaUrl: "u",
      [scopeName]: each(scopes, (s) => ({
        scope: { name: `s${s}` },
        [recordName]: records.map((record) => {
          const name = `r${r} s${s} ${record}`;
          return signal === "logs" ? { body: { stringValue: name } } : { name };
        }),
      })),
    })),
  };
  return Buffer.from(message.encode(message.fromObject(tree)).finish());
}

/** The records that the hub has, each of which stands with its own resource and scope. */
function recordsOf(signal: Signal): string[] {
  const { type, names } = signals[signal];
  const [resourceName, scopeName, recordName] = names;
  const message = otlp.lookupType(type);
  return Array.from(hub.taken.values()).flatMap(({ body }) => {
    const tree = message.toObject(message.decode(body)) as Tree;
    return tree[resourceName]!.flatMap((resource) =>
      resource[scopeName]!.flatMap((scope) =>
        scope[recordName]!.map((record) => {
          const { body: text, name } = record as unknown as { body?: { stringValue: string }; name?: string };
          const found = (text?.stringValue ?? name)!;
          const { attributes } = resource.resource as { attributes: { key: string }[] };
          const place = `${attributes[0]!.key} ${(scope.scope as unknown as { name: string }).name} `;
          expect(found.startsWith(place)).toBe(true);
          return found.slice(0, 20);
        }),
      ),
    );
  });
}

const texts = Array.from({ length: 12 }, (_, i) => `record ${String(i).padStart(2, "0")}${"x".repeat(60)}`);
const expected = (resources: number, scopes: number) =>
  Array.from({ length: resources * scopes }, (_, i) =>
    texts.map((text) => `r${Math.floor(i / scopes)} s${i % scopes} ${text}`.slice(0, 20)),
  ).flat();
const accept = (signal: Signal, body: Buffer) => gateway.accept(signal, "application/x-protobuf", "", body);
const buffered = () => Number(/^svc_gateway_buffer_bodies (\d+)$/m.exec(metrics.text())![1]);

test.each([
  ["logs", 1, 1],
  ["logs", 3, 2],
  ["traces", 2, 1],
  ["metrics", 1, 2],
] as const)("%s of %i resources with %i scopes", async (signal, resources, scopes) => {
  const { status } = await accept(signal, bodyOf(signal, resources, scopes, texts));
  expect(status).toBe(200);
  expect(recordsOf(signal)).toEqual(expected(resources, scopes));
  for (const { body } of hub.taken.values()) expect(body.length).toBeLessThanOrEqual(bytesMax);
});

test("that waited on the disk, over failures between the parts, arrive once", async () => {
  hub.deed = () => 503;
  expect((await accept("logs", bodyOf("logs", 2, 1, texts))).status).toBe(200);
  expect(buffered()).toBe(1);
  let sent = 0;
  hub.deed = (request) => {
    const deed = takeSmall(request);
    return deed === 200 && ++sent % 3 === 0 ? "lost" : deed;
  };
  await expect.poll(buffered, { timeout: 10_000 }).toBe(0);
  expect(recordsOf("logs")).toEqual(expected(2, 1));
});

test("lose a record alone that is too large by itself", async () => {
  hub.deed = () => 503;
  const large = "y".repeat(bytesMax);
  await accept("logs", bodyOf("logs", 1, 1, [...texts.slice(0, 6), large, ...texts.slice(6)]));
  hub.deed = takeSmall;
  await expect.poll(buffered, { timeout: 10_000 }).toBe(0);
  expect(recordsOf("logs")).toEqual(expected(1, 1));
  expect(logged.join("\n")).toContain("the hub refused a body for /v1/logs with 413, or records of it");
});

test("of rows that the exporter makes", async () => {
  const rows = texts.map((message) => ({ message, attributes: {} }));
  await gateway.acceptRows({ signal: "logs", key: "k", rows }, false);
  const lines = Array.from(hub.taken.values()).flatMap(({ body }) => body.toString().trim().split("\n"));
  expect(lines.map((line) => (JSON.parse(line) as { message: string }).message)).toEqual(texts);
});
