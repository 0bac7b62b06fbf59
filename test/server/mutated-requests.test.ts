/**
 * Changed bodies and queries over HTTP: each is answered in time with what its protocol promises, and none with a fault.
 */
import { gzipSync, zstdCompressSync } from "node:zlib";
import snappy from "snappyjs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Random } from "../../fixtures/random.ts";
import { report, scaled, seed, seededRandom } from "../durability/campaign.ts";
import { mutateBody } from "./ingest/body-mutation.ts";
import { type BodyName, type ValidBodies, validBodies } from "./ingest/valid-bodies.ts";
import type { Running } from "./running.ts";
import { startServer } from "./running.ts";
import { listValidSearches, type ValidSearch } from "./search/valid-queries.ts";

const requests = Number(process.env.SVC_CASES ?? scaled(1_800, 200_000));
/** Requests under way at once. */
const lanes = 8;
/** An answer that takes longer is taken for one that never comes. */
const answerMsMax = 30_000;

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

interface Sent {
  path: string;
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
}

type Pack = (bytes: Uint8Array) => Uint8Array;
const plainEncodings: Readonly<Record<string, Pack>> = {
  identity: (bytes) => bytes,
  gzip: (bytes) => gzipSync(bytes, { level: 1 }),
  zstd: (bytes) => zstdCompressSync(bytes),
};
const snappyEncoding: Readonly<Record<string, Pack>> = {
  snappy: (bytes) => snappy.compress(Buffer.from(bytes)),
};

interface Endpoint {
  path: string;
  contentType: string;
  encodings: Readonly<Record<string, Pack>>;
}

const json = "application/json";
const protobuf = "application/x-protobuf";
const lines = (name: string): Endpoint => ({
  path: `/api/v1/ingest/${name}`,
  contentType: "application/x-ndjson",
  encodings: plainEncodings,
});
const otlp = (name: string, contentType: string): Endpoint => ({
  path: `/v1/${name}`,
  contentType,
  encodings: plainEncodings,
});

/** Formats that do not come over HTTP. */
type SocketFormat = "syslog" | "gelf messages" | "fluent forward";

/** Where each format is sent. */
const endpoints: Record<Exclude<BodyName, SocketFormat>, Endpoint> = {
  "json lines logs": lines("logs"),
  "json lines traces": lines("spans"),
  "json lines metrics": lines("metrics"),
  "json lines profiles": lines("profiles"),
  "json lines kubernetes_resources": lines("kubernetes_resources"),
  "otlp logs": otlp("logs", protobuf),
  "otlp logs json": otlp("logs", json),
  "otlp traces": otlp("traces", protobuf),
  "otlp traces json": otlp("traces", json),
  "otlp metrics": otlp("metrics", protobuf),
  "otlp metrics json": otlp("metrics", json),
  loki: { path: "/loki/api/v1/push", contentType: protobuf, encodings: snappyEncoding },
  "loki json": { path: "/loki/api/v1/push", contentType: json, encodings: plainEncodings },
  "elasticsearch bulk": { path: "/_bulk", contentType: "application/x-ndjson", encodings: plainEncodings },
  "elasticsearch document": { path: "/i/_doc", contentType: json, encodings: plainEncodings },
  "splunk events": { path: "/services/collector", contentType: json, encodings: plainEncodings },
  "splunk lines": { path: "/services/collector/raw", contentType: "text/plain", encodings: plainEncodings },
  jaeger: { path: "/api/traces", contentType: "application/x-thrift", encodings: plainEncodings },
  zipkin: { path: "/api/v2/spans", contentType: json, encodings: plainEncodings },
  datadog: { path: "/api/v2/logs", contentType: json, encodings: plainEncodings },
  "datadog text": { path: "/api/v2/logs", contentType: "text/plain", encodings: plainEncodings },
  "journal export": {
    path: "/upload",
    contentType: "application/vnd.fdo.journal",
    encodings: plainEncodings,
  },
  gelf: { path: "/gelf", contentType: json, encodings: plainEncodings },
  "influx lines": { path: "/write", contentType: "text/plain", encodings: plainEncodings },
  "remote write 1": { path: "/api/v1/write", contentType: protobuf, encodings: snappyEncoding },
  "remote write 2": {
    path: "/api/v1/write",
    contentType: `${protobuf};proto=io.prometheus.write.v2.Request`,
    encodings: snappyEncoding,
  },
};

const names = Object.keys(endpoints) as (keyof typeof endpoints)[];
const bodiesOf = new Map(names.map((name) => [name, (validBodies[name] as ValidBodies).seeds()]));
const searches = listValidSearches(seed);
const texts = searches.flatMap(({ queries }) => queries);

function makeIngestion(random: Random): Sent {
  const name = random.pick(names);
  const { path, contentType, encodings } = endpoints[name];
  const [encoding, pack] = random.pick(Object.entries(encodings));
  const valid = random.pick(bodiesOf.get(name)!);
  // Mostly the content is changed, and sometimes what was packed.
  const body = random.oneIn(5)
    ? mutateBody(Buffer.from(pack(valid)), random)
    : pack(mutateBody(valid, random));
  const headers = { "Content-Type": contentType, "Content-Encoding": encoding };
  return { path, headers, body: new Uint8Array(body) };
}

const odd = [
  ...[null, true, -1, 0, 0.5, 1e21, 2 ** 53, "", "1", "\u0000", "é\ud800", [], [1], {}, { a: 1 }],
  ...["x".repeat(70_000), "logs", "metrics", "__proto__", "constructor", Number.MAX_SAFE_INTEGER, 1, 60],
];

/** Changes bytes of a text, or puts a part of another text into it. */
function mutateText(text: string, random: Random): string {
  if (random.oneIn(2)) return mutateBody(Buffer.from(text), random).toString();
  const other = random.pick(texts);
  const from = random.below(other.length + 1);
  const at = random.below(text.length + 1);
  const end = at + random.below(text.length - at + 1);
  return text.slice(0, at) + other.slice(from, from + random.below(20)) + text.slice(end);
}

function makeSearch(random: Random): Sent {
  const { path, body, queries }: ValidSearch = random.pick(searches);
  const sent: Record<string, unknown> = { ...body, query: random.pick(queries) };
  const kind = random.below(4);
  if (kind <= 1) sent.query = mutateText(sent.query as string, random);
  if (kind === 2) sent[random.pick([...Object.keys(sent), "another"])] = random.pick(odd);
  const text = Buffer.from(JSON.stringify(sent));
  const bytes = kind === 3 ? mutateBody(text, random) : text;
  const [encoding, pack] = random.pick(Object.entries(plainEncodings));
  const headers = { "Content-Type": json, "Content-Encoding": encoding };
  return { path: `/api/v1/query/${path}`, headers, body: new Uint8Array(pack(bytes)) };
}

function makeTail(random: Random): Sent {
  const query = mutateText(random.pick(texts), random);
  const path = `/api/v1/query/tail?query=${encodeURIComponent(query.toWellFormed())}`;
  return { path, headers: {}, body: new Uint8Array(0) };
}

interface Answer {
  status: number;
  type: string;
  text: string;
}

async function send({ path, headers, body }: Sent): Promise<Answer> {
  const response = await fetch(server.url + path, {
    method: body.length === 0 && path.includes("tail") ? "GET" : "POST",
    headers: { Authorization: `Bearer ${server.adminToken}`, ...headers },
    ...(path.includes("tail") ? {} : { body }),
    signal: AbortSignal.timeout(answerMsMax),
  });
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("text/event-stream")) {
    await response.body!.cancel();
    return { status: response.status, type, text: "" };
  }
  return { status: response.status, type, text: await response.text() };
}

/** What no sentence for people holds. */
const internals =
  /\bat .+:\d+:\d+|node_modules|\[object |\bundefined\b(?! ")|Cannot read|[\w)] is not a function|is not iterable|Maximum call stack/;

/** What is wrong with an answer; undefined where nothing is. */
function findFault({ status, type, text }: Answer, { path }: Sent): string | undefined {
  if (![200, 201, 202, 204, 400, 409, 413].includes(status)) return "the status";
  const isJson = type.startsWith(json);
  let parsed: unknown;
  try {
    parsed = isJson ? JSON.parse(text) : undefined;
  } catch {
    return "not JSON";
  }
  if (status < 300) return undefined;
  if (path.startsWith("/api/v1/") && path !== "/api/v1/write" && !isJson) return "not JSON";
  const message = isJson ? messageOf(parsed) : text;
  if (message === undefined) return "no message";
  if (internals.test(message)) return "the message";
  return message.length < 15 ? "a short message" : undefined;
}

interface ErrorBody {
  error?: string | { reason: string };
  message?: string;
  text?: string;
  errors?: { detail: string }[];
}

/** The message of an error: in the server's own form, of OTLP's Status, of Elasticsearch, Splunk or Datadog. */
function messageOf(body: unknown): string | undefined {
  const { error, message, text, errors } = body as ErrorBody;
  return typeof error === "string" ? error : (error?.reason ?? message ?? text ?? errors?.[0]?.detail);
}

test(
  `changed bodies and queries are answered (SVC_SEED=${seed})`,
  async () => {
    const random = seededRandom("mutated requests");
    const counts = { tried: 0, accepted: 0, refused: 0, failed: 0 };
    const faults: string[] = [];
    const lane = async () => {
      while (counts.tried < requests) {
        counts.tried++;
        const kind = random.below(20);
        const sent = kind === 0 ? makeTail(random) : kind < 10 ? makeSearch(random) : makeIngestion(random);
        let fault: string | undefined;
        let got: Answer | undefined;
        try {
          got = await send(sent);
          fault = findFault(got, sent);
        } catch (error) {
          fault = `no answer: ${String(error)}`;
        }
        if (fault !== undefined) {
          counts.failed++;
          const hex = Buffer.from(sent.body).toString("base64").slice(0, 1_000);
          faults.push(
            `${fault}: ${sent.path} ${JSON.stringify(sent.headers)} ${hex}\n  ${got?.status} ${got?.text.slice(0, 500)}`,
          );
        } else if (got!.status < 300) counts.accepted++;
        else counts.refused++;
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    const { tried, accepted, refused, failed } = counts;
    report(`mutated requests: tried ${tried}, accepted ${accepted}, refused ${refused}, failed ${failed}`);
    expect(faults.slice(0, 20)).toEqual([]);
    expect(Math.min(accepted, refused)).toBeGreaterThan(tried / 10);
    expect(server.logged.filter((line) => line.includes(" failed: "))).toEqual([]);
    // Bodies of every protocol are taken after all that.
    for (const name of names) {
      const { path, contentType, encodings } = endpoints[name];
      const [encoding, pack] = Object.entries(encodings)[0]!;
      const headers = { "Content-Type": contentType, "Content-Encoding": encoding };
      const sendValid = (valid: Buffer) => send({ path, headers, body: new Uint8Array(pack(valid)) });
      // Some of the random requests of OTLP are refused as they are.
      const answers = await Promise.all(bodiesOf.get(name)!.map(sendValid));
      expect([name, answers.some(({ status }) => status < 300)]).toEqual([name, true]);
    }
  },
  scaled(60_000, 14_400_000),
);
