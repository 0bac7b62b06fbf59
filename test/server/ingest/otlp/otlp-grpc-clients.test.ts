/** The official OpenTelemetry SDK with its exporters over gRPC and their defaults: searches find what they sent. */
import { setTimeout as sleep } from "node:timers/promises";
import { Metadata } from "@grpc/grpc-js";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-grpc";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-grpc";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../../running.ts";
import { post, search, startServer } from "../../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer({ grpcAddress: { host: "127.0.0.1", port: 0, isOptional: false } });
});
afterAll(() => server.stop());

function options(token = server.adminToken) {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  return { url: `http://127.0.0.1:${server.service.grpcPort}`, metadata };
}

describe.each([
  { form: "plain", more: {} },
  // The value of an enumeration of a package that is no dependency here.
  { form: "gzip", more: { compression: "gzip" as never } },
])("exporters, $form", ({ form, more }) => {
  const service = `/k8s/shop/cart-${form}`;
  const resource = resourceFromAttributes({
    "k8s.namespace.name": "shop",
    "k8s.deployment.name": `cart-${form}`,
  });
  const ofResource = {
    "k8s.namespace.name": "shop",
    "k8s.deployment.name": `cart-${form}`,
    "service.name": service,
  };
  const ofScope = { "otel.scope.name": "checkout", "otel.scope.version": "1.2.3" };

  test("logs", async () => {
    const exporter = new OTLPLogExporter({ ...options(), ...more });
    const provider = new LoggerProvider({
      resource,
      processors: [new BatchLogRecordProcessor({ exporter })],
    });
    const logger = provider.getLogger("checkout", "1.2.3");
    const sent = Array.from({ length: 1_000 }, (_, i) => ({ i, timestamp: Date.now() - 1_000 + i }));
    for (const { i, timestamp } of sent) {
      logger.emit({
        timestamp,
        severityNumber: 13,
        severityText: "WARN",
        body: `order ${i} is late`,
        attributes: { "order.id": i, paid: true, amount: 1.5, tags: ["a", "b"] },
      });
    }
    await provider.shutdown();
    const { logs } = (await search(server, { query: `logs{service.name="${service}"}`, limit: 1_000 })).json;
    const found = logs.toSorted(
      (a, b) => Number(a.attributes["order.id"]) - Number(b.attributes["order.id"]),
    );
    expect(found).toEqual(
      sent.map(({ i, timestamp }) => ({
        timestamp,
        log_level: "WARN",
        message: `order ${i} is late`,
        attributes: {
          ...ofResource,
          ...ofScope,
          "order.id": String(i),
          paid: "true",
          amount: "1.5",
          tags: '["a","b"]',
        },
      })),
    );
  });

  test("traces", async () => {
    const exporter = new OTLPTraceExporter({ ...options(), ...more });
    const provider = new TracerProvider({ resource, spanProcessors: [new BatchSpanProcessor({ exporter })] });
    const startTime = Date.now() - 500;
    const spans = Array.from({ length: 20 }, (_, i) => {
      const span = provider.getTracer("checkout", "1.2.3").startSpan(`POST /order/${i}`, {
        kind: SpanKind.SERVER,
        startTime: startTime + i,
      });
      span.setAttribute("http.response.status_code", 500);
      span.addEvent("retry", { attempt: i }, startTime + i + 1);
      span.setStatus({ code: SpanStatusCode.ERROR, message: "no stock" });
      span.end(startTime + 2 * i + 1);
      return span.spanContext();
    });
    await provider.shutdown();
    const got = await post<{ spans: Record<string, unknown>[] }>(server, "traces", {
      query: `{service.name="${service}"}`,
      limit: 100,
    });
    const nanos = (ms: number) => `${ms}000000`;
    expect(got.json.spans.reverse()).toEqual(
      spans.map(({ traceId, spanId }, i) => ({
        traceId,
        spanId,
        parentSpanId: "",
        name: `POST /order/${i}`,
        kind: "server",
        startTimeUnixNano: nanos(startTime + i),
        endTimeUnixNano: nanos(startTime + 2 * i + 1),
        durationMs: i + 1,
        statusCode: "error",
        statusMessage: "no stock",
        attributes: {
          ...ofResource,
          ...ofScope,
          "http.response.status_code": "500",
          events: expect.stringContaining(`"attempt":${i}`),
        },
      })),
    );
  });

  test("metrics: cumulative, whose first increase is counted from their start", async () => {
    const exporter = new OTLPMetricExporter({ ...options(), ...more });
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    const provider = new MeterProvider({ resource, readers: [reader] });
    const meter = provider.getMeter("checkout", "1.2.3");
    const orders = meter.createCounter(`${form}_orders`);
    orders.add(3, { region: "eu" });
    meter.createHistogram(`${form}_seconds`, { unit: "s" }).record(0.3, { region: "eu" });
    meter.createGauge(`${form}_stock`).record(42, { region: "eu" });
    meter.createUpDownCounter(`${form}_open`).add(-2, { region: "eu" });
    // The SDK's clock has milliseconds: a first point at the very start would be of a counter that began before.
    await sleep(5);
    await provider.forceFlush();
    orders.add(4, { region: "eu" });
    await provider.shutdown();
    const value = async (query: string) => {
      const got = await post<{ series: { labels: Record<string, string>; points: [number, number][] }[] }>(
        server,
        "timeseries",
        { query, startTime: Date.now() - 600_000, endTime: Date.now() + 600_000, bucketSize: 86_400 },
      );
      expect(got.json.series).toHaveLength(1);
      return got.json.series[0]!.points.reduce((sum, [, each]) => sum + each, 0);
    };
    const selector = `{service.name="${service}", region="eu", otel.scope.name="checkout"}`;
    expect(await value(`sum(increase(${form}_orders${selector}))`)).toBe(7);
    expect(await value(`sum(increase(${form}_seconds_count${selector}))`)).toBe(1);
    expect(await value(`sum(increase(${form}_seconds_sum${selector}))`)).toBe(0.3);
    expect(await value(`sum(increase(${form}_seconds_bucket{region="eu", le="5"}))`)).toBe(1);
    expect(await value(`avg(${form}_stock${selector})`)).toBe(42);
    expect(await value(`avg(${form}_open${selector})`)).toBe(-2);
  });
});

test("a wrong token is an error that the exporter reports, and does not try again", async () => {
  const exporter = new OTLPLogExporter(options("svc_wrong"));
  const records: unknown[] = [];
  const collecting = new LoggerProvider({
    processors: [
      {
        onEmit: (record) => void records.push(record),
        forceFlush: () => Promise.resolve(),
        shutdown: () => Promise.resolve(),
      },
    ],
  });
  collecting.getLogger("a").emit({ body: "refused" });
  const beganMs = performance.now();
  const { error } = await new Promise<{ error?: Error }>((resolve) =>
    exporter.export(records as never, resolve),
  );
  expect(error?.message).toContain("the token is unknown, expired or revoked");
  expect(performance.now() - beganMs).toBeLessThan(2_000);
  await exporter.shutdown();
});
