/** Reads and saves dashboards. */

import { ApiProblem, ask, askWithEtag } from "../api/client.ts";
import type { DashboardAnswer, DashboardsAnswer, KeptDashboard, KeptWidget } from "./answers.ts";
import { freePlace } from "./layout.ts";

const loadedMax = 5_000;

/** All dashboards, or the first of very many. Rejects with ApiProblem. */
export async function loadDashboards(_: undefined, signal: AbortSignal): Promise<DashboardsAnswer> {
  const all: DashboardsAnswer = { dashboards: [], managed: {} };
  for (let cursor: string | undefined; ; ) {
    const asked = new URLSearchParams({ limit: "1000", ...(cursor === undefined ? {} : { cursor }) });
    const page = await ask<DashboardsAnswer>(`/api/v1/dashboards?${asked}`, { signal });
    all.dashboards.push(...page.dashboards);
    Object.assign(all.managed!, page.managed);
    cursor = page.cursor;
    if (cursor === undefined || all.dashboards.length >= loadedMax) return all;
  }
}

/** Saves unless somebody else has saved meanwhile. Returns the id. Rejects with ApiProblem. */
export async function saveDashboard(dashboard: KeptDashboard, ifMatch?: string): Promise<string> {
  try {
    const { id } = await ask<{ id: string }>("/api/v1/dashboards/update", { body: { dashboard }, ifMatch });
    return id;
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status !== 412) throw error;
    throw new ApiProblem(
      "Somebody else has saved this dashboard meanwhile: open it in another tab, and put both together.",
      412,
    );
  }
}

/** What a new chart shows. */
export interface NewChart {
  title: string;
  query: string;
}

/** A chart below the other widgets. */
export function makeChart({ title, query }: NewChart, widgets: readonly KeptWidget[]): KeptWidget {
  return {
    type: "chart",
    position: { type: "absolute", absolute: freePlace(widgets) },
    chart: { title, chartType: "line", expression: { queryMode: "svcql", svcQLQueries: [{ query }] } },
  };
}

/** Adds a chart below all others of a dashboard. Returns the dashboard's id. Rejects with ApiProblem. */
export async function addChart(to: { id: string } | KeptDashboard, chart: NewChart): Promise<string> {
  const kept =
    "metadata" in to
      ? { answer: { dashboard: to }, etag: undefined }
      : await askWithEtag<DashboardAnswer>(`/api/v1/dashboards/${encodeURIComponent(to.id)}`);
  const { dashboard } = kept.answer;
  const widgets = dashboard.content?.widgets ?? [];
  const next = {
    ...dashboard,
    content: { ...dashboard.content, widgets: [...widgets, makeChart(chart, widgets)] },
  };
  return saveDashboard(next, kept.etag);
}
