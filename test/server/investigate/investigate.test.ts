/** Investigations of a small shop whose faults are known. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Store } from "../../../engine/index.ts";
import { queryTimeseries, searchLogs, searchSpans } from "../../../query/index.ts";
import { investigate } from "../../../server/index.ts";
import type { StoredInvestigation } from "../../../server/model/investigation.ts";
import { runSvc } from "../command/program.ts";
import { ask } from "../control/asking.ts";
import { type Running, startServer } from "../running.ts";
import { firstMs, hourMs, loadShop, minuteMs, nameOf, seed, startOf, windowMs } from "./shop.ts";

describe(`a shop of three services (SVC_SEED=${seed})`, () => {
  let server: Running;
  let store: Store;
  beforeAll(async () => {
    server = await startServer({ queryDeadlineMs: 20_000 });
    store = server.service.store;
    await loadShop(server);
  }, 60_000);
  afterAll(() => server.stop());

  /** Rows, or series, that a query finds. */
  async function rowsOf(query: string, range: { startMs: number; endMs: number }): Promise<number> {
    if (query.startsWith("max(")) return (await queryTimeseries(store, { query, ...range })).series.length;
    const asked = { query, ...range, limit: 1 };
    if (query.startsWith("traces")) return (await searchSpans(store, asked)).spans.length;
    return (await searchLogs(store, asked)).rows.length;
  }

  const look = (name: string) => {
    const startMs = startOf(name);
    return investigate(store, { startMs, endMs: startMs + windowMs });
  };

  test.each([
    ["errors in stock", "stock", /^(?:code|exception)$/],
    ["errors in some calls of cart", "cart", /^(?:code|exception)$/],
    ["a slow cart", "cart", /^latency$/],
    ["a slow database of stock", "stock", /^outside$/],
    ["a slow way to stock", "stock", /^network$/],
    ["a busy stock", "stock", /^cpu$/],
  ])("%s: %s is the first suspect", async (name, service, kind) => {
    const { verdict, suspects, read, timeline, nextSteps, normal } = await look(name);
    expect([read.spans > 1_000, read.logs > 1_000, read.series > 0]).toEqual([true, true, true]);
    expect([verdict, suspects[0]!.confidence >= 0.6]).toEqual(["cause", true]);
    expect(timeline.map(({ at }) => at)).toEqual(timeline.map(({ at }) => at).toSorted((a, b) => a - b));
    expect([nextSteps.length > 0, normal.length > 0]).toEqual([true, true]);
    expect(suspects[0]?.service).toBe(nameOf(service));
    expect(suspects[0]!.kind).toMatch(kind);
    expect(suspects[0]!.score).toBeGreaterThan(0.1);
    for (const { sentence, query } of suspects[0]!.evidence) {
      expect([sentence, /\bundefined\b|NaN/.test(sentence)]).toEqual([sentence, false]);
      const range = { startMs: startOf(name), endMs: startOf(name) + windowMs };
      const rows = await rowsOf(query, range);
      expect([query, rows > 0]).toEqual([query, true]);
    }
    // Nobody else is as suspicious.
    expect(suspects[1]?.score ?? 0).toBeLessThan(suspects[0]!.score);
  });

  test.each(["nothing", "telemetry that gets lost", "three times the requests"])(
    "%s: nobody is suspected",
    async (name) => {
      const { suspects, verdict } = await look(name);
      expect(suspects.filter(({ confidence }) => confidence > 0.5)).toEqual([]);
      expect(verdict).not.toBe("cause");
    },
  );

  test("a window without rows has no suspects", async () => {
    const startMs = firstMs - 100 * hourMs;
    const found = await investigate(store, { startMs, endMs: startMs + windowMs });
    expect(found).toMatchObject({
      ...{ verdict: "nothing", suspects: [], timeline: [], affected: [], nextSteps: [] },
      read: { spans: 0, logs: 0, series: 0, resources: 0 },
    });
    expect(found.normal).toContain("no spans: calls between services could not be looked at");
  });

  test("a request gets the suspects with their evidence, and mistakes name their field", async () => {
    const startTime = startOf("errors in stock");
    const range = { startTime, endTime: startTime + windowMs - 1 };
    const { status, json } = await ask<StoredInvestigation & { field?: string }>(
      ...[server, "POST", "/investigations", range],
    );
    const [suspect] = json.answer!.suspects;
    expect([status, suspect!.service]).toEqual([200, nameOf("stock")]);
    const [strongest] = suspect!.evidence;
    expect(strongest!.sentence).toMatch(/log the error/);
    expect(strongest!.message).toMatch(/^stock cannot do it: code \d$/);
    const around = `startTime=${startTime - minuteMs}&endTime=${range.endTime + minuteMs}`;
    const path = `/traces/${strongest!.traceId}?${around}`;
    expect((await ask<{ services: string[] }>(server, "GET", path)).json.services).toContain(nameOf("stock"));
    const quiet = startOf("nothing");
    const nothing = { startTime: quiet, endTime: quiet + windowMs - 1 };
    expect((await ask(server, "POST", "/investigations", nothing)).json).toMatchObject({
      ...nothing,
      answer: { verdict: "nothing", suspects: [] },
    });
    const long = await ask(server, "POST", "/investigations", { ...range, endTime: startTime + hourMs });
    expect([long.status, long.json.field]).toEqual([400, "endTime"]);
    const turned = await ask(server, "POST", "/investigations", { startTime, endTime: startTime - 1 });
    expect([turned.status, turned.json.field]).toEqual([400, "startTime"]);
  });

  test("evidence names the pod that errors come from, and the database that is slow", async () => {
    const errors = (await look("errors in some calls of cart")).suspects[0]!;
    expect(errors.pod).toBe("cart-6");
    const sentences = errors.evidence.map(({ sentence }) => sentence).join("\n");
    expect(sentences).toMatch(
      /100 % of the errors .* have k8s\.pod\.name “cart-6”, where \d\d % of the others do/,
    );
    const slow = (await look("a slow database of stock")).suspects[0]!;
    expect(slow.evidence[0]!.sentence).toMatch(
      /^stock calls postgresql.*, which sends no spans: half of the calls take 30\d ms or more, where 1\.\d+ ms is usual$/,
    );
  });

  test("of what a query finds, and of a trace", async () => {
    const post = (body: object) =>
      ask<StoredInvestigation & { field?: string; place?: object }>(server, "POST", "/investigations", body);
    const startTime = startOf("errors in some calls of cart");
    const range = { startTime, endTime: startTime + windowMs - 1 };
    const query = `logs{log_level="error"}`;
    const failing = await post({ ...range, query });
    expect([failing.status, failing.json.query]).toEqual([200, query]);
    const [first] = failing.json.answer!.suspects;
    expect([first!.service, failing.json.answer!.verdict]).toEqual([nameOf("cart"), "cause"]);
    // All of the traces that were chosen fail, where 40 % of the others of the window do, too.
    expect(first!.evidence[0]!.sentence).toMatch(/^100 % of the calls of .* log the error/);

    const { rows } = await searchLogs(store, { query, startMs: startTime, endMs: range.endTime, limit: 1 });
    const traceId = rows[0]!.attributes.trace_id!;
    const ofTrace = await post({ traceId });
    expect([ofTrace.status, ofTrace.json.traceId]).toEqual([200, traceId]);
    expect(ofTrace.json.answer!.suspects[0]!.service).toBe(nameOf("cart"));
    const quiet = startOf("nothing");
    const { spans } = await searchSpans(store, {
      query: "traces",
      startMs: quiet,
      endMs: quiet + minuteMs,
      limit: 1,
    });
    const usual = await post({ traceId: spans[0]!.traceId });
    expect([usual.status, usual.json.answer!.verdict]).toEqual([200, expect.not.stringMatching("cause")]);

    const wrong = async (body: object) => {
      const { status, json } = await post(body);
      return [status, json.field];
    };
    expect(await wrong({ traceId, query })).toEqual([400, "query"]);
    expect(await wrong({ traceId, startTime })).toEqual([400, "startTime"]);
    expect(await wrong({ query })).toEqual([400, "startTime"]);
    expect(await wrong({ startTime })).toEqual([400, "endTime"]);
    expect(await wrong({ ...range, query: "rate(logs)" })).toEqual([400, "query"]);
    expect(await wrong({ ...range, query: "kubernetes_resources{}" })).toEqual([400, "query"]);
    expect(await wrong({ ...range, query: "traces{" })).toEqual([400, "query"]);
    expect(await wrong({ ...range, query: 'logs{log_level="fatal"}' })).toEqual([400, "query"]);
    expect(await wrong({ traceId: "x" })).toEqual([400, "traceId"]);
    expect((await post({ traceId: "f".repeat(32) })).status).toBe(404);
  });

  test("svc investigate prints them", async () => {
    const at = (ms: number) => new Date(ms).toISOString();
    const look = (name: string, ...more: string[]) => {
      const window = ["--from", at(startOf(name)), "--to", at(startOf(name) + windowMs - 1)];
      return runSvc(["investigate", ...window, "--url", server.url, "--token", server.adminToken, ...more]);
    };
    const { code, out, err } = await look("errors in stock");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(
      /^stock is the likely cause \(code, \d\d %\): \d+ % of the calls of .* log the error/,
    );
    expect(out).toMatch(
      /\n1\. \/k8s\/shop\/stock: code, \d\d % likely\n {3}operation do stock, caller \/k8s\/shop\/cart(?:, pod stock-6)?\n/,
    );
    expect(out).toMatch(/\n {5}logs\{.*\}\n {5}e\.g\. stock cannot do it: code \d\n {5}trace \w+\n/);
    expect(out).toMatch(
      /\nWhat changed, the first change first:\n {2}2026-.*\n[\s\S]*\nAs usual:\n[\s\S]*\nNext:\n/,
    );
    const asked = JSON.parse((await look("errors in stock", "--json")).out) as StoredInvestigation;
    expect(asked.answer!.suspects[0]!.service).toBe(nameOf("stock"));
    const again = ["--id", asked.id, "--json", "--url", server.url, "--token", server.adminToken];
    expect(JSON.parse((await runSvc(["investigate", ...again])).out)).toEqual(asked);
    const query = ["--query", 'traces{name="do stock"}'];
    expect((await look("errors in stock", ...query)).out).toMatch(/^stock is the likely cause/);
    expect((await look("errors in stock", ...query, "--trace", "ab")).err).toMatch(/exclude each other/);
    expect((await look("nothing")).out).toMatch(/^Nothing in this window differs from the hour before\.\n/);
  });
});
