/** Dashboards as the server keeps them, as far as the page reads them. All other members stay as they are. */

import type { Managed } from "../api/managed.ts";

export interface GridPlace {
  x: number;
  y: number;
  w: number;
  h: number;
}

interface WidgetQuery {
  query: string;
  bucketSize?: number;
}

export interface WidgetContent {
  title?: string;
  description?: string;
  chartType?: "line" | "area" | "bar";
  min?: number;
  max?: number;
  unit?: string;
  content?: string;
  traceId?: string;
  expression?: { queryMode?: "svcql" | "promql"; svcQLQueries?: WidgetQuery[] };
  widgets?: KeptWidget[];
}

export const widgetTypes = [
  ...["chart", "stat", "table", "log", "gauge", "barGauge", "pie", "trace", "markdown", "group"],
] as const;

/** A widget: what it shows stands in the member that is named like its type. */
export interface KeptWidget {
  type: string;
  position?: { type?: "absolute"; absolute?: GridPlace };
  [content: string]: unknown;
}

export interface DashboardVariable {
  name: string;
  defaultValue?: string;
  overridable?: boolean;
  values?: string[];
  selectorSettings?: { metricName?: string; attribute?: string };
  query?: string;
}

export interface KeptDashboard {
  settings?: { defaultTimeRange?: string; layoutVersion?: number };
  metadata: { id?: string; title: string; folderPath?: string };
  content?: { title?: string; description?: string; variables?: DashboardVariable[]; widgets?: KeptWidget[] };
}

export interface DashboardAnswer {
  dashboard: KeptDashboard;
  updatedAt: number;
  updatedBy: string;
  managed?: Managed;
}

export interface DashboardsAnswer {
  dashboards: KeptDashboard[];
  managed?: Record<string, Managed & { folderPath?: string }>;
  cursor?: string;
}

/** What a widget shows. */
export function contentOf(widget: KeptWidget): WidgetContent {
  return (widget[widget.type] ?? {}) as WidgetContent;
}
