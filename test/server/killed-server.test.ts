/** A server that is killed while every protocol sends: what was acknowledged is there, and what is sent again is there once. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import snappy from "snappyjs";
import { afterAll, expect, test } from "vitest";
import { pushRequest } from "../../server/ingest/loki/schema.ts";
import { otlp } from "../../server/ingest/otlp/schema.ts";
import { writeRequest1 } from "../../server/ingest/prometheus/schema.ts";
import { startSvc } from "./program.ts";
import { lines } from "./running.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const kills = process.env.SVC_SOAK === "1" ? 20 : 3;
const senders = 8;
const rowsPerBody = 5;
const dir = mkdtempSync(join(tmpdir(), "svc-killed-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const startMs = Date.now() - 1_800_000;

interface Sent {
  path: string;
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
  signal: "logs" | "traces" | "metrics";
  /** What all of its rows, and no others, have as the attribute `batch`. */
  batch: string;
  isAcknowledged: boolean;
}

type Make = (batch: string, times: readonly number[]) => Pick<Sent, "path" | "headers" | "body" | "signal">;

const protobufType = { "Content-Type": "application/x-protobuf" };
const jsonType = { "Content-Type": "application/json" };

function encoded(type: typeof pushRequest, request: object): Uint8Array<ArrayBuffer> {
  return new Uint8Array(type.encode(type.fromObject(request)).finish());
}

function text(body: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(body));
}

const attributesOf = (batch: string) => [{ key: "batch", value: { stringValue: batch } }];
const nanos = (ms: number) => `${ms}000000`;

function otlpLogs(batch: string, times: readonly number[]) {
  const logRecords = times.map((ms) => ({ timeUnixNano: nanos(ms), attributes: attributesOf(batch) }));
  return { resourceLogs: [{ scopeLogs: [{ logRecords }] }] };
}

const makers: readonly Make[] = [
  (batch, times) => ({
    path: "/api/v1/ingest/logs",
    headers: { "Content-Type": "application/x-ndjson" },
    body: text(lines(times.map((timestamp) => ({ timestamp, batch })))),
    signal: "logs",
  }),
  (batch, times) => ({
    path: "/v1/logs",
    headers: protobufType,
    body: encoded(otlp.lookupType("LogsRequest"), otlpLogs(batch, times)),
    signal: "logs",
  }),
  (batch, times) => ({
    path: "/v1/logs",
    headers: jsonType,
    body: text(JSON.stringify(otlpLogs(batch, times))),
    signal: "logs",
  }),
  (batch, times) => {
    const spans = times.map((ms, i) => ({
      traceId: Buffer.alloc(16, batch),
      spanId: Buffer.alloc(8, `${i}${batch}`),
      startTimeUnixNano: nanos(ms),
      attributes: attributesOf(batch),
    }));
    const request = { resourceSpans: [{ scopeSpans: [{ spans }] }] };
    const body = encoded(otlp.lookupType("TraceRequest"), request);
    return { path: "/v1/traces", headers: protobufType, body, signal: "traces" };
  },
  (batch, times) => {
    const entries = times.map((ms) => ({
      timestamp: { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 },
      line: "x",
    }));
    const request = encoded(pushRequest, { streams: [{ labels: `{batch="${batch}"}`, entries }] });
    const body = new Uint8Array(snappy.compress(request));
    return { path: "/loki/api/v1/push", headers: protobufType, body, signal: "logs" };
  },
  (batch, times) => ({
    path: "/_bulk",
    headers: { "Content-Type": "application/x-ndjson" },
    body: text(lines(times.flatMap((ms) => [{ create: {} }, { "@timestamp": ms, batch }]))),
    signal: "logs",
  }),
  (batch, times) => {
    const timeseries = times.map((timestamp, i) => ({
      labels: Object.entries({ __name__: "m", batch, i: String(i) }).map(([name, value]) => ({
        name,
        value,
      })),
      samples: [{ value: 1, timestamp }],
    }));
    const body = new Uint8Array(snappy.compress(encoded(writeRequest1, { timeseries })));
    return { path: "/api/v1/write", headers: protobufType, body, signal: "metrics" };
  },
];

let made = 0;

function nextBody(): Sent {
  const number = made++;
  const batch = `b${number}`;
  const times = Array.from({ length: rowsPerBody }, (_, i) => startMs + number * 10 + i);
  return { ...makers[number % makers.length]!(batch, times), batch, isAcknowledged: false };
}

async function post(url: string, token: string, { path, headers, body }: Omit<Sent, "isAcknowledged">) {
  return fetch(url + path, {
    method: "POST",
    headers: { ...headers, Authorization: `Bearer ${token}` },
    body,
  });
}

async function started() {
  const svc = startSvc(["serve", "--data", dir, "--listen", "127.0.0.1:0"]);
  const [url] = /http:\/\/\S+/.exec(await svc.printed("admin token")) ?? [];
  return { svc, url: url!, token: readFileSync(join(dir, "admin-token"), "utf8").trim() };
}

/** Sends from the list, and then new bodies, until `isOver`; notes which were acknowledged. */
async function sendAll(url: string, token: string, again: Sent[], all: Sent[], isOver: () => boolean) {
  const sendOn = async (): Promise<void> => {
    while (!isOver()) {
      const body = again.shift() ?? nextBody();
      if (!all.includes(body)) all.push(body);
      try {
        const answer = await post(url, token, body);
        if (!isOver()) expect(answer.status, await answer.text()).toBeLessThan(300);
        body.isAcknowledged = answer.ok;
      } catch (error) {
        if (!isOver()) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: senders }, sendOn));
}

async function countsOf(url: string, token: string, query: string): Promise<Map<string, number>> {
  const got = await fetch(`${url}/api/v1/query/timeseries`, {
    method: "POST",
    headers: { ...jsonType, Authorization: `Bearer ${token}` },
    body: JSON.stringify({
      query,
      startTime: 0,
      endTime: Date.now() + 86_400_000,
      bucketSize: 3_155_760_000,
    }),
  });
  const { series } = (await got.json()) as {
    series: { labels: { batch?: string }; points: [number, number][] }[];
  };
  return new Map(series.map(({ labels, points }) => [labels.batch ?? "", points[0]![1]]));
}

test(`killed ${kills} times (SVC_SEED=${seed})`, async () => {
  const all: Sent[] = [];
  let random = seed;
  for (let kill = 0; kill < kills; kill++) {
    const { svc, url, token } = await started();
    random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
    let isKilled = false;
    const killing = new Promise<void>((resolve) => {
      setTimeout(
        () => {
          isKilled = true;
          svc.child.kill("SIGKILL");
          void svc.ended.then(() => resolve());
        },
        300 + (random % 1_200),
      );
    });
    const again = all.filter(({ isAcknowledged }) => !isAcknowledged);
    await sendAll(url, token, again, all, () => isKilled);
    await killing;
  }
  expect(all.filter(({ isAcknowledged }) => isAcknowledged).length).toBeGreaterThan(kills * makers.length);
  const { svc, url, token } = await started();
  const countAll = async () => {
    const counts = new Map<string, number>();
    for (const query of ["count(logs) by (batch)", "count(traces) by (batch)", "count(m) by (batch)"]) {
      for (const [batch, count] of await countsOf(url, token, query)) counts.set(batch, count);
    }
    return counts;
  };
  const before = await countAll();
  const wrong = all.filter(({ batch, isAcknowledged }) => {
    const count = before.get(batch) ?? 0;
    return count !== rowsPerBody && (isAcknowledged || count !== 0);
  });
  expect(wrong.map(({ batch, path }) => `${path} ${batch}: ${before.get(batch)}`)).toEqual([]);
  for (const body of all) expect((await post(url, token, body)).ok).toBe(true);
  const after = await countAll();
  expect(after.size).toBe(all.length);
  expect([...after].filter(([, count]) => count !== rowsPerBody)).toEqual([]);
  svc.child.kill("SIGTERM");
  await svc.ended;
});
