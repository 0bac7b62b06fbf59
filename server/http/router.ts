import type { Route } from "../api/route.ts";
import { Refusal } from "../limits/refusal.ts";
import { nearest } from "../text/suggestion.ts";

interface Pattern {
  segments: readonly string[];
  path: string;
  routes: Route[];
}

export interface Router {
  exact: Map<string, Pattern>;
  patterns: Pattern[];
}

export interface Match {
  route: Route;
  params: Record<string, string>;
}

export function routerOf(routes: readonly Route[]): Router {
  const router: Router = { exact: new Map(), patterns: [] };
  for (const route of routes) {
    const pattern = patternOf(router, route.path);
    if (pattern.routes.some((r) => r.method === route.method)) {
      throw new Error(`two routes answer ${route.method} ${route.path}`);
    }
    pattern.routes.push(route);
  }
  return router;
}

function patternOf(router: Router, path: string): Pattern {
  const known = router.exact.get(path) ?? router.patterns.find((p) => p.path === path);
  if (known) return known;
  const pattern: Pattern = { segments: path.split("/"), path, routes: [] };
  if (path.includes("{")) router.patterns.push(pattern);
  else router.exact.set(path, pattern);
  return pattern;
}

/** HEAD is answered by GET's route. Throws Refusal 404 or 405, the latter with the methods that would do. */
export function matchRoute(router: Router, method: string, path: string): Match {
  const pattern = router.exact.get(path) ?? router.patterns.find((p) => fits(p, path));
  if (!pattern) throw notFound(router, path);
  const wanted = method === "HEAD" ? "GET" : method;
  const route = pattern.routes.find((r) => r.method === wanted);
  if (!route) throw notAllowed(pattern, method);
  return { route, params: paramsOf(pattern, path) };
}

function fits(pattern: Pattern, path: string): boolean {
  const segments = path.split("/");
  if (segments.length !== pattern.segments.length) return false;
  return pattern.segments.every((s, i) => (s.startsWith("{") ? segments[i] !== "" : s === segments[i]));
}

function paramsOf(pattern: Pattern, path: string): Record<string, string> {
  const params: Record<string, string> = {};
  const segments = path.split("/");
  for (const [i, name] of pattern.segments.entries()) {
    if (name.startsWith("{")) params[name.slice(1, -1)] = decoded(segments[i]!);
  }
  return params;
}

function decoded(segment: string): string {
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
  const known = [...router.exact.keys(), ...router.patterns.map((p) => p.path)];
  const near = nearest(path.slice(0, 200), known);
  const hint = near === null ? "" : `; did you mean ${near}?`;
  return new Refusal(404, `there is nothing at ${JSON.stringify(path.slice(0, 200))}${hint}`);
}

function notAllowed(pattern: Pattern, method: string): Refusal {
  const methods: string[] = pattern.routes.map((r) => r.method);
  if (methods.includes("GET")) methods.push("HEAD");
  const allow = methods.join(", ");
  return new Refusal(405, `${pattern.path} takes ${allow}, not ${method.slice(0, 20)}`, {
    headers: { Allow: allow },
  });
}
