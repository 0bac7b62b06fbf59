/** Widgets of a dashboard. Objects are open: unknown fields are stored as they were sent. */

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

/** Queries of mode promql are stored unchecked. */
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

const positioned = { position: position.optional() };

/** Written out, since TypeScript cannot infer a recursive type. */
interface GroupWidget {
  [unknownField: string]: unknown;
  type: "group";
  position?: z.infer<typeof position> | undefined;
  group: {
    [unknownField: string]: unknown;
    title?: string | undefined;
    description?: string | undefined;
    widgets?: Widget[] | undefined;
  };
}

const group = openObject({
  type: z.literal("group"),
  ...positioned,
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
    ...positioned,
    markdown: openObject({ ...titled, content: longText.optional() }),
  }),
  openObject({
    type: z.literal("chart"),
    ...positioned,
    chart: openObject({ ...titled, chartType: z.enum(["line", "area", "bar"]), expression }),
  }),
  openObject({ type: z.literal("stat"), ...positioned, stat: queried }),
  openObject({ type: z.literal("table"), ...positioned, table: queried }),
  openObject({ type: z.literal("gauge"), ...positioned, gauge: measured }),
  openObject({ type: z.literal("barGauge"), ...positioned, barGauge: measured }),
  openObject({ type: z.literal("pie"), ...positioned, pie: queried }),
  openObject({
    type: z.literal("trace"),
    ...positioned,
    trace: openObject({ ...titled, traceId: longText.optional(), expression: expression.optional() }),
  }),
  openObject({ type: z.literal("log"), ...positioned, log: queried }),
] as const;

export type Widget = GroupWidget | z.infer<(typeof kinds)[number]>;

export const widget: z.ZodType<Widget> = z
  .discriminatedUnion("type", [group, ...kinds])
  .meta({ id: "Widget" });

export type WidgetExpression = z.infer<typeof expression>;

/** The expression of a widget that has one. */
export function expressionOf(of: Widget): WidgetExpression | undefined {
  if (of.type === "group" || of.type === "markdown") return undefined;
  const { [of.type]: content } = of as unknown as Record<string, { expression?: WidgetExpression }>;
  return content!.expression;
}
