/** A server whose data folder is removed while it runs. */
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ask } from "../control/asking.ts";
import { call, startServer } from "../running.ts";

test("a removed data folder ends readiness and acknowledgements within a second, and searches go on", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "svc-removed-"));
  const server = await startServer({ dataDir });
  const token = server.adminToken;
  const json = { "Content-Type": "application/json" };
  const send = (message: string) =>
    call(server, "/api/v1/ingest/logs", {
      token,
      headers: { "Content-Type": "application/x-ndjson" },
      body: `${JSON.stringify({ timestamp: Date.now(), message })}\n`,
    });
  const stored = await send("kept");
  expect(stored.status, stored.text).toBeLessThan(300);
  expect((await call(server, "/ready")).status).toBe(200);
  rmSync(dataDir, { recursive: true });
  const refused = await send("lost");
  expect(refused.status, refused.text).toBe(503);
  expect(refused.json).toMatchObject({ error: expect.stringContaining("cannot use its data folder") });
  expect(refused.text).not.toContain(dataDir);
  const created = await call(server, "/api/v1/tokens", {
    token,
    headers: json,
    body: JSON.stringify({ name: "t", role: "viewer" }),
  });
  expect(created.status, created.text).toBe(503);
  const ready = await call(server, "/ready");
  expect(ready.status).toBe(503);
  const now = Date.now();
  const found = await call(server, "/api/v1/query/logs", {
    token,
    headers: json,
    body: JSON.stringify({ query: "{}", startTime: now - 60_000, endTime: now + 60_000 }),
  });
  expect(found.text).toContain("kept");
  expect(found.text).not.toContain("lost");
  await expect
    .poll(() => server.logged.join("\n"), { timeout: 5_000 })
    .toMatch(/error .* was removed or replaced/);
  await server.stop().catch(() => undefined);
});

test("a token whose change or revocation is refused is as it was", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "svc-removed-"));
  const server = await startServer({ dataDir });
  await ask(server, "POST", "/environments/create", { environment: { name: "prod" } });
  const made = await ask(server, "POST", "/tokens", { role: "ingest", name: "before", environment: "prod" });
  expect(made.status, made.text).toBe(200);
  const path = `/tokens/${String(made.json.id)}`;
  renameSync(dataDir, `${dataDir}-away`);
  for (const [method, where, body] of [
    ["PUT", path, { name: "after" }],
    ["DELETE", path, undefined],
    ["DELETE", path, undefined],
    ["DELETE", "/environments/prod", undefined],
  ] as const) {
    const refused = await ask(server, method, where, body);
    expect([method, where, refused.status]).toEqual([method, where, 503]);
    const read = await ask(server, "GET", path);
    expect([method, where, read.json.name]).toEqual([method, where, "before"]);
  }
  renameSync(`${dataDir}-away`, dataDir);
  expect((await ask(server, "DELETE", path)).status).toBe(200);
  expect((await ask(server, "GET", path)).status).toBe(404);
  await server.stop();
  rmSync(dataDir, { recursive: true });
});
