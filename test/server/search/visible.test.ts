/** POST /api/v1/query/visible: what members of groups may read, and who may ask. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { audience, type Issuer, startIssuer } from "../access/issuer.ts";
import { ask } from "../control/asking.ts";
import { ingest, lines, type Running, startServer } from "../running.ts";

interface Visible {
  signals: { signal: string; rows: number; services: { value: string; count: number }[] }[];
  metrics: { names: string[]; isWhole: boolean };
}

const startMs = Date.UTC(2026, 0, 29, 12);
const range = { startTime: startMs, endTime: startMs + 60_000 };
let server: Running;
let issuer: Issuer;

beforeAll(async () => {
  issuer = await startIssuer();
  const identity = { issuer: issuer.url, audiences: [audience], groupsClaim: "groups" };
  server = await startServer({ address: { host: "0.0.0.0", port: 0 }, identity });
  server.url = server.url.replace("0.0.0.0", "127.0.0.1");
  const rows = ["a", "a", "a", "b"].map((service, i) => ({
    ...{ timestamp: startMs + i, message: "hello" },
    attributes: { "service.name": service },
  }));
  expect((await ingest(server, lines(rows))).json.accepted).toBe(4);
  const samples = ["up", "down"].map((name) => ({ timestamp: startMs, name, value: 1, attributes: {} }));
  expect((await ingest(server, lines(samples), {}, "metrics")).json.accepted).toBe(2);
  await ask(server, "PUT", "/groups/b", { group: { name: "b" } });
  const match = { matchExpressions: [{ key: "service.name", operator: "In", values: ["b"] }] };
  const telemetryRule = { type: "cluster", groups: ["b"], rules: [{ signals: ["logs"], match }] };
  expect((await ask(server, "PUT", "/telemetry-rules/b", { telemetryRule })).status).toBe(200);
});
afterAll(async () => {
  await server.stop();
  await issuer.stop();
});

function see(body: object, token?: string) {
  return ask<Visible>(server, "POST", "/query/visible", body, token === undefined ? {} : { token });
}

test("a member sees what rules grant, and nothing of other signals", async () => {
  const { status, json } = await see({ groups: ["b"], ...range });
  expect(status).toBe(200);
  expect(json.signals.find(({ signal }) => signal === "logs")).toEqual({
    ...{ signal: "logs", rows: 1, services: [{ value: "b", count: 1 }] },
  });
  expect(json.signals.filter(({ rows }) => rows > 0).map(({ signal }) => signal)).toEqual(["logs"]);
  expect(json.metrics).toEqual({ names: [], isWhole: true });
});

test("an admin of the identity provider is shown the same of a member as the bearer of a token", async () => {
  const group = { name: "admins", role: "admin", oidcMappings: ["idp-admins"] };
  expect((await ask(server, "PUT", "/groups/admins", { group })).status).toBe(200);
  const token = await issuer.token({ groups: ["idp-admins"] });
  for (const name of ["b", "nobody"]) {
    const { status, json } = await see({ groups: [name], ...range }, token);
    expect(status).toBe(200);
    expect(json).toEqual((await see({ groups: [name], ...range })).json);
  }
});

test("members of a group without rules see nothing", async () => {
  const { json } = await see({ groups: ["nobody"], ...range });
  expect(json.signals.every(({ rows }) => rows === 0)).toBe(true);
});

test("only who manages access may ask, and mistakes are named", async () => {
  for (const role of ["viewer", "editor"]) {
    const { token } = (await ask<{ token: string }>(server, "POST", "/tokens", { role })).json;
    expect((await see({ groups: ["b"], ...range }, token)).status).toBe(403);
  }
  expect(
    (await ask(server, "POST", "/query/visible", { groups: ["b"], ...range }, { token: null })).status,
  ).toBe(401);
  for (const [body, field] of [
    [{ ...range }, "groups"],
    [{ groups: [], ...range }, "groups"],
    [{ groups: [1], ...range }, "groups[0]"],
    [{ groups: ["b"], startTime: 2, endTime: 1 }, "startTime"],
  ] as const) {
    const { status, json } = await see(body);
    expect([status, (json as { field?: string }).field]).toEqual([400, field]);
  }
});
