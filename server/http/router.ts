/** Finds the route of a path: an exact one, else one with `{…}` parts, else the longest prefix that ends in `/*`. */

import type { Route } from "../api/route.ts";
import { findNearest } from "../text/suggestion.ts";
import { Refusal } from "../throttle/refusal.ts";
import { describeForeignPath } from "./foreign-path.ts";

interface Pattern {
  segments: readonly string[];
  path: string;
  routes: Route[];
}

/** All routes by the form of their path. */
export interface Router {
  exact: Map<string, Pattern>;
  patterns: Pattern[];
  /** Routes whose path ends in `/*`, the longest first. */
  prefixes: Pattern[];
}

/** A route and the values of its path's variable parts. */
export interface Match {
  route: Route;
  params: Record<string, string>;
}

/** Makes a router. Throws an Error where two routes have the same method, path and media type. */
export function makeRouter(routes: readonly Route[]): Router {
  const router: Router = { exact: new Map(), patterns: [], prefixes: [] };
  for (const route of routes) {
    const pattern = patternOf(router, route.path);
    if (pattern.routes.some((r) => r.method === route.method && r.accepts === route.accepts)) {
      throw new Error(`two routes answer ${route.method} ${route.path}`);
    }
    // Those for a media type go first.
    if (route.accepts === undefined) pattern.routes.push(route);
    else pattern.routes.unshift(route);
  }
  router.prefixes.sort((a, b) => b.segments.length - a.segments.length);
  return router;
}

function patternOf(router: Router, path: string): Pattern {
  const known = allPatterns(router).find((pattern) => pattern.path === path);
  if (known) return known;
  const pattern: Pattern = { segments: path.split("/"), path, routes: [] };
  if (path.endsWith("/*")) router.prefixes.push(pattern);
  else if (path.includes("{")) router.patterns.push(pattern);
  else router.exact.set(path, pattern);
  return pattern;
}

function allPatterns({ exact, patterns, prefixes }: Router): Pattern[] {
  return [...exact.values(), ...patterns, ...prefixes];
}

/**
 * Finds the route; HEAD uses the route of GET. `accept` is the Accept header. Throws Refusal 404, or 405 with the methods
 * that the path has.
 */
export function matchRoute(router: Router, method: string, path: string, accept = ""): Match {
  const pattern =
    router.exact.get(path) ??
    router.patterns.find((each) => matchesPattern(each, path)) ??
    router.prefixes.find((each) => isBelow(each, path));
  const routes = pattern?.routes.filter(({ accepts }) => accepts === undefined || accept.includes(accepts));
  // A path for browsers alone is none for programs.
  if (!pattern || routes!.length === 0) throw notFound(router, path);
  const effectiveMethod = method === "HEAD" ? "GET" : method;
  const route = routes!.find((r) => r.method === effectiveMethod);
  if (!route) throw notAllowed(pattern, method);
  return { route, params: paramsOf(pattern, path) };
}

function matchesPattern(pattern: Pattern, path: string): boolean {
  const segments = path.split("/");
  return segments.length === pattern.segments.length && beginsLike(pattern.segments, segments);
}

/** True where the path continues after the prefix. */
function isBelow(prefix: Pattern, path: string): boolean {
  const segments = path.split("/");
  const before = prefix.segments.slice(0, -1);
  return segments.length > before.length && beginsLike(before, segments) && segments[before.length] !== "";
}

function beginsLike(pattern: readonly string[], segments: readonly string[]): boolean {
  return pattern.every((s, i) => (s.startsWith("{") ? segments[i] !== "" : s === segments[i]));
}

function paramsOf(pattern: Pattern, path: string): Record<string, string> {
  const params: Record<string, string> = {};
  const segments = path.split("/");
  for (const [i, name] of pattern.segments.entries()) {
    if (name.startsWith("{")) params[name.slice(1, -1)] = decodeSegment(segments[i]!);
    if (name === "*") params["*"] = segments.slice(i).map(decodeName).join("/");
  }
  return params;
}

/** Decodes a segment below a prefix. Throws Refusal 400 for a segment that could lead out of the prefix. */
function decodeName(segment: string): string {
  const name = decodeSegment(segment);
  if (name !== ".." && name !== "." && !/[/\\\0]/.test(name)) return name;
  throw new Refusal(
    400,
    `the path holds a segment that names no file: ${JSON.stringify(segment.slice(0, 60))}`,
  );
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Refusal(
      400,
      `the path holds a broken percent-encoding: ${JSON.stringify(segment.slice(0, 60))}`,
    );
  }
}

function notFound(router: Router, path: string): Refusal {
  const shown = path.slice(0, 200);
  return new Refusal(404, `there is nothing at ${JSON.stringify(shown)}${findHint(router, shown)}`);
}

/** Where the request probably belongs, as the end of a sentence; "" where nothing is known. */
function findHint(router: Router, path: string): string {
  const foreign = describeForeignPath(path);
  if (foreign !== undefined) return `; ${foreign}`;
  const known = allPatterns(router).map((p) => p.path);
  const near = findNearest(path, known);
  return near === null ? "" : `; did you mean ${near}?`;
}

function notAllowed(pattern: Pattern, method: string): Refusal {
  const methods: string[] = pattern.routes.map((r) => r.method);
  if (methods.includes("GET")) methods.push("HEAD");
  const allow = methods.join(", ");
  return new Refusal(405, `${pattern.path} takes ${allow}, not ${method.slice(0, 20)}`, {
    headers: { Allow: allow },
  });
}
