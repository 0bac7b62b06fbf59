/** Every change and every refused request is a row of the logs. */

import { expect, test } from "vitest";
import type { Running } from "../running.ts";
import { search, startServer } from "../running.ts";
import { ask } from "./asking.ts";
import { alert, kinds, webhook } from "./samples.ts";

async function readAudit(server: Running, query: string): Promise<Record<string, string>[]> {
  const got = await search(server, { query, limit: 1_000 });
  expect(got.status).toBe(200);
  return got.json.logs.map(({ message, log_level, attributes }) => ({ message, log_level, ...attributes }));
}

test("records who changed which resource and how, for every kind of change", async () => {
  const server = await startServer();
  for (const { name, path, style, id, sample } of kinds) {
    const body = { [name]: sample };
    for (let i = 0; i < 2; i++) {
      if (style === "upsert") await ask(server, "POST", `${path}/update`, body);
      else await ask(server, "PUT", `${path}/${id}`, body);
    }
    await ask(server, "DELETE", `${path}/${id}`);
  }
  await ask(server, "POST", "/environments/create", { environment: { name: "prod" } });
  const token = await ask<{ id: string; token: string }>(server, "POST", "/tokens", {
    role: "viewer",
    name: "ops",
  });
  await ask(server, "PUT", `/tokens/${token.json.id}`, { name: "others" });
  await ask(server, "DELETE", `/tokens/${token.json.id}`);
  await ask(server, "DELETE", "/environments/prod");
  const changes = kinds.length * 3 + 5;
  await expect
    .poll(() => readAudit(server, 'logs{audit="change"}'), { timeout: 20_000 })
    .toHaveLength(changes);
  const rows = await readAudit(server, 'logs{audit="change"}');
  for (const { name, id } of kinds) {
    const own = rows.filter((row) => row.resource === name && row["resource.id"] === id);
    expect(own.map(({ action }) => action).sort()).toEqual(["created", "deleted", "updated"]);
  }
  expect(rows.find(({ resource, action }) => resource === "alert" && action === "created")).toMatchObject({
    message: `alert "High errors" (${alert.metadata.id}) was created by "admin-token file" (token ${rows[0]!["token.id"]})`,
    log_level: "info",
    "service.name": "svc",
    actor: "admin-token file",
    role: "admin",
  });
  const actions = (kind: string) =>
    rows.filter(({ resource }) => resource === kind).map(({ action }) => action);
  expect(actions("token").sort()).toEqual(["created", "deleted", "updated"]);
  expect(actions("environment").sort()).toEqual(["created", "deleted"]);
  expect(rows.find(({ resource }) => resource === "token")).toMatchObject({ "resource.id": token.json.id });
  const text = JSON.stringify(rows) + server.logged.join();
  for (const secret of [webhook.secret, webhook.headers.Authorization, token.json.token, server.adminToken]) {
    expect(text).not.toContain(secret);
  }
  await server.stop();
});

test("records refused requests, and only counts them in a flood", async () => {
  const server = await startServer();
  const viewer = await ask<{ id: string; token: string }>(server, "POST", "/tokens", { role: "viewer" });
  await ask(server, "POST", "/alerts/update", { alert }, { token: viewer.json.token });
  await ask(server, "GET", "/tokens", undefined, { token: "svc_not_one" });
  await ask(server, "GET", "/tokens", undefined, { token: null });
  await expect.poll(() => readAudit(server, 'logs{audit="refused"}'), { timeout: 20_000 }).toHaveLength(3);
  const rows = await readAudit(server, 'logs{audit="refused"}');
  expect(rows.find((row) => row["http.status"] === "403")).toMatchObject({
    "http.method": "POST",
    "http.route": "/api/v1/alerts/update",
    "token.id": viewer.json.id,
    "client.address": "127.0.0.1",
    log_level: "warn",
  });
  expect(rows.filter((row) => row["http.status"] === "401").map(({ actor }) => actor ?? "")).toEqual(
    expect.arrayContaining(["anonymous", ""]),
  );
  expect(JSON.stringify(rows)).not.toContain("svc_not_one");
  await Promise.all(
    Array.from({ length: 300 }, () => ask(server, "GET", "/tokens", undefined, { token: null })),
  );
  const countFlood = async () => {
    const flood = (await readAudit(server, 'logs{audit="refused"}')).slice(0, -3);
    return flood.reduce((sum, { count }) => sum + Number(count ?? 1), 0);
  };
  await expect.poll(countFlood, { timeout: 20_000 }).toBe(300);
  expect((await readAudit(server, 'logs{audit="refused"}')).length).toBeLessThan(200);
  await server.stop();
});

test("records a change at the next start where the process ended before it could", async () => {
  const first = await startServer();
  const append = first.service.store.append.bind(first.service.store);
  first.service.store.append = () => Promise.reject(new Error("no room"));
  await ask(first, "POST", "/alerts/update", { alert });
  await first.service.close();
  expect(first.logged.join()).toContain("the audit log could not be written: no room");
  first.service.store.append = append;
  const second = await startServer({ dataDir: first.dir });
  await expect.poll(() => readAudit(second, 'logs{audit="change"}'), { timeout: 20_000 }).toHaveLength(1);
  await second.stop();
});
