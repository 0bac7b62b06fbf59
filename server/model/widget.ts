/** Widgets of a dashboard. Objects are open: what is not known is kept as it was sent. */

import * as z from "zod";
import { bucketSecondsMax, dashboardQueriesMax, widgetsMax } from "./limits.ts";
import { integer, longText, open } from "./schema.ts";

const position = open({
  type: z.literal("absolute").optional(),
  absolute: open({ x: integer.min(0), y: integer.min(0), w: integer.min(1), h: integer.min(1) }).optional(),
});

const query = open({ query: longText, bucketSize: integer.min(0).max(bucketSecondsMax).optional() });

/** Queries in PromQL are kept as they are. */
const expression = open({
  queryMode: z.enum(["svcql", "promql"]).optional(),
  svcQLQueries: z.array(query).max(dashboardQueriesMax).optional(),
});

const titled = { title: longText.optional(), description: longText.optional() };
const queried = open({ ...titled, expression });
const measured = open({ ...titled, expression, min: z.number().optional(), max: z.number().optional() });

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

const group = open({
  type: z.literal("group"),
  ...placed,
  group: open({
    ...titled,
    get widgets(): z.ZodOptional<z.ZodArray<z.ZodType<Widget>>> {
      return z.array(widget).max(widgetsMax).optional();
    },
  }),
});

const kinds = [
  open({
    type: z.literal("markdown"),
    ...placed,
    markdown: open({ ...titled, content: longText.optional() }),
  }),
  open({
    type: z.literal("chart"),
    ...placed,
    chart: open({ ...titled, chartType: z.enum(["line", "area", "bar"]), expression }),
  }),
  open({ type: z.literal("stat"), ...placed, stat: queried }),
  open({ type: z.literal("table"), ...placed, table: queried }),
  open({ type: z.literal("gauge"), ...placed, gauge: measured }),
  open({ type: z.literal("barGauge"), ...placed, barGauge: measured }),
  open({ type: z.literal("pie"), ...placed, pie: queried }),
  open({
    type: z.literal("trace"),
    ...placed,
    trace: open({ ...titled, traceId: longText.optional(), expression: expression.optional() }),
  }),
  open({ type: z.literal("log"), ...placed, log: queried }),
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
