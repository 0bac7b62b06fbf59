/** GET /api/v1/query/tail: what it gives, to whom, and how it ends. */

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Entry, Running } from "../running.ts";
import { call, ingest, lines, startServer } from "../running.ts";
import { openTail, type Reader, type TailCall } from "./tail-reader.ts";

let server: Running;
let readers: Reader[];

beforeEach(async () => {
  server = await startServer();
  readers = [];
});
afterEach(async () => {
  for (const reader of readers) reader.leave();
  await server.stop();
});

async function tail(asked: TailCall = {}): Promise<Reader> {
  const reader = await openTail(server, asked);
  readers.push(reader);
  return reader;
}

const row = (message: string, changes: Partial<Entry> = {}): Entry => ({
  timestamp: Date.now(),
  log_level: "info",
  message,
  attributes: { "service.name": "/k8s/shop/cart" },
  ...changes,
});
const messages = (reader: Reader) => reader.entries().map(({ message }) => message);
const has = (message: string) => (reader: Reader) => messages(reader).includes(message);
const send = (...entries: Entry[]) => ingest(server, lines(entries));
const ended = (reader: Reader) => reader.events.at(-1)!.event === "end";

async function metric(name: string): Promise<number> {
  const { text } = await call(server, "/metrics", { token: server.adminToken });
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}

async function admin<T>(method: string, path: string, body?: unknown): Promise<T> {
  const got = await call<T>(server, `/api/v1${path}`, {
    method,
    token: server.adminToken,
    headers: { "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(got.status, got.text).toBe(200);
  return got.json;
}

const makeToken = (wanted: object) => admin<{ id: string; token: string }>("POST", "/tokens", wanted);

describe("what comes", () => {
  test("rows that arrive from the connection on, as a search gives them, in order of arrival", async () => {
    await send(row("before"));
    const reader = await tail({ query: "order -debug" });
    expect(reader.status).toBe(200);
    expect(reader.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    await send(row("order 2", { timestamp: 5 }), row("order debug"), row("ORDER 1"));
    await send(row("order last"));
    await reader.until(has("order last"));
    expect(messages(reader)).toEqual(["order 2", "ORDER 1", "order last"]);
    expect(reader.entries()[0]).toEqual(row("order 2", { timestamp: 5 }));
    expect(reader.events[0]).toEqual({ event: "ready", id: "1", data: { warnings: [] } });
    const rows = reader.events.filter(({ event }) => event === "message");
    expect(rows.map(({ id }) => id)).toEqual(["2", "4", "5"]);
  });

  test("startTime: stored rows of that time or later first, those that are sealed too, then what arrives", async () => {
    await send(...Array.from({ length: 2_500 }, (_, i) => row(`stored ${i}`, { timestamp: 1_000 + i })));
    await server.service.store.seal();
    await send(row("unsealed", { timestamp: 2_000 }), row("too early", { timestamp: 999 }));
    const reader = await tail({ startTime: 1_500 });
    await reader.until(has("unsealed"));
    await send(row("early and late", { timestamp: 3 }), row("live", { timestamp: 1_500 }));
    await reader.until(has("live"));
    const stored = Array.from({ length: 2_000 }, (_, i) => `stored ${i + 500}`);
    expect(messages(reader)).toEqual([...stored, "unsealed", "live"]);
  });

  test("what stages extract", async () => {
    const reader = await tail({ query: "{} | json | status >= 500" });
    await send(row('{"status": 200}'), row('{"status": 503, "a": {"b": 1}}'));
    await reader.until((each) => each.entries().length > 0);
    expect(reader.entries()[0]!.attributes).toEqual({
      "service.name": "/k8s/shop/cart",
      status: "503",
      "a.b": "1",
    });
  });

  test("spans, where the query selects traces", async () => {
    const reader = await tail({ query: 'traces{name="pay"}' });
    const span = {
      traceId: "1".padStart(32, "0"),
      spanId: "2".padStart(16, "0"),
      startTimeUnixNano: "5000000",
    };
    await ingest(
      server,
      lines([
        { ...span, name: "browse" },
        { ...span, name: "pay" },
      ]),
      {},
      "spans",
    );
    await send(row("a log"));
    await reader.until((each) => each.entries().length > 0);
    const { json } = await call<{ spans: unknown[] }>(server, "/api/v1/query/traces", {
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ query: 'traces{name="pay"}', startTime: 0, endTime: 10 }),
    });
    expect(reader.entries()).toEqual(json.spans);
  });

  test("warnings of the query, first", async () => {
    await send(row("one"));
    const reader = await tail({ query: '{servce.name="x"}' });
    await reader.until(({ events }) => events.length > 0);
    expect(JSON.stringify(reader.events[0]!.data)).toContain("service.name");
  });

  test("Last-Event-ID: goes on after that event, though the rows were sealed meanwhile", async () => {
    const first = await tail();
    await send(row("a"), row("b"));
    await first.until(has("b"));
    const lastEventId = first.events.find(({ data }) => data.message === "a")!.id!;
    first.leave();
    await send(row("c"));
    await server.service.store.seal();
    const second = await tail({ lastEventId });
    await send(row("d"));
    await second.until(has("d"));
    expect(messages(second)).toEqual(["b", "c", "d"]);
    expect(second.events[0]!.id).toBe(lastEventId);
  });
});

describe("a slow reader", () => {
  test("is told exactly how many rows it missed, and goes on with the newest", async () => {
    const slow = await tail();
    const equal = await tail();
    await slow.until(({ events }) => events.length > 0);
    slow.pause();
    const sent = 20_000;
    const text = "x".repeat(1_500);
    for (let at = 0; at < sent; at += 1_000) {
      const rows = Array.from({ length: 1_000 }, (_, i) => row(`${at + i} ${text}`));
      await send(...rows);
      await equal.until((reader) => reader.entries().length + reader.missed() >= at);
    }
    expect(await metric("svc_tail_waiting_bytes")).toBeGreaterThan(0);
    slow.resume();
    await slow.until((reader) => reader.entries().length + reader.missed() >= sent);
    const rest = slow.entries().length + slow.missed();
    await send(row("after"));
    await slow.until(has("after"));
    expect(rest).toBe(sent);
    expect(slow.missed()).toBeGreaterThan(0);
    const numbers = slow
      .entries()
      .slice(0, -1)
      .map(({ message }) => Number.parseInt(message, 10));
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    // Each gap is where it is told.
    let next = 0;
    for (const { event, data } of slow.events) {
      if (event === "missed") next += data.rows as number;
      if (event === "message" && data.message !== "after") expect(data.message).toBe(`${next++} ${text}`);
    }
    expect(await metric("svc_tail_rows_missed_total")).toBe(slow.missed() + equal.missed());
    expect(await metric("svc_tail_rows_sent_total")).toBe(slow.entries().length + equal.entries().length);
    expect(await metric("svc_tail_waiting_bytes")).toBe(0);
  });

  test("that takes up what it missed nothing of, misses nothing", async () => {
    const stored = 12_000;
    for (let at = 0; at < stored; at += 4_000) {
      await send(...Array.from({ length: 4_000 }, (_, i) => row(`${at + i}`)));
    }
    const reader = await tail({ startTime: 0 });
    reader.pause();
    await send(row("live"));
    reader.resume();
    await reader.until(has("live"));
    expect(messages(reader)).toEqual([...Array.from({ length: stored }, (_, i) => String(i)), "live"]);
  });
});

describe("who may", () => {
  test("a query that a search refuses, an unknown parameter and a wrong id are refused", async () => {
    const refused = async (path: string, headers: Record<string, string> = {}) => {
      const got = await call<{ error: string }>(server, `/api/v1/query/tail${path}`, { headers });
      expect(got.status).toBe(400);
      return got.json.error;
    };
    expect(await refused("?query=%7Ba%3D%7D")).toMatch(/line 1, column 4/);
    expect(await refused("?query=count(logs)%20by%20(a)")).toContain("cannot group");
    expect(await refused("")).toContain("query is required");
    expect(await refused("?query=&start=1")).toContain('unknown query parameter "start"');
    expect(await refused("?query=&startTime=-1")).toContain("startTime must be an integer");
    expect(await refused("?query=", { "Last-Event-ID": "x" })).toContain("Last-Event-ID must be");
    expect(await refused("?query=", { "Last-Event-ID": "1" })).toContain("Last-Event-ID must be");
  });

  test("a token that may not search may not tail; HEAD begins none", async () => {
    const { token } = await makeToken({ role: "ingest" });
    expect((await tail({ token })).status).toBe(403);
    expect((await call(server, "/api/v1/query/tail?query=", { method: "HEAD" })).status).toBe(200);
    expect(await metric("svc_tails_open")).toBe(0);
  });

  test("so many tails of one token are open at once, and others still", async () => {
    for (let i = 0; i < 32; i++) expect((await tail()).status).toBe(200);
    const refused = await tail();
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "5"]);
    expect((await tail({ token: server.adminToken })).status).toBe(200);
    readers[0]!.leave();
    await expect.poll(() => metric("svc_tails_open")).toBe(32);
    expect((await tail()).status).toBe(200);
  });

  test("a member of a group gets what its rules grant, stored and live, and no number of other rows", async () => {
    const rule = (namespace: string) => ({
      telemetryRule: {
        type: "namespace",
        namespace,
        groups: ["red"],
        rules: [{ signals: ["logs"] }],
      },
    });
    await admin("POST", "/groups", { group: { name: "red" } });
    await admin("PUT", "/telemetry-rules/r", rule("shop"));
    const { token } = await makeToken({ role: "viewer", groups: ["red"] });
    const secret = (message: string) => row(message, { attributes: { "service.name": "/k8s/bank/vault" } });
    await send(row("stored"), secret("stored secret"));
    const reader = await tail({ token, startTime: 0 });
    const all = await tail({ token: server.adminToken, startTime: 0, query: '{service.name=~"/k8s/.*"}' });
    await reader.until(has("stored"));
    await send(secret("live secret"), row("live"));
    await reader.until(has("live"));
    await all.until(has("live"));
    expect(messages(reader)).toEqual(["stored", "live"]);
    expect(messages(all)).toEqual(["stored", "stored secret", "live secret", "live"]);

    const lastEventId = reader.lastId()!;
    await admin("PUT", "/telemetry-rules/r", rule("bank"));
    await send(row("too late"), secret("allowed now"));
    await reader.ended;
    expect(messages(reader)).toEqual(["stored", "live"]);
    expect(reader.events.at(-1)).toMatchObject({ event: "end", data: { reason: "access" } });
    const again = await tail({ token, lastEventId });
    await again.until(has("allowed now"));
    expect(messages(again)).toEqual(["allowed now"]);
  });

  test.each([
    ["revoked", (id: string) => admin("DELETE", `/tokens/${id}`)],
    ["expired", (id: string) => admin("PUT", `/tokens/${id}`, { name: "t", expiresAt: Date.now() + 300 })],
  ])("a tail ends when its token is %s", async (_how, end) => {
    const { id, token } = await makeToken({ role: "viewer" });
    const query = '{service.name=~"/k8s/.*"}';
    const reader = await tail({ token, query });
    const other = await tail({ token: server.adminToken, query });
    await send(row("one"));
    await reader.until(has("one"));
    await end(id);
    await reader.ended;
    expect(reader.events.at(-1)).toMatchObject({ event: "end", data: { reason: "access" } });
    await send(row("two"));
    await other.until(has("two"));
    expect(messages(reader)).toEqual(["one"]);
    expect(await metric("svc_tails_open")).toBe(1);
  });

  test("tails without a token end as soon as a rule says who may read what", async () => {
    // The server's own row about the group that is made is another service's: it may arrive before the rule.
    const reader = await tail({ query: '{service.name=~"/k8s/.*"}' });
    await admin("POST", "/groups", { group: { name: "red" } });
    const telemetryRule = { type: "cluster", groups: ["red"], rules: [{ signals: ["logs"] }] };
    await admin("PUT", "/telemetry-rules/r", { telemetryRule });
    await send(row("secret"));
    await reader.ended;
    expect(messages(reader)).toEqual([]);
    expect(ended(reader)).toBe(true);
  });
});

describe("the end", () => {
  test("when the server stops, readers are told, and slow ones are not waited for", async () => {
    const own = await startServer();
    const quick = await openTail(own);
    const slow = await openTail(own);
    await slow.until(({ events }) => events.length > 0);
    slow.pause();
    const rows = Array.from({ length: 5_000 }, (_, i) => row(`${i} ${"y".repeat(3_000)}`));
    for (let at = 0; at < rows.length; at += 1_000) await ingest(own, lines(rows.slice(at, at + 1_000)));
    await quick.until((reader) => reader.entries().length + reader.missed() === rows.length);
    await own.stop();
    await quick.ended;
    expect(quick.events.at(-1)).toMatchObject({ event: "end", data: { reason: "stopping" } });
    slow.resume();
    await slow.ended;
  });

  test("a reader that goes away leaves nothing behind", async () => {
    const gone = [await tail(), await tail({ startTime: 0 }), await tail({ query: "traces" })];
    await send(row("one"));
    await gone[0]!.until(has("one"));
    expect(await metric("svc_tails_open")).toBe(3);
    expect(await metric("svc_http_requests_in_flight")).toBe(4);
    for (const reader of gone) reader.leave();
    await expect.poll(() => metric("svc_tails_open")).toBe(0);
    expect(await metric("svc_http_requests_in_flight")).toBe(1);
    expect(await metric("svc_tail_waiting_bytes")).toBe(0);
    expect(await metric("svc_tail_lag_rows")).toBe(0);
  });
});
