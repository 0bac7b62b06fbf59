/** Mutated bodies of every format are taken or refused, without a crash, a hang, or half a batch. */
import { gzipSync, zstdCompressSync } from "node:zlib";
import snappy from "snappyjs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BodyFormat } from "../../../server/index.ts";
import { decodeBody } from "../../../server/index.ts";
import type { BodyTask } from "../../../server/ingest/decode-task.ts";
import { writeRequest1 } from "../../../server/ingest/prometheus/schema.ts";
import { report, scaled, seed, seededRandom } from "../../durability/campaign.ts";
import type { Running } from "../running.ts";
import { call, search, startServer } from "../running.ts";
import { mutateBody } from "./body-mutation.ts";
import { makePlainTask } from "./decode-task.ts";
import { pushRequest } from "./loki-schema.ts";
import { jsonOf, protobufOf } from "./otlp/otlp-bodies.ts";
import {
  at,
  type BodyName,
  encoded,
  formatOf,
  nowMs,
  samples,
  type ValidBodies,
  validBodies,
  value,
} from "./valid-bodies.ts";

/** Number of mutated bodies for each format. */
const bodies = scaled(350, 100_000);

let server: Running;
let what: Record<ValidBodies["signal"], BodyTask["content"]>;
beforeAll(async () => {
  server = await startServer();
  const activeSeries = server.service.store.seriesCensus();
  what = {
    logs: { signal: "logs" },
    traces: { signal: "traces" },
    profiles: { signal: "profiles" },
    kubernetes_resources: { signal: "kubernetes_resources" },
    metrics: { signal: "metrics", activeSeries },
  };
});
afterAll(() => server.stop());

const long = "x".repeat(200_000);

/** A small body whose rows would take gigabytes. */
function repeating() {
  const logRecords = new Array(6_000).fill({ timeUnixNano: at });
  const shared = [{ key: "long", value: value(long) }];
  return { resourceLogs: [{ resource: { attributes: shared }, scopeLogs: [{ logRecords }] }] };
}

function decode(
  format: BodyFormat,
  signal: ValidBodies["signal"],
  body: Buffer,
  more: Partial<BodyTask> = {},
) {
  return decodeBody({
    content: what[signal],
    format,
    ...makePlainTask(body),
    unpackedBytesMax: 1 << 20,
    arrivalMs: nowMs,
    flattensJson: true,
    ...more,
  });
}

describe.each(Object.keys(validBodies) as BodyName[])(`%s (SVC_SEED=${seed})`, (name) => {
  const { signal, seeds }: ValidBodies = validBodies[name];
  const format = formatOf(name);
  test("mutated bodies are taken or refused with a sentence", () => {
    const random = seededRandom(`mutated bodies of ${name}`);
    const valid = seeds();
    const statuses = new Map<number, number>();
    for (let i = 0; i < bodies; i++) {
      const body = mutateBody(valid[i % valid.length]!, random);
      const decoded = decode(format, signal, body);
      if (decoded.ok) {
        expect(decoded.batch.rows, body.toString("hex")).toBeGreaterThanOrEqual(0);
        for (const { reason } of decoded.refused) expect(reason).not.toMatch(/undefined|\bat .*\.ts/);
      } else {
        expect(decoded.message).toMatch(/^[a-z][^\n]{5,}/);
      }
      const status = decoded.ok ? 200 : decoded.status;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    const [accepted, refused] = [statuses.get(200) ?? 0, statuses.get(400) ?? 0];
    const failed = bodies - accepted - refused;
    report(`${name}: tried ${bodies}, accepted ${accepted}, refused ${refused}, failed ${failed}`);
    expect(accepted).toBeGreaterThan(0);
    expect([...statuses.keys()].filter((status) => status !== 200 && status !== 400)).toEqual([]);
  });
});

describe("bodies that expand too far", () => {
  const zeros = Buffer.alloc(2 << 20);

  test.each([
    ["gzip", gzipSync(zeros), 413],
    ["zstd", zstdCompressSync(zeros), 413],
    ["snappy", snappy.compress(zeros), 413],
    ["snappy", Buffer.from([0xff, 0xff, 0x3f, 0, 0]), 400],
  ] as const)("%s is refused", (encoding, body, status) => {
    const decoded = decode("otlp logs", "logs", Buffer.from(body), { encoding });
    expect(decoded).toMatchObject({ ok: false, status });
  });

  test.each<[BodyFormat, ValidBodies["signal"], () => Buffer]>([
    ["otlp logs", "logs", () => protobufOf("LogsRequest", repeating())],
    ["otlp logs json", "logs", () => jsonOf(repeating())],
    [
      "loki",
      "logs",
      () =>
        encoded(pushRequest, { streams: [{ labels: `{a="${long}"}`, entries: new Array(6_000).fill({}) }] }),
    ],
    [
      "remote write 1",
      "metrics",
      () => {
        const series = { labels: [{ name: "a", value: long }], samples: new Array(6_000).fill(samples[0]) };
        return encoded(writeRequest1, { timeseries: [series, series] });
      },
    ],
  ])("%s: too many bytes that rows share are refused", (format, signal, body) => {
    expect(decode(format, signal, body())).toMatchObject({ ok: false, status: 413 });
  });

  test("values nested too deeply are refused", () => {
    let inner: Buffer = Buffer.from([0x0a, 1, 0x78]);
    const field = (tag: number, body: Buffer): Buffer => {
      const writer = [tag];
      let length = body.length;
      for (; length > 0x7f; length >>>= 7) writer.push((length & 0x7f) | 0x80);
      return Buffer.concat([Buffer.from([...writer, length]), body]);
    };
    for (let depth = 0; depth < 500; depth++) inner = field(0x2a, field(0x0a, inner));
    const record = field(0x2a, inner);
    const body = field(0x0a, field(0x12, field(0x12, record)));
    expect(decode("otlp logs", "logs", body)).toMatchObject({ ok: false, status: 400 });
  });
});

test("nothing of a refused body is stored", async () => {
  const record = { timeUnixNano: at, body: value("half") };
  const request = { resourceLogs: [{ scopeLogs: [{ logRecords: [record, record] }] }] };
  const bytes = Buffer.concat([protobufOf("LogsRequest", request), Buffer.from([0x0a, 0x7f])]);
  const got = await call(server, "/v1/logs", {
    token: server.adminToken,
    headers: { "Content-Type": "application/x-protobuf" },
    body: new Uint8Array(bytes),
  });
  expect(got.status).toBe(400);
  expect((await search(server, { query: 'logs |= "half"' })).json.count).toBe(0);
});
