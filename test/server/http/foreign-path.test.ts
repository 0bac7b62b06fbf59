/** Paths of other products: the error names the product and the right path. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, type Running, startServer } from "../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

test.each([
  ["/api/v1/series", "Datadog's metrics: POST /v1/metrics (OTLP), /api/v1/write and /write take metrics"],
  ["/v0.4/traces", "Datadog's traces: POST /v1/traces (OTLP) and /api/v2/spans (Zipkin) take spans"],
  ["/api/v2/logs/some-key", "Datadog's log intake: POST /api/v2/logs takes logs"],
  ["/services/collector/mint", "Splunk's HTTP event collector: POST /services/collector takes events"],
  ["/api/v1/spans", "Zipkin's API v1: POST /api/v2/spans takes spans of v2"],
  ["/logs-app/_search", "Elasticsearch: only documents are taken, at POST /_bulk"],
  [
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "gRPC: OTLP over gRPC is taken on a port of its own, 4317",
  ],
  ["/loki/api/v1/query_range", "Loki: POST /loki/api/v1/push takes entries"],
  ["/api/v3/write_lp", "InfluxDB: POST /write and /api/v2/write take lines"],
])("%s", async (path, product) => {
  const got = await call<{ error: string }>(server, path);
  expect(got.status).toBe(404);
  expect(got.json.error).toContain(`there is nothing at ${JSON.stringify(path)}; it looks like ${product}`);
});
