/** Investigations of a small shop whose faults are known. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Store } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import { queryTimeseries, searchLogs, searchSpans } from "../../../query/index.ts";
import { baselineMsDefault, describeSuspect, investigate } from "../../../server/index.ts";
import { runSvc } from "../command/program.ts";
import { ask } from "../control/asking.ts";
import { ingest, lines, type Running, startServer } from "../running.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const hourMs = 3_600_000;
const minuteMs = 60_000;
const firstMs = Date.UTC(2026, 0, 29);
const windowMs = 3 * minuteMs;
const chain = ["web", "cart", "stock"] as const;

/** What is wrong within a window; each window has an hour without faults before it. */
interface Fault {
  /** Logs an error instead of its second line in this share of its calls. */
  failing?: { service: string; share: number };
  /** Milliseconds that its calls take longer by themselves. */
  slow?: { service: string; ms: number };
  /** Milliseconds that calls of it take longer on the way. */
  far?: { service: string; ms: number };
  /** CPU in percent, where 10 is usual. */
  busy?: { service: string; percent: number };
  /** Spans and logs within invocations that get lost, everywhere. */
  lost?: number;
  /** More requests. */
  load?: number;
}

const faults: Record<string, Fault> = {
  "errors in stock": { failing: { service: "stock", share: 0.6 } },
  "errors in some calls of cart": { failing: { service: "cart", share: 0.4 } },
  "a slow cart": { slow: { service: "cart", ms: 400 } },
  "a slow way to stock": { far: { service: "stock", ms: 400 } },
  "a busy stock": { busy: { service: "stock", percent: 95 }, slow: { service: "stock", ms: 40 } },
  nothing: {},
  "telemetry that gets lost": { lost: 0.3 },
  "three times the requests": { load: 3 },
};

const startOf = (name: string) => firstMs + Object.keys(faults).indexOf(name) * 2 * hourMs + hourMs;
const nameOf = (service: string) => `/k8s/shop/${service}`;

class Shop {
  readonly spans: object[] = [];
  readonly logs: object[] = [];
  readonly samples: object[] = [];
  readonly #random = new Random(seed);
  #ids = 0;

  run(name: string, fault: Fault): void {
    const start = startOf(name);
    for (let atMs = start - hourMs; atMs < start + windowMs; atMs += minuteMs) {
      const now = atMs >= start ? fault : {};
      for (let i = 0; i < 12 * (now.load ?? 1); i++) {
        const trace = this.#id(32);
        this.#call(0, trace, "", atMs + this.#random.below(50_000), now);
      }
      for (const service of chain)
        this.samples.push({
          ...{ timestamp: atMs, name: "container_cpu_percent" },
          labels: { "service.name": nameOf(service), "k8s.pod.name": `${service}-1` },
          value: (now.busy?.service === service ? now.busy.percent : 10) + this.#random.below(300) / 100,
        });
    }
  }

  #id(length: number): string {
    return (++this.#ids).toString(16).padStart(length, "0");
  }

  /** Milliseconds that the call takes. */
  #call(depth: number, trace: string, parent: string, startMs: number, fault: Fault): number {
    const service = chain[depth]!;
    const id = this.#id(16);
    const isLost = this.#random.below(1_000) < (fault.lost ?? 0) * 1_000;
    const log = (atMs: number, level: string, message: string) => {
      const attributes = { "service.name": nameOf(service), trace_id: trace, span_id: id };
      if (!isLost) this.logs.push({ timestamp: Math.round(atMs), log_level: level, message, attributes });
    };
    let ms = 2 + this.#random.below(400) / 100;
    if (fault.slow?.service === service) ms += fault.slow.ms;
    log(startMs, "info", `${service} begins order ${this.#random.below(1_000)}`);
    if (depth + 1 < chain.length) {
      const client = this.#id(16);
      const farMs = fault.far?.service === chain[depth + 1] ? fault.far!.ms : 0;
      const way = 1 + this.#random.below(100) / 100 + farMs;
      const called = this.#call(depth + 1, trace, client, startMs + ms / 2, fault);
      if (!isLost)
        this.#span(trace, client, id, service, `call ${chain[depth + 1]}`, startMs + ms / 2, called + way);
      ms += called + way;
    }
    const fails =
      fault.failing?.service === service && this.#random.below(1_000) < fault.failing.share * 1_000;
    if (fails) log(startMs + ms, "error", `${service} cannot do it: code ${this.#random.below(9)}`);
    else log(startMs + ms, "info", `${service} has done order ${this.#random.below(1_000)}`);
    this.#span(trace, id, parent, service, `do ${service}`, startMs, ms);
    return ms;
  }

  #span(
    trace: string,
    id: string,
    parent: string,
    service: string,
    name: string,
    atMs: number,
    ms: number,
  ): void {
    const nano = (at: number) => String(BigInt(Math.round(at * 1_000)) * 1_000n);
    this.spans.push({
      ...{ traceId: trace, spanId: id, parentSpanId: parent, name },
      ...{ startTimeUnixNano: nano(atMs), endTimeUnixNano: nano(atMs + ms) },
      attributes: { "service.name": nameOf(service) },
    });
  }
}

describe(`a shop of three services (SVC_SEED=${seed})`, () => {
  let server: Running;
  let store: Store;
  beforeAll(async () => {
    const shop = new Shop();
    for (const [name, fault] of Object.entries(faults)) shop.run(name, fault);
    server = await startServer({ queryDeadlineMs: 20_000 });
    store = server.service.store;
    for (const [signal, rows] of [
      ["logs", shop.logs],
      ["spans", shop.spans],
      ["metrics", shop.samples],
    ] as const)
      for (let at = 0; at < rows.length; at += 20_000) {
        const part = rows.slice(at, at + 20_000);
        expect((await ingest(server, lines(part), {}, signal)).json.accepted).toBe(part.length);
      }
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
    return investigate(store, {
      startMs,
      endMs: startMs + windowMs,
      baselineMs: startMs - baselineMsDefault,
    });
  };

  test.each([
    ["errors in stock", "stock", /^(?:code|exception)$/],
    ["errors in some calls of cart", "cart", /^(?:code|exception)$/],
    ["a slow cart", "cart", /^latency$/],
    ["a slow way to stock", "stock", /^network$/],
    ["a busy stock", "stock", /^cpu$/],
  ])("%s: %s is the first suspect", async (name, service, kind) => {
    const { suspects, spans, logs } = await look(name);
    expect([spans > 1_000, logs > 1_000]).toEqual([true, true]);
    expect(suspects[0]?.service).toBe(nameOf(service));
    expect(suspects[0]!.kind).toMatch(kind);
    expect(suspects[0]!.score).toBeGreaterThan(0.1);
    for (const { sentence, query } of describeSuspect(suspects[0]!)) {
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
      const { suspects } = await look(name);
      expect(suspects.filter(({ score }) => score > 0.1)).toEqual([]);
    },
  );

  test("a window without rows has no suspects", async () => {
    const startMs = firstMs - 100 * hourMs;
    const found = await investigate(store, {
      startMs,
      endMs: startMs + windowMs,
      baselineMs: startMs - hourMs,
    });
    expect(found).toEqual({ suspects: [], spans: 0, logs: 0 });
  });

  test("a request gets the suspects with their evidence, and mistakes name their field", async () => {
    const startTime = startOf("errors in stock");
    const range = { startTime, endTime: startTime + windowMs - 1 };
    const { status, json } = await ask<{
      suspects: {
        service: string;
        kind: string;
        score: number;
        evidence: { sentence: string; query: string; message?: string; traceId?: string }[];
      }[];
      field?: string;
    }>(server, "POST", "/investigations", range);
    expect([status, json.suspects[0]!.service]).toEqual([200, nameOf("stock")]);
    const [strongest] = json.suspects[0]!.evidence;
    expect(strongest!.sentence).toMatch(/log the error/);
    expect(strongest!.message).toMatch(/^stock cannot do it: code \d$/);
    const around = `startTime=${startTime - minuteMs}&endTime=${range.endTime + minuteMs}`;
    const path = `/traces/${strongest!.traceId}?${around}`;
    expect((await ask<{ services: string[] }>(server, "GET", path)).json.services).toContain(nameOf("stock"));
    const quiet = startOf("nothing");
    const nothing = { startTime: quiet, endTime: quiet + windowMs - 1 };
    expect((await ask(server, "POST", "/investigations", nothing)).json).toMatchObject({
      ...nothing,
      suspects: [],
    });
    const long = await ask(server, "POST", "/investigations", { ...range, endTime: startTime + hourMs });
    expect([long.status, long.json.field]).toEqual([400, "endTime"]);
    const turned = await ask(server, "POST", "/investigations", { startTime, endTime: startTime - 1 });
    expect([turned.status, turned.json.field]).toEqual([400, "startTime"]);
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
      /^1\. \/k8s\/shop\/stock: code, 0\.\d\d\n {3}\d+ % of the calls of .* log the error \w+, where 0 % is usual\n {5}logs\{/,
    );
    expect(JSON.parse((await look("errors in stock", "--json")).out).suspects[0].service).toBe(
      nameOf("stock"),
    );
    expect((await look("nothing")).out).toMatch(/^Nothing differs from the hour before\./);
  });
});
