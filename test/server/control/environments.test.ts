/** Environments, and the tokens that send rows under their names. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { call, ingest, lines, startServer } from "../running.ts";
import { ask } from "./asking.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

interface Token {
  id: string;
  role: string;
  environment?: string;
  groups?: string[];
  lastUsedAt?: number;
  token?: string;
}

const create = (name: unknown) =>
  ask<{ token: string; error: string }>(server, "POST", "/environments/create", { environment: { name } });
const tokens = async () => (await ask<{ tokens: Token[] }>(server, "GET", "/tokens")).json.tokens;

describe("an environment", () => {
  test("is created with a token that sends under its name, shown once", async () => {
    const made = await create("prod");
    expect(Object.keys(made.json)).toEqual(["token"]);
    const sent = await ingest(server, lines([{ message: "x" }]), {
      Authorization: `Bearer ${made.json.token}`,
    });
    expect(sent.json.accepted).toBe(1);
    const read = await ask(server, "GET", "/environments/prod");
    expect(read.json).toMatchObject({ environment: { name: "prod" } });
    const listed = await ask(server, "GET", "/environments");
    expect(listed.json).toEqual({ environments: [{ name: "prod" }] });
    const listedTokens = await tokens();
    expect(listedTokens.find(({ environment }) => environment === "prod")).toMatchObject({ role: "ingest" });
    for (const text of [read.text, listed.text, JSON.stringify(listedTokens)])
      expect(text).not.toContain(made.json.token);
    const searched = await call(server, "/api/v1/alerts", { token: made.json.token });
    expect(searched.status).toBe(403);
  });

  test("has a unique name, also under concurrent requests", async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => create("race")));
    expect(made.filter(({ status }) => status === 200)).toHaveLength(1);
    const refused = made.find(({ status }) => status !== 200)!;
    expect([refused.status, refused.json.error]).toEqual([
      409,
      'environment.name: there is an environment "race" already',
    ]);
    expect((await tokens()).filter(({ environment }) => environment === "race")).toHaveLength(1);
  });

  test("revokes its tokens at once when it is deleted", async () => {
    const { token } = (await create("gone")).json;
    const second = await ask<Token>(server, "POST", "/tokens", { role: "ingest", environment: "gone" });
    expect((await ask(server, "DELETE", "/environments/gone")).json).toEqual({ id: "gone" });
    for (const each of [token, second.json.token!]) {
      const sent = await ingest(server, lines([{ message: "x" }]), { Authorization: `Bearer ${each}` });
      expect(sent.status).toBe(401);
    }
    expect((await ask(server, "DELETE", "/environments/gone")).status).toBe(404);
    expect((await create("gone")).status).toBe(200);
  });

  test.each([
    [undefined, "environment.name is required: a string"],
    [5, "environment.name must be a string, got 5"],
    ["", 'environment.name must not be blank, got ""'],
    ["x".repeat(201), "environment.name must have at most 200 characters"],
    ["\ud800", "environment.name must be valid Unicode"],
  ])("named %j is refused", async (name, error) => {
    const got = await create(name);
    expect([got.status, got.json]).toMatchObject([400, { error }]);
  });
});

describe("tokens", () => {
  test("may have groups and an environment, and show when they were last used", async () => {
    const made = await ask<Token>(server, "POST", "/tokens", { role: "viewer", groups: ["developers"] });
    expect(made.json).toMatchObject({ role: "viewer", groups: ["developers"] });
    expect(made.json.lastUsedAt).toBeUndefined();
    const before = Date.now();
    expect((await call(server, "/api/v1/alerts", { token: made.json.token! })).status).toBe(200);
    const read = await ask<Token>(server, "GET", `/tokens/${made.json.id}`);
    expect(read.json.lastUsedAt).toBeGreaterThanOrEqual(before);
    expect(read.json.groups).toEqual(["developers"]);
  });

  test("can change groups, name and expiry, and keep their secret", async () => {
    const made = await ask<Token>(server, "POST", "/tokens", { role: "viewer", groups: ["developers"] });
    const path = `/tokens/${made.json.id}`;
    const changed = await ask(server, "PUT", path, {
      name: "ann",
      groups: ["ops"],
      expiresAt: Date.now() + 60_000,
    });
    expect(changed.json).toMatchObject({ id: made.json.id, role: "viewer", name: "ann", groups: ["ops"] });
    expect((await ask(server, "GET", path)).json).toEqual(changed.json);
    const own = { token: made.json.token! };
    expect((await ask(server, "GET", "/alerts", undefined, own)).status).toBe(200);
    expect((await ask(server, "PUT", path, { role: "admin" })).json.error).toBe('unknown field "role"');
    expect((await ask(server, "PUT", path, {})).json.groups).toBeUndefined();
    expect((await ask(server, "PUT", "/tokens/none", {})).status).toBe(404);
  });

  test.each([
    [
      { role: "viewer", environment: "prod" },
      "environment is for tokens of role ingest: it is stamped on what they send",
    ],
    [{ role: "ingest", environment: "none" }, 'environment names "none", which does not exist'],
    [{ role: "viewer", groups: "a" }, 'groups must be an array, got "a"'],
  ])("%j is refused", async (body, error) => {
    expect((await ask(server, "POST", "/tokens", body)).json).toMatchObject({ error });
  });
});
