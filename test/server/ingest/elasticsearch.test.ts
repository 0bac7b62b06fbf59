/** Elasticsearch's bulk API: what an agent requests and sends, and what a search then finds. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { call, lines, search, startServer } from "../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

interface Bulk {
  errors: boolean;
  items: Record<string, { _index: string; _id: string; status: number; error?: { reason: string } }>[];
}

let lastMs = Date.now() - 1_000_000;

function bulk(body: string, path = "/_bulk", headers: Record<string, string> = {}) {
  return call<Bulk>(server, path, {
    token: server.adminToken,
    headers: { "Content-Type": "application/x-ndjson", ...headers },
    body,
  });
}

async function foundAt(ms: number) {
  return (await search(server, { startTime: ms, endTime: ms })).json.logs;
}

test("documents become rows", async () => {
  const ms = ++lastMs;
  const document = {
    "@timestamp": new Date(ms).toISOString(),
    message: "refused",
    log: { level: "error", file: { path: "/var/log/a" } },
    kubernetes: { namespace: "shop", pod: { name: "cart-1" } },
    tags: ["a"],
  };
  const got = await bulk(lines([{ create: { _index: "filebeat" } }, document]));
  expect(got.headers.get("x-elastic-product")).toBe("Elasticsearch");
  expect(got.json).toMatchObject({ errors: false, items: [{ create: { _index: "filebeat", status: 201 } }] });
  expect(await foundAt(ms)).toEqual([
    {
      timestamp: ms,
      log_level: "error",
      message: "refused",
      attributes: {
        "log.level": "error",
        "log.file.path": "/var/log/a",
        "kubernetes.namespace": "shop",
        "kubernetes.pod.name": "cart-1",
        tags: '["a"]',
        _index: "filebeat",
        "service.name": "/k8s/shop/cart-1",
      },
    },
  ]);
});

test("the answer reports on each action, in order", async () => {
  const ms = ++lastMs;
  const got = await bulk(
    `${lines([{ index: { _id: "x" } }])}{"no json\n${lines([
      { delete: { _index: "i", _id: "1" } },
      { update: { _index: "i", _id: "1" } },
      { doc: {} },
      { index: {} },
      { "@timestamp": "yesterday" },
      { index: { _index: "other" } },
      { "@timestamp": ms, log: "from fluent bit" },
    ])}`,
    "/logs-app/_bulk",
  );
  expect(got.status).toBe(200);
  expect(got.json.errors).toBe(true);
  const items = got.json.items.map((item) => Object.entries(item)[0]!);
  expect(items.map(([action, { _index, status }]) => [action, _index, status])).toEqual([
    ["index", "logs-app", 400],
    ["delete", "i", 400],
    ["update", "i", 400],
    ["index", "logs-app", 400],
    ["index", "other", 201],
  ]);
  expect(items[0]![1]._id).toBe("x");
  expect(items[3]![1].error!.reason).toContain("@timestamp must be a date");
  expect((await foundAt(ms)).map(({ message }) => message)).toEqual(["from fluent bit"]);
});

test("a repeated body adds nothing", async () => {
  const ms = ++lastMs;
  const body = lines([{ index: { _index: "i" } }, { "@timestamp": ms, message: "once" }]);
  for (let i = 0; i < 2; i++) expect((await bulk(body)).json.errors).toBe(false);
  expect(await foundAt(ms)).toHaveLength(1);
});

describe("bodies that are refused as a whole", () => {
  test.each([
    ["an empty one", "\n", "the body must hold actions and documents"],
    [
      "a document without its action",
      lines([{ message: "x" }]),
      'line 1 must be an action such as {"create"',
    ],
  ])("%s", async (_name, body, reason) => {
    const got = await call<{ error: { type: string; reason: string }; status: number }>(server, "/_bulk", {
      token: server.adminToken,
      headers: { "Content-Type": "application/x-ndjson" },
      body,
    });
    expect([got.status, got.json.status, got.json.error.type]).toEqual([400, 400, "parse_exception"]);
    expect(got.json.error.reason).toContain(reason);
  });
});

describe("requests of agents before they send", () => {
  test.each([
    ["GET", "/", "You Know, for Search"],
    ["HEAD", "/", ""],
    ["GET", "/_license", '"active"'],
    ["GET", "/_xpack", '"ilm"'],
    ["GET", "/_cluster/health", '"green"'],
    ["HEAD", "/_index_template/ecs-logstash", ""],
    ["GET", "/_ilm/policy/filebeat", "{}"],
    ["PUT", "/_ilm/policy/filebeat", '"acknowledged":true'],
    ["PUT", "/_index_template/filebeat-8.17.0", '"acknowledged":true'],
    ["PUT", "/_data_stream/filebeat-8.17.0", '"acknowledged":true'],
  ])("%s %s", async (method, path, expected) => {
    const got = await call(server, path, {
      method,
      headers: {
        "Content-Type": "application/json",
        Authorization: `ApiKey ${Buffer.from(`id:${server.adminToken}`).toString("base64")}`,
      },
      ...(method === "PUT" ? { body: "{}" } : {}),
    });
    expect(got.status).toBe(200);
    expect(got.text).toContain(expected);
  });
});
