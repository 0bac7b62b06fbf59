/** A small shop whose faults are known: web calls cart, and cart calls stock, which reads a database. */

import { expect } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { ingest, lines, type Running } from "../running.ts";

export const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
export const hourMs = 3_600_000;
export const minuteMs = 60_000;
export const firstMs = Date.UTC(2026, 0, 29);
export const windowMs = 3 * minuteMs;
const chain = ["web", "cart", "stock"] as const;

/** What is wrong within a window; each window has an hour without faults before it. */
interface Fault {
  /** Logs an error instead of its second line in this share of its calls. */
  failing?: { service: string; share: number };
  /** Milliseconds that its calls take longer by themselves. */
  slow?: { service: string; ms: number };
  /** Milliseconds that calls of it take longer on the way. */
  far?: { service: string; ms: number };
  /** Milliseconds that the database of stock takes longer. */
  database?: number;
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
  "a slow database of stock": { database: 300 },
  "a slow way to stock": { far: { service: "stock", ms: 400 } },
  "a busy stock": { busy: { service: "stock", percent: 95 }, slow: { service: "stock", ms: 40 } },
  nothing: {},
  "telemetry that gets lost": { lost: 0.3 },
  "three times the requests": { load: 3 },
};

export const startOf = (name: string) => firstMs + Object.keys(faults).indexOf(name) * 2 * hourMs + hourMs;
export const nameOf = (service: string) => `/k8s/shop/${service}`;

class Shop {
  readonly spans: object[] = [];
  readonly logs: object[] = [];
  readonly samples: object[] = [];
  readonly #random = new Random(seed);
  #ids = 0;
  /** Calls so far that may fail: the share that does is exact, so that no draw makes a fault too rare to be found. */
  #failable = 0;

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

  #failsNext(share: number): boolean {
    const before = this.#failable++;
    return Math.floor(this.#failable * share) > Math.floor(before * share);
  }

  /** Milliseconds that the call takes. */
  #call(depth: number, trace: string, parent: string, startMs: number, fault: Fault): number {
    const service = chain[depth]!;
    const id = this.#id(16);
    const isLost = this.#random.below(1_000) < (fault.lost ?? 0) * 1_000;
    const fails = fault.failing?.service === service && this.#failsNext(fault.failing.share);
    const pod = `${service}-${fails ? 6 : 1 + this.#random.below(6)}`;
    const log = (atMs: number, level: string, message: string) => {
      const attributes = {
        ...{ "service.name": nameOf(service), "k8s.pod.name": pod },
        ...{ trace_id: trace, span_id: id },
      };
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
    if (service === "stock") {
      const databaseMs = 1 + this.#random.below(100) / 100 + (fault.database ?? 0);
      const peer = { "db.system": "postgresql", "server.address": "10.0.0.9" };
      if (!isLost)
        this.#span(trace, this.#id(16), id, service, "SELECT stock", startMs + ms, databaseMs, peer);
      ms += databaseMs;
    }
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
    peer?: Record<string, string>,
  ): void {
    const nano = (at: number) => String(BigInt(Math.round(at * 1_000)) * 1_000n);
    this.spans.push({
      ...{ traceId: trace, spanId: id, parentSpanId: parent, name },
      ...{ startTimeUnixNano: nano(atMs), endTimeUnixNano: nano(atMs + ms) },
      ...(peer === undefined ? {} : { kind: "client" }),
      attributes: { "service.name": nameOf(service), ...peer },
    });
  }
}

/** Stores what the shop sends of some signals while each of some faults happens. */
export async function loadShop(
  server: Running,
  names: readonly string[] = Object.keys(faults),
  signals: readonly string[] = ["logs", "spans", "metrics"],
): Promise<void> {
  const shop = new Shop();
  for (const name of names) shop.run(name, faults[name]!);
  const all = { logs: shop.logs, spans: shop.spans, metrics: shop.samples };
  for (const signal of ["logs", "spans", "metrics"] as const)
    for (let at = 0; signals.includes(signal) && at < all[signal].length; at += 20_000) {
      const part = all[signal].slice(at, at + 20_000);
      expect((await ingest(server, lines(part), {}, signal)).json.accepted).toBe(part.length);
    }
}
