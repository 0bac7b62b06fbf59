/** A server stops within ten seconds by itself, whatever its clients, its readers and its receivers do. */

import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { type Json, openState } from "../../engine/index.ts";
import { makeNotification } from "../../server/notify/notification.ts";
import { startSvc } from "./command/program.ts";
import { webhook } from "./control/samples.ts";
import { fired, hook } from "./notify/events.ts";
import { openReceiver } from "./notify/receiver.ts";

const stopMsMax = 10_000;

test("bodies that never end, readers that read nothing, tails and receivers that hang", async () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-stop-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const receiver = await openReceiver("hang");
  const flags = ["--data", dir, "--listen", "127.0.0.1:0", "--scan-threads", "1"];
  const start = async () => {
    const started = startSvc(["serve", ...flags, "--notify-allow", "127.0.0.0/8"]);
    const url = /http:\/\/[\d.:]+/.exec(await started.printed("admin token:"))![0];
    return { ...started, url, token: readFileSync(join(dir, "admin-token"), "utf8").trim() };
  };
  const first = await start();
  const post = async (path: string, body: string) => {
    const headers = { Authorization: `Bearer ${first.token}`, "Content-Type": "application/json" };
    const got = await fetch(`${first.url}/api/v1/${path}`, { method: "POST", headers, body });
    expect(got.status).toBe(200);
  };
  const rows = Array.from({ length: 2_000 }, (_, i) => `{"message":"${i} ${"m".repeat(5_000)}"}\n`);
  await post("ingest/logs", rows.join(""));
  await post("webhooks", JSON.stringify({ webhook: { ...webhook, url: receiver.url } }));
  first.child.kill("SIGTERM");
  await first.ended;
  const state = await openState(join(dir, "control"));
  const event = fired("shop");
  const waiting = makeNotification(
    { id: "n1", event, action: hook(webhook.id), sequence: 1, groupKey: null },
    Date.now(),
    Date.now(),
  );
  await state.write([{ table: "notifications", id: "n1", value: waiting as unknown as Json }]);
  await state.close();

  const server = await start();
  const port = Number(new URL(server.url).port);
  const send = (head: string, body = "") => {
    const socket = connect(port, "127.0.0.1", () =>
      socket.write(`${head}\r\nHost: localhost\r\nAuthorization: Bearer ${server.token}\r\n${body}`),
    );
    socket.on("error", () => undefined);
    socket.pause();
    onTestFinished(() => void socket.destroy());
  };
  send(
    "POST /api/v1/ingest/logs HTTP/1.1",
    "Content-Type: application/x-ndjson\r\nContent-Length: 9\r\n\r\n{",
  );
  send("GET /api/v1/query/tail?query=&startTime=0 HTTP/1.1", "\r\n");
  send("POST /api/v1/backup HTTP/1.1", "\r\n");
  const search = JSON.stringify({ query: "", startTime: 0, endTime: Date.now() + 86_400_000, limit: 1_000 });
  const type = `Content-Type: application/json\r\nContent-Length: ${search.length}\r\n\r\n`;
  send("POST /api/v1/query/logs HTTP/1.1", type + search);
  await expect.poll(() => receiver.received.length, { timeout: 10_000 }).toBe(1);
  await sleep(300);
  const beganMs = performance.now();
  server.child.kill("SIGTERM");
  const { code, out } = await server.ended;
  expect(performance.now() - beganMs).toBeLessThan(stopMsMax);
  expect(code).toBe(0);
  expect(out).toMatch(/svc has stopped\n$/);
}, 60_000);

test("a second Ctrl-C ends the process at once, by the signal", async () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-stop-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const server = startSvc(["serve", "--data", dir, "--listen", "127.0.0.1:0"]);
  const printed = await server.printed("admin token:");
  const token = readFileSync(join(dir, "admin-token"), "utf8").trim();
  const socket = connect(Number(/127\.0\.0\.1:(\d+)/.exec(printed)![1]), "127.0.0.1");
  socket.on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  // Its body never ends, so that a stop takes 5 s.
  const head = `POST /api/v1/ingest/logs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}`;
  socket.write(`${head}\r\nContent-Length: 9\r\n\r\n{`);
  await sleep(300);
  const signalled = once(server.child, "exit");
  server.child.kill("SIGINT");
  // Sooner it would be the same key press.
  await sleep(700);
  const beganMs = performance.now();
  server.child.kill("SIGINT");
  expect(await signalled).toEqual([null, "SIGINT"]);
  expect(performance.now() - beganMs).toBeLessThan(2_000);
  const { out, err } = await server.ended;
  expect(out).not.toContain("svc has stopped");
  expect(err).toContain("SIGINT: stopping");
}, 60_000);
