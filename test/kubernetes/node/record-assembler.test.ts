/** Lines to rows: formats, partial lines, stack traces as the runtimes print them, JSON, and attributes. */

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { TailRow } from "../../../server/kubernetes/node/log-row.ts";
import { NodeAgent } from "../../../server/kubernetes/node/node-agent.ts";
import { call, startServer } from "../../server/running.ts";

const pod = "shop_cart-1_0f5f63cd-5a4b-4c5d-9d5e-000000000001";
const javaTrace = `2026-01-29 ERROR failed
java.lang.IllegalStateException: no cart
\tat shop.Cart.get(Cart.java:12)
\tat shop.Main.main(Main.java:3)
Caused by: java.io.IOException: reset
\tat shop.Net.read(Net.java:7)
\t... 1 more`;
const pythonTrace = `Traceback (most recent call last):
  File "a.py", line 1, in <module>
    boom()
ValueError: bad

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 3, in <module>
    raise KeyError("x")
KeyError: 'x'`;
const goTrace = `panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.(*Cart).get(0xc000012345, 0x5)
\t/app/main.go:12 +0x1d
main.main()
\t/app/main.go:5 +0x25
exit status 2`;
const nodeTrace = `/app/server.js:10
    throw new Error("no cart");
    ^

Error: no cart
    at get (/app/server.js:10:11)
    at Object.<anonymous> (/app/server.js:14:1) {
  code: 'E_CART'
}

Node.js v22.20.0`;
const dotnetTrace = `Unhandled exception. System.InvalidOperationException: no cart
 ---> System.IO.IOException: reset
   at Shop.Net.Read() in /src/Net.cs:line 7
   --- End of inner exception stack trace ---
   at Shop.Cart.Get() in /src/Cart.cs:line 12`;

let dir: string;
let folder: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-node-"));
  folder = join(dir, "pods", pod, "app");
  mkdirSync(folder, { recursive: true });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Rows of what stands in the folder; ends when there are so many. */
async function readRows(
  count: number,
  send: (rows: readonly TailRow[]) => Promise<void> = async () => undefined,
) {
  const rows: TailRow[] = [];
  const warnings: string[] = [];
  const agent = new NodeAgent({
    logs: {
      folder: join(dir, "pods"),
      stateFolder: join(dir, "state"),
      node: "node-1",
      sink: async (batch) => {
        rows.push(...batch.rows);
        await send(batch.rows);
      },
      pods: () => ({ service: "cart", workload: {}, labels: { app: "cart" } }),
      warn: (message) => warnings.push(message),
      elapsed: () => performance.now(),
      pollMs: 10,
      batchMs: 10,
    },
  });
  const running = agent.run();
  await expect.poll(() => rows.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(count);
  await agent.close();
  await running;
  return { rows, warnings };
}

function cri(lines: readonly string[], stream = "stdout", tag = "F"): string {
  return lines
    .map((line, i) => `2026-01-29T08:42:00.${String(i).padStart(9, "0")}Z ${stream} ${tag} ${line}\n`)
    .join("");
}

test("stack traces are one row each, and what follows them is another", async () => {
  const traces = [javaTrace, pythonTrace, goTrace, nodeTrace, dotnetTrace];
  const text = traces.flatMap((trace) => [...trace.split("\n"), "INFO next"]);
  writeFileSync(join(folder, "0.log"), cri(text));
  const { rows } = await readRows(2 * traces.length);
  expect(rows.map(({ message }) => message)).toEqual(traces.flatMap((trace) => [trace, "INFO next"]));
});

test("partial lines are joined by bytes, for each stream by itself", async () => {
  const bytes = Buffer.from("größer").toString("latin1");
  const parts = [bytes.slice(0, 3), bytes.slice(3)];
  const text = [
    cri([parts[0]!], "stdout", "P"),
    cri(["E1 "], "stderr", "P"),
    cri([parts[1]!]),
    cri(["E2"], "stderr"),
  ];
  writeFileSync(join(folder, "0.log"), text.join(""), "latin1");
  const { rows } = await readRows(2);
  const found = rows.map(({ message, attributes }) => `${attributes.stream}: ${message}`);
  expect(found.sort()).toEqual(["stderr: E1 E2", "stdout: größer"]);
});

test("Docker's form is read, and lines of neither form are rows as they stand", async () => {
  const line = (log: string) => JSON.stringify({ log, stream: "stderr", time: "2026-01-29T08:42:00.5Z" });
  writeFileSync(join(folder, "0.log"), `${line("one ")}\n${line("line\n")}\nplain text\n`);
  const { rows } = await readRows(2);
  expect(rows.find(({ message }) => message === "one line")).toMatchObject({
    timeUnixNano: "1769676120500000000",
    attributes: { stream: "stderr" },
  });
  expect(rows.find(({ message }) => message === "plain text")).not.toHaveProperty("timeUnixNano");
});

test("JSON lines become message, level, time and attributes; other attributes say where they are from", async () => {
  const json = { time: "2026-01-29T08:41:59.25+00:00", level: "warn", msg: "slow", http: { status: 200 } };
  const wide = JSON.stringify(Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, i])));
  writeFileSync(join(folder, "0.log"), cri([JSON.stringify(json), '{"msg": broken', wide]));
  const { rows } = await readRows(3);
  const where = {
    "service.name": "/k8s/shop/cart",
    "k8s.namespace.name": "shop",
    "k8s.pod.name": "cart-1",
    "k8s.pod.uid": "0f5f63cd-5a4b-4c5d-9d5e-000000000001",
    "k8s.pod.label.app": "cart",
    "k8s.container.name": "app",
    "k8s.node.name": "node-1",
    stream: "stdout",
  };
  expect(rows[0]).toEqual({
    timeUnixNano: "1769676119250000000",
    log_level: "warn",
    message: "slow",
    attributes: { ...where, time: json.time, level: "warn", "http.status": "200" },
  });
  expect(rows[1]).toEqual({
    timeUnixNano: "1769676120000000001",
    log_level: "",
    message: '{"msg": broken',
    attributes: where,
  });
  expect(rows[2]).toMatchObject({ message: wide, attributes: where });
});

test("a line that is too long is cut, and says how long it was", async () => {
  const long = "x".repeat(3 * 2 ** 20);
  writeFileSync(join(folder, "0.log"), cri([long, "next"]));
  const { rows } = await readRows(2);
  expect(rows[0]!.message.length).toBeGreaterThan(2 ** 20 - 100);
  expect(long.startsWith(rows[0]!.message)).toBe(true);
  expect(rows[0]!.attributes["svc.cut"]).toBe(String(Buffer.byteLength(cri([long]))));
  expect(rows[1]!.message).toBe("next");
});

test("a link that leads out of the folder is not followed", async () => {
  writeFileSync(join(dir, "secret"), cri(["secret"]));
  symlinkSync(join(dir, "secret"), join(folder, "0.log"));
  writeFileSync(join(folder, "1.log"), cri(["mine"]));
  const { rows, warnings } = await readRows(1);
  expect(rows.map(({ message }) => message)).toEqual(["mine"]);
  expect(warnings.join("\n")).toContain("is a link to");
});

test("the server takes every row", async () => {
  const server = await startServer();
  try {
    const now = new Date().toISOString();
    const json = JSON.stringify({
      level: 30,
      msg: "hello",
      a: [1, { b: 2 }],
      big: 12345678901234567890n.toString(),
    });
    const lines = ["text", json, "", "größer", ...javaTrace.split("\n")];
    writeFileSync(join(folder, "0.log"), lines.map((line) => `${now} stdout F ${line}\n`).join(""));
    const answers: { accepted: number; refused: number }[] = [];
    await readRows(5, async (rows) => {
      const body = rows.map((row) => JSON.stringify(row)).join("\n");
      const headers = { "Content-Type": "application/x-ndjson" };
      const { adminToken: token } = server;
      const got = await call<{ accepted: number; refused: number }>(server, "/api/v1/ingest/logs", {
        token,
        headers,
        body,
      });
      answers.push(got.json);
    });
    expect(answers.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(5);
    expect(answers.every(({ refused }) => refused === 0)).toBe(true);
  } finally {
    await server.stop();
  }
});
