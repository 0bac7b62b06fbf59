/** Paths of other products that are not taken, or taken elsewhere: an error names the product and the right path. */

/** The first pattern that fits counts. */
const foreignPaths: readonly (readonly [pattern: RegExp, product: string, advice: string])[] = [
  [
    /^\/services\/collector(?:\/|$)/,
    "Splunk's HTTP event collector",
    "POST /services/collector takes events",
  ],
  [/^\/services\//, "Splunk's management API", "it is not there"],
  [/^\/api\/v[12]\/(?:series|distribution_points|check_run)$/, "Datadog's metrics", otlpMetrics()],
  [/^\/api\/v0\.2\/(?:traces|stats)$|^\/v0\.\d\/traces$/, "Datadog's traces", otlpSpans()],
  [
    /^\/(?:v1\/input\/[^/]+|api\/v2\/(?:input|logs))\//,
    "Datadog's log intake",
    "POST /api/v2/logs takes logs",
  ],
  [/^\/api\/v1\/spans$/, "Zipkin's API v1", "POST /api/v2/spans takes spans of v2"],
  [
    /^\/(?:jaeger\.|opentelemetry\.proto\.)/,
    "gRPC",
    "OTLP over gRPC is taken on a port of its own, 4317; over HTTP at /v1/logs, /v1/traces and /v1/metrics",
  ],
  [/^\/(?:otlp|api\/v1\/otlp|v1\/otlp)\//, "OTLP", "it is taken at /v1/logs, /v1/traces and /v1/metrics"],
  [/^\/(?:insert|select)\//, "VictoriaLogs", "POST /api/v1/ingest/logs takes JSON lines"],
  [/^\/loki\/|^\/api\/prom\//, "Loki", "POST /loki/api/v1/push takes entries"],
  [
    /^\/(?:api\/v1\/(?:push|receive)|prometheus\/|receive$)/,
    "remote write",
    "POST /api/v1/write takes samples",
  ],
  [/^\/api\/put$/, "OpenTSDB", otlpMetrics()],
  [/^\/metrics\/job\//, "Prometheus' Pushgateway", otlpMetrics()],
  [/^\/api\/v3\/write_lp$|^\/write\//, "InfluxDB", "POST /write and /api/v2/write take lines"],
  [/^\/(?:_cat|_nodes|_search|_msearch|_count|_mapping|_aliases|_cluster)(?:\/|$)/, "Elasticsearch", bulk()],
  [
    /^\/[^/]+\/(?:_search|_count|_update|_mapping|_settings|_refresh|_alias)(?:\/|$)/,
    "Elasticsearch",
    bulk(),
  ],
];

function otlpMetrics(): string {
  return "POST /v1/metrics (OTLP), /api/v1/write and /write take metrics";
}

function otlpSpans(): string {
  return "POST /v1/traces (OTLP) and /api/v2/spans (Zipkin) take spans";
}

function bulk(): string {
  return "only documents are taken, at POST /_bulk; POST /api/v1/query/logs searches them";
}

/** What a path of another product should be, as the end of a sentence; undefined for any other path. */
export function describeForeignPath(path: string): string | undefined {
  const found = foreignPaths.find(([pattern]) => pattern.test(path));
  return found === undefined ? undefined : `it looks like ${found[1]}: ${found[2]}`;
}
