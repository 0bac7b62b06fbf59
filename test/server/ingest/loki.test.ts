/** Loki's push API: what a sender is answered, and what a search then finds. */
import snappy from "snappyjs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseLabels } from "../../../server/ingest/loki/labels.ts";
import type { Running } from "../running.ts";
import { call, search, startServer } from "../running.ts";
import { pushRequest } from "./loki-schema.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

let lastMs = Date.now() - 1_000_000;

function push(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  const type = typeof body === "string" ? "application/json" : "application/x-protobuf";
  return call(server, "/loki/api/v1/push", {
    token: server.adminToken,
    headers: { "Content-Type": type, "X-Scope-OrgID": "tenant", ...headers },
    body,
  });
}

async function foundAt(ms: number) {
  return (await search(server, { startTime: ms, endTime: ms })).json.logs;
}

const expected = (ms: number) => ({
  timestamp: ms,
  log_level: "warn",
  message: "disk is slow",
  attributes: {
    app: "cart",
    namespace: "shop",
    level: "warn",
    trace_id: "abc",
    "service.name": "/k8s/shop/cart",
  },
});

test("JSON: labels and structured metadata are attributes", async () => {
  const ms = ++lastMs;
  const values = [[`${ms}000000`, "disk is slow", { trace_id: "abc" }]];
  const got = await push(
    JSON.stringify({ streams: [{ stream: { app: "cart", namespace: "shop", level: "warn" }, values }] }),
  );
  expect([got.status, got.text]).toEqual([204, ""]);
  expect(await foundAt(ms)).toEqual([expected(ms)]);
});

test("protobuf with snappy gives the same row", async () => {
  const ms = ++lastMs;
  const bytes = pushRequest
    .encode(
      pushRequest.fromObject({
        streams: [
          {
            labels: '{app="cart", namespace="shop", level="warn"}',
            entries: [
              {
                timestamp: { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 },
                line: "disk is slow",
                structuredMetadata: [{ name: "trace_id", value: "abc" }],
              },
            ],
          },
        ],
      }),
    )
    .finish();
  const body = new Uint8Array(snappy.compress(new Uint8Array(bytes)));
  for (let i = 0; i < 2; i++) expect((await push(body)).status).toBe(204);
  expect(await foundAt(ms)).toEqual([expected(ms)]);
});

test("a refused entry is reported, and the others are stored", async () => {
  const ms = ++lastMs;
  const values = [
    ["5x", "bad"],
    [`${ms}000000`, "good"],
  ];
  const got = await push(JSON.stringify({ streams: [{ stream: {}, values }] }));
  expect(got.status).toBe(400);
  expect(got.text).toBe(
    '1 of 2 entries were refused; entry 1: streams[0].values[0][0] must be Unix time in nanoseconds, its digits in a string, got "5x"\n',
  );
  expect(await foundAt(ms)).toHaveLength(1);
});

test("the token may be sent as a password", async () => {
  const basic = Buffer.from(`12345:${server.adminToken}`).toString("base64");
  const got = await call(server, "/loki/api/v1/push", {
    headers: { "Content-Type": "application/json", Authorization: `Basic ${basic}` },
    body: '{"streams":[]}',
  });
  expect(got.status).toBe(204);
});

describe("bodies that are refused as a whole", () => {
  test.each([
    ["no JSON", "{", "the body is not JSON"],
    ["no streams", "{}", "streams is required: an array"],
    ["a stream that is none", '{"streams":[5]}', "streams[0].values is required"],
  ])("%s", async (_name, body, problem) => {
    const got = await push(body);
    expect([got.status, got.text.slice(0, problem.length)]).toEqual([400, problem]);
  });

  test("snappy with a claimed length that is impossible", async () => {
    const got = await push(new Uint8Array([0xff, 0xff, 0xff, 0x3f, 1, 2, 3]));
    expect([got.status, got.text]).toEqual([
      400,
      "the body is not whole snappy: it claims to be larger than it can be\n",
    ]);
  });
});

describe("labels of a stream", () => {
  test.each([
    ["{}", {}],
    ['{job="a"}', { job: "a" }],
    ['{ job = "a" , host="b,c}" }', { job: "a", host: "b,c}" }],
    ['{a="q\\"\\n\\x41\\u00e9\\\\", b=`raw\\n`}', { a: 'q"\nAé\\', b: "raw\\n" }],
  ])("%s", (text, labels) => {
    expect({ ...parseLabels(text) }).toEqual(labels);
  });

  test.each(["", "job", "{job}", '{job="a"', '{job="a",}', '{="a"}', '{job="a"} x'])(
    "%j is refused",
    (text) => {
      expect(() => parseLabels(text)).toThrow("the labels of a stream must be like");
    },
  );
});
