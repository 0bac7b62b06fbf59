/**
 * A server that is killed while every protocol sends: what was acknowledged is there, and what is sent again is there once. Syslog
 * acknowledges nothing: of each connection the messages up to some number are there, each once, and those that a query has found.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import snappy from "snappyjs";
import { afterAll, expect, test } from "vitest";
import { pushRequest } from "../../server/ingest/loki/schema.ts";
import { otlp } from "../../server/ingest/otlp/schema.ts";
import { writeRequest1 } from "../../server/ingest/prometheus/schema.ts";
import { startSvc } from "./command/program.ts";
import { freePort, sendSyslog } from "./ingest/syslog-sender.ts";
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
  (batch, times) => {
    const dataPoints = times.map((ms, i) => ({
      timeUnixNano: nanos(ms),
      asDouble: 1,
      attributes: [...attributesOf(batch), { key: "i", value: { stringValue: String(i) } }],
    }));
    const metrics = [{ name: "g", gauge: { dataPoints } }];
    const body = encoded(otlp.lookupType("MetricsRequest"), {
      resourceMetrics: [{ scopeMetrics: [{ metrics }] }],
    });
    return { path: "/v1/metrics", headers: protobufType, body, signal: "metrics" };
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

async function started(syslogPort: number) {
  const syslog = `127.0.0.1:${syslogPort}`;
  const svc = startSvc(["serve", "--data", dir, "--listen", "127.0.0.1:0", "--syslog", syslog]);
  const [url] = /http:\/\/\S+/.exec(await svc.printed("admin token")) ?? [];
  return { svc, url: url!, token: readFileSync(join(dir, "admin-token"), "utf8").trim() };
}

interface Round {
  isOver: () => boolean;
  onAcknowledged: () => void;
}

/** Sends from the list, and then new bodies, until it is over; notes which were acknowledged. */
async function sendAll(
  url: string,
  token: string,
  again: Sent[],
  all: Sent[],
  { isOver, onAcknowledged }: Round,
) {
  const sendOn = async (): Promise<void> => {
    while (!isOver()) {
      const body = again.shift() ?? nextBody();
      if (!all.includes(body)) all.push(body);
      try {
        const answer = await post(url, token, body);
        if (!isOver()) expect(answer.status, await answer.text()).toBeLessThan(300);
        body.isAcknowledged = answer.ok;
        onAcknowledged();
      } catch (error) {
        if (!isOver()) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: senders }, sendOn));
}

/** The one value of each series, by its only label. */
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
    series: { labels: Record<string, string>; points: [number, number][] }[];
  };
  return new Map(series.map(({ labels, points }) => [Object.values(labels)[0] ?? "", points[0]![1]]));
}

const ofSyslog = 'logs{service.name=~"syslog-.*"}';
const countOfSyslog = `count(${ofSyslog}) by (service.name)`;

/** Asks for the messages of syslog, and notes how many were found. */
async function watchSyslog(url: string, token: string, seen: Map<string, number>, isOver: () => boolean) {
  while (!isOver()) {
    try {
      for (const [service, count] of await countsOf(url, token, countOfSyslog)) seen.set(service, count);
    } catch (error) {
      if (!isOver()) throw error;
    }
  }
}

/** What is wrong with the messages of a connection: a hole, one that stands twice, one that was found and is gone. */
async function syslogFaults(
  url: string,
  token: string,
  seen: ReadonlyMap<string, number>,
): Promise<string[]> {
  const counts = await countsOf(url, token, countOfSyslog);
  const distinct = await countsOf(url, token, `count_distinct(syslog.msgid, ${ofSyslog}) by (service.name)`);
  const last = await countsOf(url, token, `max(syslog.msgid, ${ofSyslog}) by (service.name)`);
  const services = [...new Set([...counts.keys(), ...seen.keys()])];
  return services.flatMap((service) => {
    const count = counts.get(service) ?? 0;
    const isWhole = distinct.get(service) === count && last.get(service) === count - 1;
    if (isWhole && count >= (seen.get(service) ?? 0)) return [];
    return [`${service}: ${count}, to ${last.get(service)}, found before: ${seen.get(service)}`];
  });
}

test(`killed ${kills} times (SVC_SEED=${seed})`, async () => {
  const all: Sent[] = [];
  const seen = new Map<string, number>();
  const syslogPort = await freePort();
  let random = seed;
  for (let round = 0; round < kills; round++) {
    const { svc, url, token } = await started(syslogPort);
    random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
    let isKilled = false;
    let isTimed = false;
    const kill = () => {
      isKilled = true;
      svc.child.kill("SIGKILL");
    };
    // Counted from the first acknowledgement, which a busy machine gives late.
    const onAcknowledged = () => {
      if (!isTimed) setTimeout(kill, 300 + (random % 1_200));
      isTimed = true;
    };
    const again = all.filter(({ isAcknowledged }) => !isAcknowledged);
    await Promise.all([
      sendAll(url, token, again, all, { isOver: () => isKilled, onAcknowledged }),
      sendSyslog(syslogPort, `syslog-${round}`, () => isKilled),
      watchSyslog(url, token, seen, () => isKilled),
    ]);
    await svc.ended;
  }
  expect(all.filter(({ isAcknowledged }) => isAcknowledged).length).toBeGreaterThan(kills * makers.length);
  const { svc, url, token } = await started(syslogPort);
  expect(seen.size).toBeGreaterThan(0);
  expect(await syslogFaults(url, token, seen)).toEqual([]);
  const countAll = async () => {
    const counts = new Map<string, number>();
    for (const selector of ['logs{batch!=""}', "traces", "m", "g"]) {
      const found = await countsOf(url, token, `count(${selector}) by (batch)`);
      for (const [batch, count] of found) counts.set(batch, count);
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
