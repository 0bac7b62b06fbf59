/** A server that cannot start leaves nothing open: another one can use the same folder and ports right after. */

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Alerting, type ServiceSettings } from "../../server/index.ts";
import { findFreePort } from "./free-port.ts";
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
  const address = { host: "127.0.0.1", port: await findFreePort() };
  const settings = { address, syslogAddress: { host: "127.0.0.1", port } };
  await expect(startServer({ ...settings, dataDir: dir })).rejects.toThrow();
  await startsAfterAll(settings);
});

test("it stopped while clients kept their connections open: it starts again at once, and stays alone", async () => {
  const settings = { address: { host: "127.0.0.1", port: await findFreePort() }, dataDir: dir };
  for (let i = 0; i < 3; i++) {
    const server = await startServer(settings);
    const client = connect(settings.address);
    client.write("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    expect(String((await once(client, "data"))[0])).toMatch(/^HTTP\/1.1 200/);
    await expect(startServer({ ...settings, dataDir: `${dir}/other` })).rejects.toThrow("is in use");
    const ended = once(client, "close");
    await server.service.close();
    await ended;
  }
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
