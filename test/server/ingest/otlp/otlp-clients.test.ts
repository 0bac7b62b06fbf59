/** The official OpenTelemetry SDK and its exporters as clients: searches find what they sent. */
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { OTLPLogExporter as JsonLogs } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as ProtobufLogs } from "@opentelemetry/exporter-logs-otlp-proto";
import { OTLPMetricExporter as JsonMetrics } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter as ProtobufMetrics } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter as JsonTraces } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufTraces } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import {
  AggregationTemporality,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../../running.ts";
import { call, search, startServer } from "../../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

function options(path: string) {
  return { url: `${server.url}${path}`, headers: { Authorization: `Bearer ${server.adminToken}` } };
}

describe.each([
  { form: "protobuf", Logs: ProtobufLogs, Traces: ProtobufTraces, Metrics: ProtobufMetrics },
  { form: "json", Logs: JsonLogs, Traces: JsonTraces, Metrics: JsonMetrics },
])("exporters of $form", ({ form, Logs, Traces, Metrics }) => {
  const resource = resourceFromAttributes({
    "k8s.namespace.name": "shop",
    "k8s.deployment.name": `cart-${form}`,
  });
  const service = `/k8s/shop/cart-${form}`;

  test("logs", async () => {
    const exporter = new Logs({ ...options("/v1/logs") });
    const provider = new LoggerProvider({
      resource,
      processors: [new BatchLogRecordProcessor({ exporter })],
    });
    const logger = provider.getLogger("checkout", "1.2.3");
    for (let i = 0; i < 1_000; i++) {
      logger.emit({
        severityNumber: 13,
        severityText: "WARN",
        body: `order ${i} is late`,
        attributes: { "order.id": i, paid: true, amount: 1.5, tags: ["a", "b"] },
      });
    }
    await provider.shutdown();
    const { logs } = (await search(server, { query: `logs{service.name="${service}"}`, limit: 1_000 })).json;
    expect(new Set(logs.map(({ message }) => message)).size).toBe(1_000);
    expect(logs.find(({ message }) => message === "order 7 is late")).toMatchObject({
      log_level: "WARN",
      attributes: {
        "order.id": "7",
        paid: "true",
        amount: "1.5",
        tags: '["a","b"]',
        "otel.scope.name": "checkout",
        "otel.scope.version": "1.2.3",
        "k8s.deployment.name": `cart-${form}`,
      },
    });
  });

  test("traces", async () => {
    const exporter = new Traces({ ...options("/v1/traces") });
    const provider = new TracerProvider({ resource, spanProcessors: [new BatchSpanProcessor({ exporter })] });
    const span = provider.getTracer("checkout").startSpan("POST /order", { kind: SpanKind.SERVER });
    span.setAttribute("http.response.status_code", 500);
    span.addEvent("retry", { attempt: 2 });
    span.setStatus({ code: SpanStatusCode.ERROR, message: "no stock" });
    span.end();
    await provider.shutdown();
    const { traceId, spanId } = span.spanContext();
    const { rows } = await server.service.store.search({
      signal: "traces",
      fromNs: 0n,
      toNs: 2n ** 62n,
      steps: [],
      limit: 10,
    });
    const found = rows.find(({ attributes }) => attributes.trace_id === traceId)!;
    expect(found.attributes).toMatchObject({
      span_id: spanId,
      name: "POST /order",
      kind: "server",
      status_code: "error",
      status_message: "no stock",
      "http.response.status_code": "500",
      "service.name": service,
    });
    expect(JSON.parse(found.attributes.events!)).toMatchObject([
      { name: "retry", attributes: { attempt: 2 } },
    ]);
  });

  test("metrics", async () => {
    const exporter = new Metrics({
      ...options("/v1/metrics"),
      temporalityPreference: AggregationTemporality.DELTA,
    });
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    const provider = new MeterProvider({ resource, readers: [reader] });
    const meter = provider.getMeter("checkout");
    meter.createCounter(`${form}_orders`).add(3, { region: "eu" });
    meter.createHistogram(`${form}_seconds`, { unit: "s" }).record(0.3, { region: "eu" });
    meter.createGauge(`${form}_stock`).record(42, { region: "eu" });
    await provider.shutdown();
    const value = async (query: string) => {
      const got = await call<{ series: { points: [number, number][] }[] }>(
        server,
        "/api/v1/query/timeseries",
        {
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({
            query,
            startTime: Date.now() - 600_000,
            endTime: Date.now() + 600_000,
            bucketSize: 86_400,
          }),
        },
      );
      return got.json.series[0]?.points[0]?.[1];
    };
    expect(await value(`sum(${form}_orders{service.name="${service}", region="eu"})`)).toBe(3);
    expect(await value(`avg(${form}_stock{region="eu"})`)).toBe(42);
    expect(await value(`sum(increase(${form}_seconds_count{region="eu"}))`)).toBe(1);
    expect(await value(`sum(increase(${form}_seconds_bucket{le="5"}))`)).toBe(1);
  });
});
