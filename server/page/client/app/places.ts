/** The places of the page, and which screen shows each address. */

import type { ComponentType } from "preact";

export interface Place {
  href: string;
  name: string;
  /** The key that goes there, after `g`. */
  key: string;
  /** The paths that belong to it. */
  own: RegExp;
}

/** Those that the navigation shows. */
export const places: readonly Place[] = [
  { href: "/", name: "Search", key: "s", own: /^\/$/ },
  { href: "/traces", name: "Traces", key: "t", own: /^\/traces/ },
  { href: "/metrics/explore", name: "Metrics", key: "m", own: /^\/metrics/ },
  { href: "/dashboards", name: "Dashboards", key: "d", own: /^\/dashboards/ },
  { href: "/alerts", name: "Alerts", key: "a", own: /^\/(?:alerts|silences)/ },
  { href: "/investigations", name: "Investigations", key: "i", own: /^\/investigations/ },
  { href: "/settings/environments", name: "Settings", key: "e", own: /^\/(?:settings|integrations)/ },
];

type LoadScreen = () => Promise<ComponentType>;

const screens: readonly { pattern: RegExp; load: LoadScreen }[] = [
  {
    pattern: /^\/$/,
    load: () => import("../search/search-screen.tsx").then((module) => module.SearchScreen),
  },
  {
    pattern: /^\/traces$/,
    load: () => import("../traces/traces-screen.tsx").then((module) => module.TracesScreen),
  },
  {
    pattern: /^\/traces\/[^/]+$/,
    load: () => import("../traces/trace-screen.tsx").then((module) => module.TraceScreen),
  },
  {
    pattern: /^\/metrics\/explore$/,
    load: () => import("../metrics/metrics-screen.tsx").then((module) => module.MetricsScreen),
  },
  {
    pattern: /^\/dashboards$/,
    load: () => import("../dashboards/dashboards-screen.tsx").then((module) => module.DashboardsScreen),
  },
  {
    pattern: /^\/dashboards\/[^/]+$/,
    load: () => import("../dashboards/dashboard-screen.tsx").then((module) => module.DashboardScreen),
  },
  {
    pattern: /^\/alerts$/,
    load: () => import("../alerts/alerts-screen.tsx").then((module) => module.AlertsScreen),
  },
  {
    pattern: /^\/alerts\/(?:new|[^/]+\/edit)$/,
    load: () => import("../alerts/alert-editor-screen.tsx").then((module) => module.AlertEditorScreen),
  },
  {
    pattern: /^\/alerts\/[^/]+$/,
    load: () => import("../alerts/alert-screen.tsx").then((module) => module.AlertScreen),
  },
  {
    pattern: /^\/silences$/,
    load: () => import("../alerts/silences-screen.tsx").then((module) => module.SilencesScreen),
  },
  {
    pattern: /^\/investigations$/,
    load: () =>
      import("../investigations/investigations-screen.tsx").then((module) => module.InvestigationsScreen),
  },
  {
    pattern: /^\/investigations\/[^/]+$/,
    load: () =>
      import("../investigations/investigation-screen.tsx").then((module) => module.InvestigationScreen),
  },
  {
    pattern: /^\/(?:settings\/[^/]+|integrations)$/,
    load: () => import("../settings/settings-screen.tsx").then((module) => module.SettingsScreen),
  },
  { pattern: /^\/signin$/, load: () => import("./sign-in-screen.tsx").then((module) => module.SignInScreen) },
];

/** Loads the screen of a path; undefined where the page has none. */
export function screenOf(path: string): LoadScreen | undefined {
  return screens.find(({ pattern }) => pattern.test(path))?.load;
}
