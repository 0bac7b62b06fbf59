/** A dashboard and an alert that several tests of the page store. */

const query = (text: string) => ({ expression: { svcQLQueries: [{ query: text, bucketSize: 60 }] } });
const at = (x: number, y: number, w: number, h: number) => ({ absolute: { x, y, w, h } });

/** A dashboard with every kind of widget, variables that depend on each other, and members that no version knows. */
export const board = {
  settings: { layoutVersion: 2, defaultTimeRange: "15m", somethingLater: 1.5 },
  metadata: { id: "board", title: "Shop", folderPath: "/dashboards/shop/" },
  content: {
    variables: [
      {
        name: "service",
        defaultValue: "cart",
        selectorSettings: { metricName: "logs", attribute: "service.name" },
      },
      // Its values depend on the other variable.
      { name: "level", query: 'count(logs{service.name="$service"}) by (log_level)', defaultValue: "info" },
      { name: "fixed", defaultValue: "7", overridable: false },
    ],
    widgets: [
      {
        ...{ type: "chart", position: at(0, 0, 12, 6) },
        chart: { title: "Rows", chartType: "line", ...query('count(logs{service.name="$service"})') },
      },
      {
        type: "stat",
        position: at(12, 0, 4, 6),
        stat: { title: "Errors", ...query('count(logs{log_level="$level"})') },
      },
      {
        type: "gauge",
        position: at(16, 0, 4, 6),
        gauge: { title: "Of ten", max: 10, ...query("count(logs)") },
      },
      {
        ...{ type: "markdown", position: at(20, 0, 4, 6) },
        markdown: {
          title: "Notes",
          content: "# Read\n- **bold** <img src=x onerror=alert(1)>\n- [x](javascript:alert(1))",
        },
      },
      {
        type: "barGauge",
        position: at(0, 6, 6, 6),
        barGauge: { title: "Bars", ...query("count(logs) by (service.name)") },
      },
      {
        type: "pie",
        position: at(6, 6, 6, 6),
        pie: { title: "Shares", ...query("count(logs) by (service.name)") },
      },
      {
        type: "table",
        position: at(12, 6, 6, 6),
        table: { title: "Table", ...query("count(logs) by (service.name)") },
      },
      {
        type: "log",
        position: at(18, 6, 6, 6),
        log: { title: "Log", ...query('{service.name="$service"}') },
      },
      {
        ...{ type: "chart", position: at(6, 12, 6, 6) },
        chart: {
          title: "Foreign",
          chartType: "bar",
          expression: { queryMode: "promql", promQLQueries: [{ query: "up" }] },
        },
      },
      {
        type: "group",
        position: at(0, 18, 24, 8),
        group: { title: "Inner", widgets: [{ type: "markdown", markdown: { content: "within" } }] },
      },
    ],
  },
  alsoLater: { kept: ["as", "sent", null] },
};

export const errorsQuery = 'count(logs{log_level="error"}) by (service.name)';

/** An alert on more than 10 errors in `needed` of three minutes. */
export function alertOf(id: string, needed: number) {
  const persistenceSettings = { datapointsToAlarm: needed, datapointsInEvaluationWindow: 3 };
  return {
    metadata: { id, name: `Errors, ${id}`, description: "Somebody has to look" },
    timeseries: {
      expression: { svcQLTimeseries: { query: errorsQuery, bucketSize: 60 } },
      evaluationRules: [
        {
          name: "critical",
          static: { operators: [{ operator: "greaterThan", threshold: 10 }], persistenceSettings },
          actions: [{ type: "slack", slackDestination: { channel: "#ops" } }],
        },
      ],
    },
  };
}
