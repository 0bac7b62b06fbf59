/** A server that cannot start leaves nothing open: another one can use the same folder and ports right after. */

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Alerting, type ServiceSettings } from "../../server/index.ts";
import { call, startServer } from "./running.ts";

let dir: string;
let taken: Server;
let port: number;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-test-"));
  taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  port = (taken.address() as { port: number }).port;
});
afterEach(async () => {
  vi.restoreAllMocks();
  if (taken.listening) await new Promise((resolve) => taken.close(resolve));
  rmSync(dir, { recursive: true, force: true });
});

async function startsAfterAll(settings: Partial<ServiceSettings>): Promise<void> {
  if (taken.listening) await new Promise((resolve) => taken.close(resolve));
  const server = await startServer({ ...settings, dataDir: dir });
  expect((await call(server, "/health")).json).toEqual({ status: "ok" });
  await server.stop();
}

test("its port is in use", async () => {
  const settings = { address: { host: "127.0.0.1", port } };
  await expect(startServer({ ...settings, dataDir: dir })).rejects.toThrow(`127.0.0.1:${port} is in use`);
  await startsAfterAll(settings);
});

test("the port for syslog is in use: the last part cannot start", async () => {
  const free = createServer();
  await new Promise<void>((resolve) => free.listen(0, "127.0.0.1", resolve));
  const address = { host: "127.0.0.1", port: (free.address() as { port: number }).port };
  await new Promise((resolve) => free.close(resolve));
  const settings = { address, syslogAddress: { host: "127.0.0.1", port } };
  await expect(startServer({ ...settings, dataDir: dir })).rejects.toThrow();
  await startsAfterAll(settings);
});

test("a part in the middle cannot start", async () => {
  vi.spyOn(Alerting.prototype, "run").mockRejectedValueOnce(new Error("no alerts today"));
  await expect(startServer({ dataDir: dir })).rejects.toThrow("no alerts today");
  await startsAfterAll({});
});

test("the first part cannot start: the folder is a file", async () => {
  await expect(startServer({ dataDir: join("/dev/null", "data") })).rejects.toThrow("cannot be used");
  await startsAfterAll({});
});
