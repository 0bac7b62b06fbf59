/** Dashboards (interface specification, section 2.2). Objects are open: unknown fields are stored as they were sent. */

import * as z from "zod";
import {
  detectQueryKind,
  planLogs,
  planSearch,
  planTimeseries,
  QueryError,
  type QueryKind,
} from "../../query/index.ts";
import { makeFieldRefusal, Refusal } from "../throttle/refusal.ts";
import { dashboardQueriesMax, layoutColumns, listedMax, widgetsMax } from "./limits.ts";
import { refuseQuery } from "./query-refusal.ts";
import { sentId } from "./resource-id.ts";
import { longText, nameText, openObject } from "./schema.ts";
import { expressionOf, type Widget, widget } from "./widget.ts";

const variable = openObject({
  /** Name of the variable, which queries use as `$name`. */
  name: z
    .string()
    .max(100)
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be a name of letters, digits and _, not beginning with a digit"),
  defaultValue: longText.optional(),
  overridable: z.boolean().optional(),
  /** Values to choose from. */
  values: z.array(longText).max(10_000).optional(),
  /** Takes the values from an attribute, of one metric or signal where that is named. */
  selectorSettings: openObject({
    metricName: longText.optional(),
    attribute: longText.optional(),
  }).optional(),
  /** A timeseries query whose labels are the values. */
  query: longText.optional(),
});

const content = openObject({
  title: longText.optional(),
  description: longText.optional(),
  variables: z.array(variable).max(listedMax).optional(),
  widgets: z.array(widget).max(widgetsMax).optional(),
});

const folder = /^\/dashboards\/(?:[^/\p{Cc}]+\/)*$/u;

export const dashboardShape = openObject({
  settings: openObject({
    hideGlobalEnvironmentSelector: z.boolean().optional(),
    defaultTimeRange: z
      .string()
      .max(40)
      .regex(/^(?:\d+[smhdw])+$/, "must be a duration such as 1h, 30m or 7d")
      .optional(),
    layoutVersion: z.literal([1, 2]).optional(),
  }).optional(),
  metadata: openObject({
    id: sentId.optional(),
    title: nameText,
    folderPath: z
      .string()
      .max(1_000)
      .regex(folder, "must be a folder such as /dashboards/shop/ or /dashboards/shop/checkout/")
      .optional(),
  }),
  content: content.optional(),
}).meta({ id: "Dashboard" });

export type Dashboard = z.infer<typeof dashboardShape>;
type Content = z.infer<typeof content>;

/** Folders below it hold dashboards that Kubernetes manages. */
export const managedFolder = "/dashboards/kubernetes-managed/";

/** Checks what the schema cannot express. Throws Refusal 400 naming the field below `path`; returns warnings. */
export function checkDashboard({ settings, content: root }: Dashboard, path: string): string[] {
  if (root === undefined) return [];
  const at = `${path}.content`;
  const variables = variableValues(root, at);
  const check = new DashboardCheck(variables, settings?.layoutVersion === 2);
  for (const [i, { query }] of (root.variables ?? []).entries()) {
    if (query !== undefined) check.query(query, "series", `${at}.variables[${i}].query`);
  }
  check.widgets(root.widgets ?? [], `${at}.widgets`);
  return check.warnings;
}

/** A value for each variable, so that queries can be planned. */
function variableValues(root: Content, path: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const [i, { name, defaultValue, values: choices }] of (root.variables ?? []).entries()) {
    if (values.has(name)) {
      throw makeFieldRefusal(`${path}.variables[${i}].name`, `must be unique: $${name} comes twice`);
    }
    values.set(name, defaultValue || choices?.[0] || anyValue);
  }
  return values;
}

/** Valid wherever a query takes a variable: a number, and as a text also a label's value. */
const anyValue = "1";

/** What a query of a widget returns. */
type Returns = QueryKind | "either";

/** Checks the widgets and queries of one dashboard, counts them, and collects warnings. */
class DashboardCheck {
  readonly warnings: string[] = [];
  readonly #variables: Readonly<Record<string, string>>;
  readonly #universal: Readonly<Record<string, string>>;
  readonly #hasColumns: boolean;
  #widgets = 0;
  #queries = 0;

  constructor(variables: ReadonlyMap<string, string>, hasColumns: boolean) {
    this.#variables = Object.fromEntries(variables);
    this.#universal = Object.fromEntries([...variables.keys()].map((name) => [name, anyValue]));
    this.#hasColumns = hasColumns;
  }

  widgets(widgets: readonly Widget[], path: string): void {
    this.#widgets += widgets.length;
    if (this.#widgets > widgetsMax) {
      throw makeFieldRefusal(path, `must have at most ${widgetsMax} widgets, those in groups too`);
    }
    for (const [i, each] of widgets.entries()) this.#widget(each, `${path}[${i}]`);
  }

  #widget(of: Widget, path: string): void {
    const { x = 0, w = 1 } = of.position?.absolute ?? {};
    if (this.#hasColumns && x + w > layoutColumns) {
      const problem = `${path}.position.absolute reaches beyond column ${layoutColumns}`;
      throw new Refusal(400, `${problem}: x ${x} and w ${w} make ${x + w} (settings.layoutVersion is 2)`);
    }
    if (of.type === "group") this.widgets(of.group.widgets ?? [], `${path}.group.widgets`);
    const expression = expressionOf(of);
    if (expression === undefined || expression.queryMode === "promql") return;
    const queries = `${path}.${of.type}.expression.svcQLQueries`;
    if (expression.svcQLQueries === undefined) throw makeFieldRefusal(queries, "is required: an array");
    for (const [i, { query }] of expression.svcQLQueries.entries()) {
      this.query(query, returnsOf(of.type), `${queries}[${i}].query`);
    }
  }

  /** Plans the query with the variables' default values; where that fails, with a value that fits everywhere. */
  query(query: string, returns: Returns, path: string): void {
    this.#queries++;
    if (this.#queries > dashboardQueriesMax) {
      throw makeFieldRefusal(path, `must have at most ${dashboardQueriesMax} queries`);
    }
    const warnings = refuseQuery(path, () => {
      try {
        return planQuery(query, returns, this.#variables);
      } catch (error) {
        if (!canPlan(query, returns, this.#universal)) throw error;
        return [];
      }
    });
    this.warnings.push(...warnings.map((warning) => `${path}: ${warning}`));
  }
}

function returnsOf(type: Widget["type"]): Returns {
  if (type === "log") return "logs";
  if (type === "trace") return "spans";
  return type === "table" ? "either" : "series";
}

function canPlan(query: string, returns: Returns, variables: Readonly<Record<string, string>>): boolean {
  try {
    planQuery(query, returns, variables);
    return true;
  } catch (error) {
    if (error instanceof QueryError) return false;
    throw error;
  }
}

/** Plans the query and returns the warnings. Throws QueryError. */
function planQuery(query: string, returns: Returns, variables: Readonly<Record<string, string>>): string[] {
  const options = { variables };
  const kind = returns === "either" ? detectQueryKind(query) : returns;
  switch (kind) {
    case "logs":
      return planLogs(query, options).warnings;
    case "spans":
      return planSearch("traces", query, options).warnings;
    case "profiles":
    case "kubernetes_resources":
      return planSearch(kind, query, options).warnings;
    case "series":
      return planTimeseries(query, options).warnings;
  }
}
