/** OTLP over gRPC: what a sender is answered, and what a search then finds. */
import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { otlp } from "../../../../server/ingest/otlp/schema.ts";
import { codes, exportMethods, framed, GrpcClient } from "../../http/grpc-client.ts";
import { call, post, type Running, search, startServer } from "../../running.ts";
import { protobufOf } from "./otlp-bodies.ts";

let server: Running;
let client: GrpcClient;
beforeAll(async () => {
  server = await startServer({ grpcAddress: { host: "127.0.0.1", port: 0, isOptional: false } });
  client = new GrpcClient(server.service.grpcPort!);
});
afterAll(async () => {
  client.close();
  await server.stop();
});

const now = Date.now();
const pairs = (values: Record<string, string>) =>
  Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));

/** A request with a record for each time, which all have `batch` as their attribute. */
function logs(batch: string, times: readonly (number | string)[] = [now]): Buffer {
  const logRecords = times.map((ms, i) => ({
    timeUnixNano: typeof ms === "number" ? `${ms}000000` : ms,
    severityText: "WARN",
    body: { stringValue: `row ${i}` },
    attributes: pairs({ batch }),
  }));
  return protobufOf("LogsRequest", { resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
}

async function foundOf(batch: string) {
  return (await search(server, { query: `logs{batch="${batch}"}`, limit: 1_000 })).json.logs;
}

function send(message: Uint8Array, options: Parameters<GrpcClient["call"]>[2] = {}) {
  return client.call(exportMethods.logs, message, { token: server.adminToken, ...options });
}

async function makeToken(fields: Record<string, unknown>): Promise<string> {
  const made = await call<{ token: string }>(server, "/api/v1/tokens", {
    token: server.adminToken,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(fields),
  });
  return made.json.token;
}

async function metricsText(): Promise<string> {
  return (await call(server, "/metrics")).text;
}

describe("what is taken", () => {
  test("logs, spans and points are the rows that the same bodies become over HTTP", async () => {
    const span = {
      traceId: "0af7651916cd43dd8448eb211c80319c",
      spanId: "b7ad6b7169203331",
      name: "GET /cart",
      kind: 2,
      startTimeUnixNano: `${now}000000`,
      endTimeUnixNano: `${now + 12}500000`,
      status: { code: 2, message: "it broke" },
    };
    const bodies = (by: string) => ({
      logs: logs(by, [now, now + 1]),
      traces: protobufOf("TraceRequest", {
        resourceSpans: [
          {
            resource: { attributes: pairs({ by }) },
            scopeSpans: [{ scope: { name: "lib" }, spans: [span] }],
          },
        ],
      }),
      metrics: encodeMetrics({
        name: `stock_${by}`,
        unit: "1",
        gauge: { dataPoints: [{ timeUnixNano: `${now}000000`, asInt: 42, attributes: pairs({ a: "b" }) }] },
      }),
    });
    const byHttp = bodies("http");
    for (const [signal, body] of Object.entries(byHttp)) {
      const got = await call(server, `/v1/${signal}`, {
        token: server.adminToken,
        headers: { "Content-Type": "application/x-protobuf" },
        body: new Uint8Array(body),
      });
      expect(got.status).toBe(200);
    }
    for (const [signal, body] of Object.entries(bodies("grpc"))) {
      const method = exportMethods[signal as keyof typeof exportMethods];
      const got = await client.call(method, body, { token: server.adminToken });
      expect([got.httpStatus, got.code, got.body.length]).toEqual([200, codes.OK, 0]);
      expect(got.headers["content-type"]).toBe("application/grpc");
    }
    const [grpcLogs, httpLogs] = [await foundOf("grpc"), await foundOf("http")];
    expect(grpcLogs).toHaveLength(2);
    expect(grpcLogs).toEqual(
      httpLogs.map((row) => ({ ...row, attributes: { ...row.attributes, batch: "grpc" } })),
    );
    const spansOf = async (by: string) =>
      (await post<{ spans: { attributes: object }[] }>(server, "traces", { query: `{by="${by}"}` })).json
        .spans;
    const [grpcSpans, httpSpans] = [await spansOf("grpc"), await spansOf("http")];
    expect(grpcSpans).toHaveLength(1);
    expect(grpcSpans).toEqual(
      httpSpans.map((each) => ({ ...each, attributes: { ...each.attributes, by: "grpc" } })),
    );
    expect(await seriesOf("avg(stock_grpc) by (a)")).toEqual([[{ a: "b" }, 42]]);
  });

  test.each([
    ["gzip", (bytes: Buffer) => gzipSync(bytes)],
    ["zstd", (bytes: Buffer) => zstdCompressSync(bytes)],
    ["deflate", (bytes: Buffer) => deflateSync(bytes)],
    ["identity", undefined],
  ])("a message in %s", async (encoding, pack) => {
    const message = logs(encoding);
    const options = pack === undefined ? { encoding, isPlain: true } : { encoding };
    expect((await send(pack?.(message) ?? message, options)).code).toBe(codes.OK);
    // The encoding is named, and this message is not in it.
    expect((await send(logs(`${encoding} plain`), { encoding, isPlain: true })).code).toBe(codes.OK);
    expect(await foundOf(encoding)).toHaveLength(1);
    expect(await foundOf(`${encoding} plain`)).toHaveLength(1);
  });

  test("a message that comes byte by byte", async () => {
    const stream = client.open(exportMethods.logs, { token: server.adminToken });
    const closed = new Promise((resolve) => stream.on("close", resolve));
    for (const byte of framed(logs("bytes"))) stream.write(Buffer.of(byte));
    stream.end();
    stream.resume();
    await closed;
    expect(await foundOf("bytes")).toHaveLength(1);
  });

  test("a large message, over many windows of flow control", async () => {
    const request = Array.from({ length: 1_000 }, () => now);
    const large = Buffer.concat(
      Array.from({ length: 60 }, (_, i) => logs(`large ${i} ${"x".repeat(200)}`, request)),
    );
    expect(large.length).toBeGreaterThan(8 * 2 ** 20);
    expect((await send(large)).code).toBe(codes.OK);
    expect(
      (await search(server, { query: 'logs{batch=~"large .*"} |= "row 999"', limit: 1_000 })).json.count,
    ).toBe(60);
  });

  test("many calls at once, on one connection", async () => {
    const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => send(logs("many", [now + i]))));
    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => codes.OK));
    expect(await foundOf("many")).toHaveLength(300);
  });

  test("a message that came before, over HTTP or with the same key, adds nothing", async () => {
    const message = logs("twice");
    for (let i = 0; i < 2; i++) expect((await send(message)).code).toBe(codes.OK);
    const http = await call(server, "/v1/logs", {
      token: server.adminToken,
      headers: { "Content-Type": "application/x-protobuf" },
      body: new Uint8Array(message),
    });
    expect(http.status).toBe(200);
    expect(await foundOf("twice")).toHaveLength(1);
    const metadata = { "idempotency-key": "a" };
    for (const batch of ["key 1", "key 2"])
      expect((await send(logs(batch), { metadata })).code).toBe(codes.OK);
    expect(await foundOf("key 2")).toHaveLength(0);
  });

  test("rows of an environment's token have its stamps", async () => {
    const made = await call<{ token: string }>(server, "/api/v1/environments/create", {
      token: server.adminToken,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ environment: { name: "prod" } }),
    });
    expect((await send(logs("stamped"), { token: made.json.token })).code).toBe(codes.OK);
    const [row] = await foundOf("stamped");
    expect(row!.attributes).toMatchObject({ environment: "prod", "k8s.cluster.name": "prod" });
  });

  test("rows that cannot be stored are told of, the others are taken", async () => {
    const got = await send(logs("partly", [now, now + 30 * 86_400_000]));
    expect(got.code).toBe(codes.OK);
    const { partialSuccess } = otlp.lookupType("LogsResponse").decode(got.body).toJSON();
    expect(partialSuccess).toEqual({
      rejectedLogRecords: "1",
      errorMessage: "record 2: the time is more than a day ahead of the server's clock",
    });
    expect(await foundOf("partly")).toHaveLength(1);
  });
});

describe("what is refused", () => {
  test.each<[string, () => Uint8Array, string]>([
    [
      "no row can be stored",
      () => logs("none", [now + 30 * 86_400_000]),
      "none of the 1 records can be stored",
    ],
    ["the message is not protobuf", () => Buffer.from("\xff\xff\xff", "latin1"), "protobuf"],
    ["the message ends in the middle", () => logs("cut").subarray(0, -3), "protobuf"],
  ])("%s: not to be sent again", async (_, message, text) => {
    const got = await send(message());
    expect([got.code, got.retrySeconds]).toEqual([codes.INVALID_ARGUMENT, undefined]);
    expect(got.message).toContain(text);
  });

  test("a token that is wrong, missing, or of another role; the audit log has it", async () => {
    const viewer = await makeToken({ role: "viewer" });
    const message = logs("refused");
    const wrong = await client.call(exportMethods.logs, message, { token: "svc_wrong" });
    expect([wrong.code, wrong.message]).toEqual([
      codes.UNAUTHENTICATED,
      "the token is unknown, expired or revoked",
    ]);
    expect((await client.call(exportMethods.logs, message)).code).toBe(codes.UNAUTHENTICATED);
    const denied = await client.call(exportMethods.logs, message, { token: viewer });
    expect([denied.code, denied.message]).toEqual([
      codes.PERMISSION_DENIED,
      "a token of role viewer may not ingest: it takes admin or ingest",
    ]);
    expect(await foundOf("refused")).toHaveLength(0);
    await expect
      .poll(
        async () =>
          (await search(server, { query: 'logs{audit="refused"} |= "LogsService/Export"' })).json.count,
        { timeout: 10_000 },
      )
      .toBe(3);
  });

  test("a message that is too large, by its length alone and unpacked", async () => {
    const stream = client.open(exportMethods.logs, { token: server.adminToken });
    const got = new Promise<Record<string, unknown>>((resolve) => stream.on("response", resolve));
    stream.write(Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]));
    const headers = await got;
    expect([headers["grpc-status"], headers["grpc-status-details-bin"]]).toEqual(["3", undefined]);
    expect(decodeURIComponent(String(headers["grpc-message"]))).toBe(
      "the message is larger than 33554432 bytes: send it in smaller parts",
    );
    const bomb = await send(gzipSync(Buffer.alloc(129 * 2 ** 20)), { encoding: "gzip" });
    expect([bomb.code, bomb.retrySeconds]).toEqual([codes.INVALID_ARGUMENT, undefined]);
    expect(bomb.message).toContain("unpacks to more than");
  });

  test("an encoding that is not known, or not named, or not the message's", async () => {
    const unknown = await send(logs("br"), { encoding: "br" });
    expect([unknown.code, unknown.headers["grpc-accept-encoding"]]).toEqual([
      codes.UNIMPLEMENTED,
      "gzip, zstd, deflate",
    ]);
    const stream = client.open(exportMethods.logs, { token: server.adminToken });
    const got = new Promise<Record<string, unknown>>((resolve) => stream.on("response", resolve));
    stream.end(framed(gzipSync(logs("unnamed")), true));
    expect((await got)["grpc-status"]).toBe("3");
    const broken = await send(logs("not gzip"), { encoding: "gzip" });
    expect([broken.code, broken.message]).toEqual([
      codes.INVALID_ARGUMENT,
      expect.stringContaining("the body is not whole gzip"),
    ]);
  });

  test.each([
    ["/opentelemetry.proto.collector.logs.v1.LogsService/Import"],
    ["/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"],
    ["/v1/logs"],
    ["/grpc.health.v1.Health/Watch"],
  ])("the method %s, which does not exist", async (method) => {
    const got = await client.call(method, new Uint8Array(0), { token: server.adminToken });
    expect([got.httpStatus, got.code]).toEqual([200, codes.UNIMPLEMENTED]);
  });

  test("bytes that are no message, or more than one", async () => {
    const sendRaw = async (bytes: Buffer) => {
      const stream = client.open(exportMethods.logs, { token: server.adminToken });
      const got = new Promise<Record<string, unknown>>((resolve) => stream.on("response", resolve));
      stream.end(bytes);
      const headers = await got;
      return [headers["grpc-status"], decodeURIComponent(String(headers["grpc-message"]))];
    };
    const message = framed(logs("raw"));
    expect(await sendRaw(Buffer.alloc(0))).toEqual(["3", "the body holds no gRPC message"]);
    expect(await sendRaw(message.subarray(0, 3))).toEqual(["3", "the body holds no gRPC message"]);
    expect(await sendRaw(message.subarray(0, -1))).toEqual(["3", expect.stringContaining("was cut short")]);
    expect(await sendRaw(Buffer.from("hello world"))).toEqual([
      "3",
      expect.stringContaining("does not begin"),
    ]);
    expect(await sendRaw(Buffer.concat([message, message]))).toEqual([
      "3",
      expect.stringContaining("one message"),
    ]);
    expect(await foundOf("raw")).toHaveLength(0);
  });

  test("requests that are not of gRPC", async () => {
    const statusOf = (headers: Record<string, string>) =>
      new Promise((resolve) => {
        const stream = client.session.request({ ":path": exportMethods.logs, ...headers });
        stream.on("error", () => undefined).on("response", (got) => resolve(got[":status"]));
        stream.end();
      });
    expect(await statusOf({ ":method": "GET" })).toBe(405);
    expect(await statusOf({ ":method": "POST", "content-type": "application/json" })).toBe(415);
    expect(await statusOf({ ":method": "POST", "content-type": "application/grpc+json" })).toBe(415);
  });

  test("a head that is too long", async () => {
    const got = await send(logs("head"), { metadata: { long: "x".repeat(20_000) } });
    expect([got.code, got.retrySeconds]).toEqual([codes.INVALID_ARGUMENT, undefined]);
  });

  test("what goes beyond the token's limits: to be sent again after the time that is named", async () => {
    const token = await makeToken({ role: "ingest", rowsPerSecond: 1 });
    const times = Array.from({ length: 12 }, (_, i) => now + i);
    expect((await send(logs("limit 1", times), { token })).code).toBe(codes.OK);
    const limited = await send(logs("limit 2"), { token });
    expect(limited.code).toBe(codes.RESOURCE_EXHAUSTED);
    expect(limited.retrySeconds).toBeGreaterThan(0);
    expect(limited.message).toContain("the sender's token may send 1 rows a second");
    expect(await foundOf("limit 2")).toHaveLength(0);
  });
});

describe("beside the exports", () => {
  const check = (service: string) => {
    const name = Buffer.from(service);
    const request = Buffer.concat([Buffer.of(0x0a, name.length), name]);
    return client.call("/grpc.health.v1.Health/Check", service === "" ? Buffer.alloc(0) : request);
  };

  test("the health service says that the server serves, without a token", async () => {
    const logsService = "opentelemetry.proto.collector.logs.v1.LogsService";
    for (const service of ["", logsService]) {
      const got = await check(service);
      expect([got.code, got.body]).toEqual([codes.OK, Buffer.of(0x08, 1)]);
    }
    expect((await check("other.Service")).code).toBe(codes.NOT_FOUND);
    const broken = await client.call("/grpc.health.v1.Health/Check", Buffer.of(0x0a, 99));
    expect(broken.code).toBe(codes.INVALID_ARGUMENT);
  });

  test("metrics count calls by method and status", async () => {
    const text = await metricsText();
    const count = (status: string) =>
      Number(
        new RegExp(
          `svc_grpc_requests_total\\{route="${exportMethods.logs}",status="${status}"\\} (\\d+)`,
        ).exec(text)?.[1],
      );
    expect(count("OK")).toBeGreaterThan(300);
    expect(count("UNAUTHENTICATED")).toBe(2);
    expect(count("PERMISSION_DENIED")).toBe(1);
    expect(count("RESOURCE_EXHAUSTED")).toBe(1);
    expect(text).toContain('svc_grpc_requests_total{route="none",status="UNIMPLEMENTED"} 4');
    expect(text).toContain("svc_grpc_connections 1");
    expect(text).toContain("svc_http_body_bytes_held 0");
  });
});

function encodeMetrics(metric: object): Buffer {
  const type = otlp.lookupType("MetricsRequest");
  const request = { resourceMetrics: [{ scopeMetrics: [{ metrics: [metric] }] }] };
  return Buffer.from(type.encode(type.fromObject(request)).finish());
}

async function seriesOf(query: string): Promise<[object, number | undefined][]> {
  const { series } = (
    await post<{ series: { labels: object; points: [number, number][] }[] }>(server, "timeseries", {
      query,
      bucketSize: 86_400,
      startTime: now - 3_600_000,
      endTime: now + 3_600_000,
    })
  ).json;
  return series.map(({ labels, points }) => [labels, points[0]?.[1]]);
}
