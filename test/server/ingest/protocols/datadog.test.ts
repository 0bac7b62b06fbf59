/** Datadog's log intake: bodies as the agent and its clients send them. */
import { deflateSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Running, startServer } from "../../running.ts";
import { findRows, send } from "./rows.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const ms = Date.now() - 60_000;
const path = "/api/v2/logs";

test("logs of the agent: status, time, tags and origin", async () => {
  const logs = [
    {
      message: "payment failed",
      status: "error",
      timestamp: ms,
      hostname: "node-3",
      service: "pay",
      ddsource: "java",
      ddtags: "env:prod,kube_namespace:shop,pod_name:pay-1,team:a,team:b,bare,version:1.2",
    },
    { message: "GET /", status: 404, date: ms + 1, ddtags: "", http: { url: "/" } },
  ];
  const body = new Uint8Array(zstdCompressSync(JSON.stringify(logs)));
  const headers = { "DD-API-KEY": server.adminToken, "Content-Encoding": "zstd" };
  const got = await send(server, { path, body, headers });
  expect([got.status, got.json]).toEqual([202, {}]);
  expect(await findRows(server, 'logs{} |~ "payment|GET"')).toEqual([
    {
      timestamp: ms,
      log_level: "error",
      message: "payment failed",
      attributes: {
        status: "error",
        "host.name": "node-3",
        "service.name": "pay",
        ddsource: "java",
        "deployment.environment.name": "prod",
        "k8s.namespace.name": "shop",
        "k8s.pod.name": "pay-1",
        team: "a,b",
        bare: "",
        "service.version": "1.2",
      },
    },
    {
      timestamp: ms + 1,
      log_level: "",
      message: "GET /",
      attributes: { status: "404", "http.url": "/" },
    },
  ]);
});

test("what the parameters say holds for each log that says nothing else", async () => {
  const query = `dd-api-key=${server.adminToken}&ddsource=nodejs&service=web&hostname=h1&ddtags=env:dev`;
  const logs = {
    message: "from winston",
    level: "warn",
    timestamp: new Date(ms).toISOString(),
    service: "own",
  };
  const got = await send(server, {
    path: `/api/v2/logs?${query}`,
    body: new Uint8Array(deflateSync(JSON.stringify(logs))),
    // No Authorization at all.
    headers: { "Content-Encoding": "deflate", "DD-API-KEY": server.adminToken },
  });
  expect(got.status).toBe(202);
  const text = await fetch(`${server.url}/v1/input?${query}`, {
    method: "POST",
    headers: { "Content-Type": "text/plain" },
    body: "line one\r\nline two\n",
  });
  expect(text.status).toBe(200);
  const shared = { ddsource: "nodejs", "host.name": "h1", "deployment.environment.name": "dev" };
  expect(await findRows(server, 'logs{host.name="h1", service.name="own"}')).toEqual([
    {
      timestamp: ms,
      log_level: "warn",
      message: "from winston",
      attributes: { ...shared, "service.name": "own", level: "warn" },
    },
  ]);
  const rows = await findRows(server, 'logs{host.name="h1", service.name="web"}');
  expect(rows.map(({ message, attributes }) => [message, attributes]).sort()).toEqual([
    ["line one", { ...shared, "service.name": "web" }],
    ["line two", { ...shared, "service.name": "web" }],
  ]);
});

test("errors are in Datadog's form", async () => {
  const got = await send<{ errors: { status: string; detail: string }[] }>(server, {
    path,
    body: '[{"message":"a"},5]',
  });
  expect([got.status, got.json.errors[0]!.status]).toEqual([400, "400"]);
  expect(got.json.errors[0]!.detail).toContain(
    "1 of 2 logs were refused; log 2: a row must be a JSON object",
  );
  const wrong = await send(server, { path, body: "[]", headers: { "DD-API-KEY": "x" } });
  expect(wrong.status).toBe(401);
});

test("the empty object with which the agent tries the address is no log", async () => {
  const got = await send(server, { path: "/api/v2/logs?hostname=tried", body: "{}" });
  expect([got.status, got.json]).toEqual([202, {}]);
  expect(await findRows(server, 'logs{host.name="tried"}')).toEqual([]);
});

test("the token may be in the path; then nothing else is asked for", async () => {
  const ask = (token: string, headers: Record<string, string> = {}) =>
    fetch(`${server.url}/v1/input/${encodeURIComponent(token)}?hostname=h9`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: '{"message":"by its path"}',
    });
  expect((await ask(server.adminToken)).status).toBe(200);
  expect((await findRows(server, 'logs{host.name="h9"}')).map(({ message }) => message)).toEqual([
    "by its path",
  ]);
  const wrong = await ask("unknown/%");
  expect(wrong.status).toBe(401);
  expect(await wrong.text()).toContain("the token is unknown, expired or revoked");
  // A header that is there decides.
  expect((await ask(server.adminToken, { Authorization: "Bearer unknown" })).status).toBe(401);
});
