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

function loadAlertEditor(): Promise<ComponentType> {
  return import("../alerts/alert-editor-screen.tsx").then((module) => module.AlertEditorScreen);
}

interface ScreenOfPath {
  pattern: RegExp;
  /** Stands in the title of the document. */
  name: string;
  load: LoadScreen;
}

const screens: readonly ScreenOfPath[] = [
  {
    pattern: /^\/$/,
    name: "Search",
    load: () => import("../search/search-screen.tsx").then((module) => module.SearchScreen),
  },
  {
    pattern: /^\/traces$/,
    name: "Traces",
    load: () => import("../traces/traces-screen.tsx").then((module) => module.TracesScreen),
  },
  {
    pattern: /^\/traces\/[^/]+$/,
    name: "Trace",
    load: () => import("../traces/trace-screen.tsx").then((module) => module.TraceScreen),
  },
  {
    pattern: /^\/metrics\/explore$/,
    name: "Metrics",
    load: () => import("../metrics/metrics-screen.tsx").then((module) => module.MetricsScreen),
  },
  {
    pattern: /^\/dashboards$/,
    name: "Dashboards",
    load: () => import("../dashboards/dashboards-screen.tsx").then((module) => module.DashboardsScreen),
  },
  {
    pattern: /^\/dashboards\/[^/]+$/,
    name: "Dashboard",
    load: () => import("../dashboards/dashboard-screen.tsx").then((module) => module.DashboardScreen),
  },
  {
    pattern: /^\/alerts$/,
    name: "Alerts",
    load: () => import("../alerts/alerts-screen.tsx").then((module) => module.AlertsScreen),
  },
  { pattern: /^\/alerts\/new$/, name: "New alert", load: loadAlertEditor },
  { pattern: /^\/alerts\/[^/]+\/edit$/, name: "Edit an alert", load: loadAlertEditor },
  {
    pattern: /^\/alerts\/[^/]+$/,
    name: "Alert",
    load: () => import("../alerts/alert-screen.tsx").then((module) => module.AlertScreen),
  },
  {
    pattern: /^\/silences$/,
    name: "Silences",
    load: () => import("../alerts/silences-screen.tsx").then((module) => module.SilencesScreen),
  },
  {
    pattern: /^\/investigations$/,
    name: "Investigations",
    load: () =>
      import("../investigations/investigations-screen.tsx").then((module) => module.InvestigationsScreen),
  },
  {
    pattern: /^\/investigations\/[^/]+$/,
    name: "Investigation",
    load: () =>
      import("../investigations/investigation-screen.tsx").then((module) => module.InvestigationScreen),
  },
  {
    pattern: /^\/(?:settings\/[^/]+|integrations)$/,
    name: "Settings",
    load: () => import("../settings/settings-screen.tsx").then((module) => module.SettingsScreen),
  },
  {
    pattern: /^\/signin$/,
    name: "Sign in",
    load: () => import("./sign-in-screen.tsx").then((module) => module.SignInScreen),
  },
];

/** True for paths of the page, those with a broken percent-encoding among them. */
export function hasScreen(path: string): boolean {
  return screens.some(({ pattern }) => pattern.test(path));
}

/** Loads the screen of a path; undefined where the page has none. */
export function screenOf(path: string): LoadScreen | undefined {
  return find(path)?.load;
}

/** The name of a path's screen. */
export function nameOf(path: string): string {
  return find(path)?.name ?? "Nothing at this address";
}

function find(path: string): ScreenOfPath | undefined {
  return isReadable(path) ? screens.find(({ pattern }) => pattern.test(path)) : undefined;
}

/** False for a path that screens cannot decode, such as `/alerts/50%`. */
function isReadable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
