/** The token in the forms in which agents send it: only where rows are sent. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, type Running, startServer } from "../../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
const forms: readonly [name: string, headers: (token: string) => Record<string, string>, query?: string][] = [
  ["Bearer", (token) => ({ Authorization: `Bearer ${token}` })],
  ["the bare token", (token) => ({ Authorization: token })],
  ["Basic", (token) => ({ Authorization: basic(`any:${token}`) })],
  ["ApiKey", (token) => ({ Authorization: `ApiKey ${Buffer.from(`id:${token}`).toString("base64")}` })],
  ["Splunk", (token) => ({ Authorization: `Splunk ${token}` })],
  ["Token", (token) => ({ Authorization: `Token ${token}` })],
  ["DD-API-KEY", (token) => ({ "DD-API-KEY": token })],
  ["dd-api-key in the query", () => ({}), "dd-api-key"],
  ["a password in the query", () => ({}), "p"],
];
const everywhere: readonly string[] = ["Bearer", "the bare token"];

test.each(forms)("%s", async (name, makeHeaders, parameter) => {
  const ask = (path: string, token: string, body?: string) => {
    const query = parameter === undefined ? "" : `?${parameter}=${encodeURIComponent(token)}`;
    const headers = { "Content-Type": "application/json", ...makeHeaders(token) };
    return call(server, path + query, { headers, ...(body === undefined ? {} : { body }) });
  };
  expect((await ask("/gelf", server.adminToken, '{"short_message":"x"}')).status).toBe(202);
  expect((await ask("/gelf", "svc_000000000000_".padEnd(60, "A"), '{"short_message":"x"}')).status).toBe(401);
  // Where rows are not sent, agents have nothing to ask.
  const tokens = await ask("/api/v1/tokens", server.adminToken);
  expect(tokens.status).toBe(everywhere.includes(name) ? 200 : 401);
});
