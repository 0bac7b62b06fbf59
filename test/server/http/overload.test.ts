/** More than the server can do, and what goes wrong inside it: always an answer, never a dead process. */

import type { Socket } from "node:net";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Route } from "../../../server/api/route.ts";
import { makeRequestBounds } from "../../../server/http/request-bounds.ts";
import type { HttpServer } from "../../../server/http/server.ts";
import { openHttp } from "../../../server/http/server.ts";
import { Metrics } from "../../../server/metrics/metrics.ts";
import { makeUnauthorized } from "../../../server/throttle/refusal.ts";
import { SharedBudget } from "../../../server/throttle/shared-budget.ts";
import type { Running } from "../running.ts";
import { call, ingest, lines, search, startServer } from "../running.ts";

describe("a server under load", () => {
  let server: Running;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.stop());

  test("bodies beyond the memory for them are refused with 503 until there is room again", async () => {
    const head = `POST /api/v1/ingest/logs HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${server.adminToken}\r\n`;
    const part = Buffer.alloc(31 * 1024 * 1024, "x");
    const sockets: Socket[] = [];
    const answers: string[] = [];
    for (let i = 0; i < 9; i++) {
      const socket = connect(server.port, "127.0.0.1");
      socket.on("data", (data) => answers.push(data.toString()));
      socket.on("error", () => socket.destroy());
      socket.write(`${head}Content-Type: text/plain\r\nContent-Length: ${part.length + 1}\r\n\r\n`);
      socket.write(part);
      sockets.push(socket);
    }
    await expect.poll(() => answers.join(""), { timeout: 9_000 }).toMatch(/^HTTP\/1\.1 503 /);
    expect(answers.join("")).toMatch(/\r\nRetry-After: 1\r\n/);
    expect((await search(server)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await expect.poll(async () => (await ingest(server, lines([{ message: "a" }]))).status).toBe(200);
  }, 20_000);

  test("searches beyond what can run at once are refused with 429, the others are answered", async () => {
    const messages = Array.from({ length: 20 }, (_, i) => ({
      timestamp: Date.now() + i,
      message: "ab".repeat(100_000),
    }));
    await ingest(server, lines(messages));
    const answers = await Promise.all(
      Array.from({ length: 150 }, () => search(server, { query: '{} |~ "(a|b)+c[0-9]"' })),
    );
    const statuses = new Map<number, number>();
    for (const { status, headers } of answers) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status !== 200) expect(headers.get("retry-after")).toBe("1");
    }
    expect([...statuses.keys()].every((status) => [200, 429, 503].includes(status))).toBe(true);
    expect(statuses.get(200)).toBeGreaterThan(0);
    expect(statuses.get(429)).toBeGreaterThan(0);
    expect((await call(server, "/ready")).status).toBe(200);
  }, 60_000);

  test("searches of one caller leave places for those of others", async () => {
    const made = await call<{ token: string }>(server, "/api/v1/tokens", {
      token: server.adminToken,
      headers: { "Content-Type": "application/json" },
      body: '{"role":"viewer"}',
    });
    const body = JSON.stringify({ query: '{} |~ "(a|b)+c[0-9]"', startTime: 0, endTime: Date.now() + 1_000 });
    const headers = { "Content-Type": "application/json" };
    const searchAs = (token: string) => call(server, "/api/v1/query/logs", { token, headers, body });
    let isOver = false;
    const greedy = Promise.all(Array.from({ length: 200 }, () => searchAs(server.adminToken))).finally(() => {
      isOver = true;
    });
    const others: number[] = [];
    while (!isOver) others.push((await searchAs(made.json.token)).status);
    const refused = (await greedy).filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(others.length).toBeGreaterThan(0);
    expect(others.every((status) => status === 200)).toBe(true);
  }, 60_000);

  test("a search that takes longer than its deadline gives 503", async () => {
    const hasty = await startServer({ queryDeadlineMs: 1 });
    const message = `${"ab".repeat(500_000)}-`;
    await ingest(hasty, lines(Array.from({ length: 30 }, () => ({ timestamp: Date.now(), message }))));
    const got = await search(hasty, { query: '{} |~ "(a|b)+$"' });
    expect(got.status).toBe(503);
    expect(got.headers.get("retry-after")).toBe("1");
    expect(got.json.error).toContain("deadline");
    await hasty.stop();
  }, 30_000);

  test("a search that would hold more than its memory gives 400 naming the cap", async () => {
    const poor = await startServer({ queryMemoryBytes: 1_000_000 });
    await ingest(
      poor,
      lines(Array.from({ length: 30 }, () => ({ timestamp: Date.now(), message: "m".repeat(1_000_000) }))),
    );
    const got = await search(poor);
    expect(got.status).toBe(400);
    expect(got.json.error).toBe(
      "the rows found are larger than 1000000 bytes together; ask for fewer rows at a time",
    );
    await poor.stop();
  }, 20_000);
});

describe("routes that misbehave", () => {
  let http: HttpServer;
  let aborted: unknown;
  let letGo = 0;
  const logged: string[] = [];
  const metrics = new Metrics();
  const route = (path: string, answer: Route["answer"]): Route => {
    return { method: "GET", path, permission: null, body: null, deadlineMs: 100, answer };
  };
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${http.port}${path}`);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

  beforeAll(async () => {
    http = await openHttp({
      address: { host: "127.0.0.1", port: 0 },
      routes: [
        route("/throws", () => Promise.reject(new Error("the secret of line 7"))),
        route("/hangs", (request) => {
          request.signal.addEventListener("abort", () => {
            aborted = request.signal.reason;
          });
          return new Promise(() => undefined);
        }),
        route("/breaks", async () => ({ status: 200, body: breaking() })),
        route("/holds", async () => ({ status: 200, body: "x", onEnd: () => letGo++ })),
        route("/late", async () => {
          await new Promise((resolve) => setTimeout(resolve, 200));
          return { status: 200, body: "x", onEnd: () => letGo++ };
        }),
        route("/streams", async () => ({ status: 200, body: streaming() })),
      ],
      access: { anonymousReads: true, onLoopback: true, hostNames: [], callerOf: () => null },
      bounds: makeRequestBounds({ requestBytes: 2 ** 28 }),
      metrics,
      onRefused: () => undefined,
      log: (message) => logged.push(message),
    });
  });
  afterAll(() => http.close(100));

  async function* breaking() {
    yield Buffer.from("half");
    await new Promise((resolve) => setTimeout(resolve, 10));
    throw new Error("out of the other half");
  }

  function* streaming() {
    for (let i = 0; i < 300; i++) yield Buffer.alloc(100_000, String(i % 10));
  }

  test("an error inside gives 500 with a number under which it is logged, and nothing of itself", async () => {
    const got = await get("/throws");
    expect(got.status).toBe(500);
    const [, id] = /^\{"error":"an internal error, logged by the server as ([0-9a-f]{12})"\}\n$/.exec(
      got.text,
    )!;
    expect(logged.join()).toContain(`request ${id} failed: Error: the secret of line 7`);
  });

  test("no answer within the deadline gives 503 and ends the work", async () => {
    const got = await get("/hangs");
    expect([got.status, got.text, got.headers.get("retry-after")]).toEqual([
      503,
      '{"error":"no answer within 0.1 s"}\n',
      "1",
    ]);
    expect(aborted).toBeInstanceOf(Error);
  });

  test("what an answer holds is let go once, whether it is written, comes too late or has no reader", async () => {
    expect((await get("/holds")).text).toBe("x");
    expect(letGo).toBe(1);
    expect((await get("/late")).status).toBe(503);
    await expect.poll(() => letGo).toBe(2);
    const abort = new AbortController();
    const gone = fetch(`http://127.0.0.1:${http.port}/late`, { signal: abort.signal }).catch(() => undefined);
    setTimeout(() => abort.abort(), 30);
    await gone;
    await expect.poll(() => letGo).toBe(3);
  });

  test("an answer that breaks off is seen to be broken, not taken for whole", async () => {
    await expect(get("/breaks")).rejects.toThrow();
    expect(logged.join()).toContain("out of the other half");
  });

  test("an answer in pieces arrives whole and in order", async () => {
    const { text } = await get("/streams");
    expect(text).toHaveLength(30_000_000);
    expect(text.charAt(100_000 * 25 + 3)).toBe("5");
  });

  test("closing ends what hangs after the time for it", async () => {
    const other = await openHttp({
      address: { host: "127.0.0.1", port: 0 },
      routes: [{ ...route("/hangs", () => new Promise(() => undefined)), deadlineMs: 60_000 }],
      access: { anonymousReads: true, onLoopback: true, hostNames: [], callerOf: () => null },
      bounds: makeRequestBounds({ requestBytes: 2 ** 28 }),
      metrics: new Metrics(),
      onRefused: () => undefined,
      log: () => undefined,
    });
    const hanging = fetch(`http://127.0.0.1:${other.port}/hangs`).then(
      ({ status }) => status,
      () => "cut off",
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    await other.close(100);
    expect([503, "cut off"]).toContain(await hanging);
    await expect(fetch(`http://127.0.0.1:${other.port}/hangs`)).rejects.toThrow();
  });
});

test("a request that finds no place does not end the server when its token is refused later", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on("unhandledRejection", note);
  let refused = 0;
  const http = await openHttp({
    address: { host: "127.0.0.1", port: 0 },
    routes: [
      {
        ...{ method: "GET", path: "/users", permission: "search", body: null, deadlineMs: 1_000 },
        answer: async () => ({ status: 200, body: "x" }),
      },
    ],
    access: {
      ...{ anonymousReads: false, onLoopback: true, hostNames: [], callerOf: () => null },
      userOf: async () => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        refused++;
        throw makeUnauthorized("the token is not one that this server takes");
      },
    },
    bounds: { ...makeRequestBounds({ requestBytes: 2 ** 28 }), places: new SharedBudget(0) },
    metrics: new Metrics(),
    onRefused: () => undefined,
    log: () => undefined,
  });
  const url = `http://127.0.0.1:${http.port}/users`;
  expect((await fetch(url, { headers: { Authorization: "Bearer a.b.c" } })).status).toBe(503);
  await expect.poll(() => refused).toBe(1);
  // An unhandled rejection is reported once the promises of its turn are settled.
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off("unhandledRejection", note);
  await http.close(100);
  expect(unhandled).toEqual([]);
});
