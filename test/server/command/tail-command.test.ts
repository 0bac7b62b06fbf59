/** `svc tail` against a running server. */

import { afterEach, describe, expect, test } from "vitest";
import { call, ingest, lines, startServer } from "../running.ts";
import { dir, server, start, svc } from "./command-setting.ts";
import { type Started, startSvc } from "./program.ts";

const running: Started[] = [];
afterEach(async () => {
  for (const { child } of running.splice(0)) child.kill("SIGKILL");
});

function tail(...words: string[]): Started {
  const started = startSvc(["tail", ...words, "--url", server.url, "--data", server.dir], {
    cwd: dir,
    input: null,
  });
  running.push(started);
  return started;
}

const entry = (message: string, changes: object = {}) => ({
  timestamp: start,
  log_level: "info",
  message,
  attributes: { "service.name": "/k8s/shop/cart" },
  ...changes,
});

const tailsOpen = async (on = server) => {
  const { text } = await call(on, "/metrics");
  return /svc_tails_open (\d+)/.exec(text)?.[1];
};
const connected = (on = server) => expect.poll(() => tailsOpen(on), { timeout: 30_000 }).toBe("1");

describe("svc tail", () => {
  test("prints rows as they arrive like svc query, and Ctrl-C ends it well", async () => {
    await ingest(server, lines([entry("stored", { timestamp: Date.now() })]));
    const { child, printed, ended } = tail("shop|order|\u001b -debug OR order");
    await connected();
    await ingest(server, lines([entry("order 1"), entry("nothing"), entry("ORDER 2\n at \u001b[31m\u202e")]));
    await printed("\\u202e\n");
    child.kill("SIGINT");
    expect(await ended).toEqual({
      code: 0,
      err: "",
      out:
        "2026-01-29T08:42:00.000Z info  /k8s/shop/cart order 1\n" +
        "2026-01-29T08:42:00.000Z info  /k8s/shop/cart ORDER 2\n     at \\x1b[31m\\u202e\n",
    });
    await expect.poll(() => tailsOpen()).toBe("0");
  });

  test("--since begins with what is stored, --json prints what the API gives", async () => {
    const [old, young] = [entry("old"), entry("young \u009b", { timestamp: Date.now() - 60_000 })];
    await ingest(server, lines([old, young]));
    const { child, printed, ended } = tail("--since", "5m", "--json");
    await printed("young");
    await ingest(server, lines([entry("live", { timestamp: Date.now() })]));
    await printed("live");
    child.kill("SIGTERM");
    const { code, out } = await ended;
    expect(code).toBe(0);
    const printedEntries = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(printedEntries.map(({ message }) => message)).toEqual(["young \u009b", "live"]);
    expect(printedEntries[0]).toEqual(young);
    expect(out).toMatch(/^[\x20-\x7e\n]+$/);
  });

  test("spans are printed as svc query prints them", async () => {
    const { child, printed, ended } = tail("traces{}");
    await connected();
    const span = { traceId: "1".padStart(32, "0"), spanId: "2".padStart(16, "0"), name: "pay" };
    const body = lines([
      { ...span, startTimeUnixNano: `${start}000000`, endTimeUnixNano: `${start + 5}000000` },
    ]);
    await ingest(server, body, {}, "spans");
    await printed("pay");
    child.kill("SIGINT");
    const { out } = await ended;
    expect(out).toBe((await svc("query", "traces", "--from", "2026-01-01")).out);
  });

  test("goes on when the server comes back, nothing lost or printed twice", async () => {
    // Not one of those that the system gives to connections, which another could get meanwhile.
    const address = { host: "127.0.0.1", port: 15_000 + Math.trunc(Math.random() * 15_000) };
    const own = await startServer({ dataDir: `${dir}/coming-back`, address });
    const words = ["tail", "row", "--url", own.url, "--data", own.dir];
    const { child, printed, ended } = startSvc(words, { cwd: dir, input: null });
    running.push({ child, printed, ended });
    let err = "";
    child.stderr.on("data", (data) => {
      err += data;
    });
    await connected(own);
    await ingest(own, lines([entry("row 1")]));
    await printed("row 1");
    await own.stop();
    await expect.poll(() => err, { timeout: 30_000 }).toMatch(/svc: .*; trying again in \d+\.\d s\n/);
    const again = await startServer({ dataDir: own.dir, address });
    await ingest(again, lines([entry("row 2"), entry("row 3")]));
    await printed("row 3");
    expect(err).toContain("svc: connected again\n");
    child.kill("SIGINT");
    const { code, out } = await ended;
    await again.stop();
    expect(code).toBe(0);
    expect(out.split("\n").map((line) => line.split("cart ")[1])).toEqual([
      "row 1",
      "row 2",
      "row 3",
      undefined,
    ]);
  });

  test("a reader that has seen enough ends it", async () => {
    const { child, printed, ended } = tail("row");
    await connected();
    await ingest(server, lines([entry("row 1")]));
    await printed("row 1");
    child.stdout.destroy();
    await ingest(server, lines([entry("row 2")]));
    expect((await ended).code).toBe(0);
  });

  test.each([
    [["a", "b"], 2, "tail takes one query, got 2: put it in single quotes"],
    [["--since", "yesterday"], 2, "--since must be an age such as 30d, 12h or 90m"],
    [["{service.name=}"], 1, "  {service.name=}\n                ^"],
    [["count(logs) by (x)"], 1, "cannot group"],
    [["--token", "svc_x"], 1, "the token is unknown, expired or revoked"],
    [
      ["--url", "http://127.0.0.1:9"],
      1,
      "nothing listens on http://127.0.0.1:9: start the server with `svc serve`",
    ],
  ])("%j is refused", async (words, code, error) => {
    const ended = await startSvc(["tail", "--url", server.url, "--data", server.dir, ...words], { cwd: dir })
      .ended;
    expect(ended.err).toContain(error);
    expect([ended.code, ended.out]).toEqual([code, ""]);
  });
});
