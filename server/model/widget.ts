/** Widgets of a dashboard. Objects are open: what is not known is kept as it was sent. */

import * as z from "zod";
import { bucketSecondsMax, dashboardQueriesMax, widgetsMax } from "./limits.ts";
import { integer, longText, openObject } from "./schema.ts";

const position = openObject({
  type: z.literal("absolute").optional(),
  absolute: openObject({
    x: integer.min(0),
    y: integer.min(0),
    w: integer.min(1),
    h: integer.min(1),
  }).optional(),
});

const query = openObject({ query: longText, bucketSize: integer.min(0).max(bucketSecondsMax).optional() });

/** Queries in PromQL are kept as they are. */
const expression = openObject({
  queryMode: z.enum(["svcql", "promql"]).optional(),
  svcQLQueries: z.array(query).max(dashboardQueriesMax).optional(),
});

const titled = { title: longText.optional(), description: longText.optional() };
const queried = openObject({ ...titled, expression });
const measured = openObject({
  ...titled,
  expression,
  min: z.number().optional(),
  max: z.number().optional(),
});

const placed = { position: position.optional() };

/** TypeScript cannot infer a type that holds itself. */
interface GroupWidget {
  [kept: string]: unknown;
  type: "group";
  position?: z.infer<typeof position> | undefined;
  group: {
    [kept: string]: unknown;
    title?: string | undefined;
    description?: string | undefined;
    widgets?: Widget[] | undefined;
  };
}

const group = openObject({
  type: z.literal("group"),
  ...placed,
  group: openObject({
    ...titled,
    get widgets(): z.ZodOptional<z.ZodArray<z.ZodType<Widget>>> {
      return z.array(widget).max(widgetsMax).optional();
    },
  }),
});

const kinds = [
  openObject({
    type: z.literal("markdown"),
    ...placed,
    markdown: openObject({ ...titled, content: longText.optional() }),
  }),
  openObject({
    type: z.literal("chart"),
    ...placed,
    chart: openObject({ ...titled, chartType: z.enum(["line", "area", "bar"]), expression }),
  }),
  openObject({ type: z.literal("stat"), ...placed, stat: queried }),
  openObject({ type: z.literal("table"), ...placed, table: queried }),
  openObject({ type: z.literal("gauge"), ...placed, gauge: measured }),
  openObject({ type: z.literal("barGauge"), ...placed, barGauge: measured }),
  openObject({ type: z.literal("pie"), ...placed, pie: queried }),
  openObject({
    type: z.literal("trace"),
    ...placed,
    trace: openObject({ ...titled, traceId: longText.optional(), expression: expression.optional() }),
  }),
  openObject({ type: z.literal("log"), ...placed, log: queried }),
] as const;

export type Widget = GroupWidget | z.infer<(typeof kinds)[number]>;

export const widget: z.ZodType<Widget> = z
  .discriminatedUnion("type", [group, ...kinds])
  .meta({ id: "Widget" });

export type WidgetExpression = z.infer<typeof expression>;

/** The expression of a widget that has one. */
export function expressionOf(of: Widget): WidgetExpression | undefined {
  switch (of.type) {
    case "group":
    case "markdown":
      return undefined;
    case "chart":
      return of.chart.expression;
    case "stat":
      return of.stat.expression;
    case "table":
      return of.table.expression;
    case "gauge":
      return of.gauge.expression;
    case "barGauge":
      return of.barGauge.expression;
    case "pie":
      return of.pie.expression;
    case "trace":
      return of.trace.expression;
    case "log":
      return of.log.expression;
  }
}
