/** A complete resource of each kind, with every field that the specification and the API name. */

export const alert = {
  metadata: {
    name: "High errors",
    description: "Too many errors",
    id: "11111111-1111-4111-8111-111111111111",
  },
  type: "timeseries",
  investigateOnFire: true,
  timeseries: {
    expression: {
      svcQLTimeseries: { query: 'count(logs{log_level="error"}) by (service.name)', bucketSize: 60 },
    },
    evaluationRules: [
      {
        name: "critical",
        type: "static",
        static: {
          operators: [{ operator: "greaterThan", threshold: 10.5 }],
          persistenceSettings: {
            datapointsToAlarm: 2,
            datapointsInEvaluationWindow: 3,
            missingDatapointBehavior: "notBreaching",
          },
        },
        actions: [
          { type: "slack", slackDestination: { channel: "#ops", notifyOnResolve: true } },
          { type: "email", emailDestination: { emails: ["ops@example.com"] } },
          { type: "pagerDuty", pagerDutyDestination: { routingKey: "R0", anything: { else: [1] } } },
        ],
      },
    ],
  },
};

const series = { queryMode: "svcql", svcQLQueries: [{ query: "count(logs)", bucketSize: 60 }] };
const at = (x: number, y: number) => ({ type: "absolute", absolute: { x, y, w: 12, h: 4 } });

export const dashboard = {
  settings: { hideGlobalEnvironmentSelector: false, defaultTimeRange: "1h", layoutVersion: 2 },
  metadata: { id: "shop", title: "Shop", folderPath: "/dashboards/shop/checkout/" },
  content: {
    title: "Shop",
    description: "All of it",
    variables: [
      {
        name: "service",
        defaultValue: "/k8s/shop/cart",
        overridable: true,
        selectorSettings: { metricName: "logs", attribute: "service.name" },
      },
      { name: "threshold", values: ["5", "10"] },
      { name: "pod", query: "count(logs) by (k8s.pod.name)" },
    ],
    widgets: [
      {
        type: "chart",
        position: at(0, 0),
        chart: {
          title: "Errors",
          chartType: "line",
          expression: {
            queryMode: "svcql",
            svcQLQueries: [{ query: 'count(logs{service.name="$service"}) > $threshold', bucketSize: 60 }],
          },
        },
      },
      { type: "chart", position: at(12, 0), chart: { chartType: "area", expression: series } },
      {
        type: "chart",
        chart: { chartType: "bar", expression: { queryMode: "promql", promQLQueries: [{ query: "up" }] } },
      },
      { type: "markdown", markdown: { content: "# Shop" } },
      { type: "stat", stat: { title: "Rows", expression: series, unit: "rows" } },
      { type: "table", table: { expression: { svcQLQueries: [{ query: "logs |= `x`" }] } } },
      { type: "gauge", gauge: { expression: series, min: 0, max: 10 } },
      { type: "barGauge", barGauge: { expression: series } },
      { type: "pie", pie: { expression: series } },
      {
        type: "trace",
        trace: { expression: { svcQLQueries: [{ query: 'traces{service.name="$service"}' }] } },
      },
      { type: "log", log: { expression: { svcQLQueries: [{ query: "error -debug" }] } } },
      {
        type: "group",
        position: at(0, 4),
        group: {
          title: "Inner",
          widgets: [{ type: "markdown", markdown: { content: "*", alsoKept: null } }],
        },
      },
    ],
  },
  somethingLater: { kept: ["as", "sent", null, 1.5] },
};

export const webhook = {
  id: "ops-hook",
  url: "https://hooks.example.com/$alert_name?state=$alert_state",
  displayName: "Ops",
  method: "POST",
  headers: { Authorization: "Bearer abc", "X-Team": "ops" },
  body: '{"text": "$alert_message"}',
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
};

const group = { name: "developers", oidcMappings: ["dev", "oncall"] };

const telemetryRule = {
  id: "shop-logs",
  displayName: "Shop",
  type: "namespace",
  groups: ["developers"],
  cluster: "prod",
  namespace: "shop",
  rules: [
    {
      signals: ["logs", "metrics", "traces", "profiles", "kubernetesResources"],
      match: { matchExpressions: [{ key: "service.name", operator: "In", values: ["/k8s/shop/cart"] }] },
    },
  ],
};

const resourceRule = {
  id: "shop-dashboards",
  type: "cluster",
  groups: ["developers"],
  cluster: "prod",
  rules: [
    {
      resources: ["alerts", "dashboards", "webhooks"],
      verbs: ["create", "read", "update", "delete"],
      path: "/shop/",
    },
  ],
};

export const ingestionRule = {
  id: "no-probes",
  displayName: "Probes",
  cluster: "prod",
  rules: [
    {
      signals: ["logs", "traces"],
      action: "Exclude",
      match: {
        matchExpressions: [
          { key: "service.name", operator: "In", values: ["/k8s/shop/probe"] },
          { key: "http.route", operator: "RegexIn", values: ["^/health"] },
        ],
      },
    },
    { signals: ["logs"], action: "Exclude" },
  ],
};

export const silence = {
  id: "night",
  comment: "planned work",
  startsAt: 1_800_000_000_000,
  endsAt: 1_800_003_600_000,
  alertIds: [alert.metadata.id],
  match: { matchExpressions: [{ key: "service.name", operator: "In", values: ["/k8s/shop/cart"] }] },
};

const route = {
  id: "payments-at-work",
  displayName: "The payments team, at work",
  match: { matchExpressions: [{ key: "team", operator: "In", values: ["payments"] }] },
  actions: [
    { type: "email", emailDestination: { emails: ["payments@shop.example"], notifyOnResolve: true } },
  ],
  groupBy: ["service.name"],
  groupWaitSeconds: 30,
  repeatSeconds: 14_400,
  muteTimes: [
    { days: ["saturday", "sunday"], timeZone: "Europe/Berlin" },
    { from: "18:00", to: "08:00", timeZone: "Europe/Berlin" },
  ],
};

const inhibition = {
  id: "cluster-down",
  displayName: "A cluster that is down explains the rest",
  source: { matchExpressions: [{ key: "alert.name", operator: "In", values: ["Cluster down"] }] },
  target: { matchExpressions: [{ key: "severity", operator: "In", values: ["warning", "info"] }] },
  equal: ["k8s.cluster.name"],
};

export const savedSearch = {
  id: "cart-errors",
  name: "Errors of the cart",
  description: "What wakes us",
  folderPath: "/saved-searches/shop/",
  signal: "logs",
  query: 'logs{log_level="error", service.name="/k8s/shop/cart"} | json',
  timeRange: { from: "-1h", to: "now" },
  columns: ["log_level", "service.name", "message"],
};

/** Every kind of stored resource: its path, its name, its style of writing, and the sample's id. */
export const kinds = [
  { name: "alert", path: "/alerts", plural: "alerts", style: "upsert", id: alert.metadata.id, sample: alert },
  {
    name: "dashboard",
    path: "/dashboards",
    plural: "dashboards",
    style: "upsert",
    id: dashboard.metadata.id,
    sample: dashboard,
  },
  {
    name: "webhook",
    path: "/webhooks",
    plural: "webhooks",
    style: "create",
    id: webhook.id,
    sample: webhook,
  },
  { name: "group", path: "/groups", plural: "groups", style: "create", id: group.name, sample: group },
  {
    name: "telemetryRule",
    path: "/telemetry-rules",
    plural: "telemetryRules",
    style: "create",
    id: telemetryRule.id,
    sample: telemetryRule,
  },
  {
    name: "resourceRule",
    path: "/resource-rules",
    plural: "resourceRules",
    style: "create",
    id: resourceRule.id,
    sample: resourceRule,
  },
  {
    name: "ingestionRule",
    path: "/ingestion-rules",
    plural: "ingestionRules",
    style: "create",
    id: ingestionRule.id,
    sample: ingestionRule,
  },
  {
    name: "silence",
    path: "/silences",
    plural: "silences",
    style: "create",
    id: silence.id,
    sample: silence,
  },
  { name: "route", path: "/routes", plural: "routes", style: "create", id: route.id, sample: route },
  {
    name: "inhibition",
    path: "/inhibitions",
    plural: "inhibitions",
    style: "create",
    id: inhibition.id,
    sample: inhibition,
  },
  {
    name: "savedSearch",
    path: "/saved-searches",
    plural: "savedSearches",
    style: "create",
    id: savedSearch.id,
    sample: savedSearch,
  },
] as const;
