/** Permissions of every route, by role. All requests are invalid, so that nothing is changed. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { roles } from "../../../server/model/caller.ts";
import { audience, type Issuer, startIssuer } from "../access/issuer.ts";
import { call, type Running, startServer } from "../running.ts";
import { Browser } from "../sign-in/browser.ts";
import { ask } from "./asking.ts";

/** Callers by their permissions; "nobody" sends no token, on loopback. */
const open = [...roles, "nobody"];
/** Everybody, but for whoever shows a token that is wrong. */
const everybody = [...roles, "nobody"];
const readers = ["admin", "editor", "viewer", "nobody"];
const people = ["admin", "editor", "viewer"];
const editors = ["admin", "editor"];
const admins = ["admin"];
const senders = ["admin", "ingest"];
const exporters = ["ingest"];

const crud = (path: string, readBy: string[], writtenBy: string[], style: "upsert" | "create") => [
  ...(style === "upsert"
    ? [[writtenBy, "POST", `${path}/update`] as const]
    : [[writtenBy, "POST", path] as const, [writtenBy, "PUT", `${path}/{id}`] as const]),
  [readBy, "GET", path] as const,
  [readBy, "GET", `${path}/{id}`] as const,
  [writtenBy, "DELETE", `${path}/{id}`] as const,
];

const routes: (readonly [allowed: string[], method: string, path: string])[] = [
  [open, "GET", "/health"],
  [open, "GET", "/ready"],
  [open, "GET", "/openapi.json"],
  [open, "GET", "/docs"],
  [open, "GET", "/api/v1/server-proof"],
  ...["GET", "POST"].map((method) => [everybody, method, "/api/v1/session"] as const),
  [open, "GET", "/api/v1/session/oidc/start"],
  [open, "GET", "/api/v1/session/oidc/callback"],
  [readers, "GET", "/metrics"],
  [admins, "POST", "/api/v1/backup"],
  ...[
    "logs",
    "timeseries",
    "patterns",
    "traces",
    "histogram",
    "fields",
    "values",
    "compare",
    "export",
    "durations",
    "service-map",
  ].map((kind) => [readers, "POST", `/api/v1/query/${kind}`] as const),
  ...["profiles", "kubernetes_resources", "around"].map(
    (kind) => [readers, "POST", `/api/v1/query/${kind}`] as const,
  ),
  [readers, "POST", "/api/v1/investigations"],
  [readers, "GET", "/api/v1/investigations"],
  [readers, "GET", "/api/v1/investigations/{id}"],
  [editors, "POST", "/api/v1/investigations/{id}/feedback"],
  [readers, "GET", "/api/v1/query/tail"],
  [readers, "GET", "/api/v1/query/export"],
  [readers, "GET", "/api/v1/traces/{traceId}"],
  ...["logs", "spans", "metrics", "profiles", "kubernetes_resources"].flatMap((kind) => [
    [senders, "POST", `/api/v1/ingest/${kind}`] as const,
    [senders, "GET", `/api/v1/ingest/${kind}/limits`] as const,
  ]),
  ...["/v1/logs", "/v1/traces", "/v1/metrics", "/api/v1/write", "/loki/api/v1/push", "/_bulk"].map(
    (path) => [senders, "POST", path] as const,
  ),
  ...[
    ...[
      "/services/collector",
      "/services/collector/raw",
      "/services/collector/ack",
      "/api/v2/spans",
      "/api/traces",
    ],
    ...["/api/v2/logs", "/v1/input", "/upload", "/gelf", "/write", "/api/v2/write", "/query", "/i/_doc"],
  ].map((path) => [senders, "POST", path] as const),
  ...["/i/_doc/{id}", "/i/_create/{id}"].map((path) => [senders, "PUT", path] as const),
  [open, "GET", "/services/collector/health"],
  [open, "GET", "/ping"],
  ...crud("/api/v1/alerts", readers, editors, "upsert"),
  [readers, "GET", "/api/v1/alerts/states"],
  [readers, "POST", "/api/v1/alerts/preview"],
  [readers, "GET", "/api/v1/alerts/{id}/fires/{fireId}/explanation"],
  ...["state", "fires", "history", "evaluations"].map(
    (part) => [readers, "GET", `/api/v1/alerts/{id}/${part}`] as const,
  ),
  // Rules of managed resources decide which messages a viewer may send.
  [people, "POST", "/api/v1/alerts/{id}/test-notification"],
  [readers, "GET", "/api/v1/notifications"],
  [people, "POST", "/api/v1/notifications/{id}/resend"],
  ...crud("/api/v1/dashboards", readers, editors, "upsert"),
  [editors, "GET", "/api/v1/dashboards/sync"],
  [editors, "GET", "/api/v1/alerts/sync"],
  ...["objects", "objects/delete", "objects/sweep", "channel"].map(
    (what) => [exporters, "POST", `/api/v1/kubernetes/${what}`] as const,
  ),
  // It has no body to be wrong: the token of this role here is not that of an environment.
  [[], "GET", "/api/v1/kubernetes/ingestion-rules"],
  [admins, "POST", "/api/v1/environments/create"],
  [readers, "GET", "/api/v1/environments"],
  [readers, "GET", "/api/v1/environments/{id}"],
  [admins, "DELETE", "/api/v1/environments/{id}"],
  ...crud("/api/v1/webhooks", readers, editors, "create"),
  [people, "POST", "/api/v1/webhooks/{id}/test"],
  ...crud("/api/v1/silences", readers, editors, "create"),
  ...crud("/api/v1/saved-searches", readers, editors, "create"),
  ...crud("/api/v1/ingestion-rules", editors, editors, "create"),
  ...crud("/api/v1/tokens", admins, admins, "create"),
  [admins, "POST", "/api/v1/query/visible"],
  ...crud("/api/v1/groups", admins, admins, "create"),
  ...crud("/api/v1/telemetry-rules", admins, admins, "create"),
  ...crud("/api/v1/resource-rules", admins, admins, "create"),
  ...crud("/api/v1/routes", admins, admins, "create"),
  ...crud("/api/v1/inhibitions", admins, admins, "create"),
  // The last: it ends the sessions.
  [everybody, "DELETE", "/api/v1/session"],
];

let server: Running;
let issuer: Issuer;
const tokens = new Map<string, string>();
/** Secrets of sessions that the tokens of roles began. */
const sessions = new Map<string, string>();
beforeAll(async () => {
  issuer = await startIssuer();
  server = await startServer({
    identity: { issuer: issuer.url, audiences: [audience], groupsClaim: "groups" },
  });
  for (const role of roles) {
    const made = await ask<{ token: string }>(server, "POST", "/tokens", { role });
    tokens.set(role, made.json.token);
    if (role === "ingest") continue;
    const group = { name: role, role, oidcMappings: [`idp-${role}`] };
    expect((await ask(server, "POST", "/groups", { group })).status).toBe(200);
    tokens.set(`user of ${role}`, await issuer.token({ sub: role, groups: [`idp-${role}`] }));
    const browser = new Browser(server);
    await browser.signIn(made.json.token);
    sessions.set(`session of ${role}`, browser.cookieHeader!);
  }
  tokens.set("a stranger", "svc_000000000000_".padEnd(60, "A"));
  tokens.set(
    "a forger",
    (await issuer.token({ groups: ["idp-admin"] })).replace(/\.[^.]*$/, ".c2lnbmF0dXJl"),
  );
});
afterAll(async () => {
  await server.stop();
  await issuer.stop();
});

function statusOf(method: string, path: string, caller: string): Promise<number> {
  const token = tokens.get(caller);
  const cookie = sessions.get(caller);
  const page = cookie === undefined ? {} : { Cookie: cookie, "Sec-Fetch-Site": "same-origin" };
  const body = method === "GET" || method === "DELETE" ? {} : { body: "" };
  const address = path.replace(/\{\w+\}/, "x");
  const shown = { headers: page, ...(token === undefined ? {} : { token }) };
  return call(server, address, { method, ...body, ...shown }).then(({ status }) => status);
}

/**
 * 401 where nobody is known to ask, 403 where it is known that they may not, and else anything: what is asked is not
 * sound.
 */
function expectedStatus(
  allowed: readonly string[],
  method: string,
  path: string,
  caller: string,
): number | "any" {
  if (allowed === open) return "any";
  if (["a stranger", "a forger"].includes(caller)) return 401;
  if (caller === "nobody") return allowed.includes(caller) ? "any" : 401;
  const role = caller.replace(/^(?:user|session) of /, "");
  // Users of the identity provider and sessions may not send rows, and sessions nothing that exporters send.
  if (allowed === senders && caller !== role) return 401;
  if (sessions.has(caller) && path.startsWith("/api/v1/kubernetes/")) return 401;
  if (!allowed.includes(role)) return 403;
  // Users are members of groups, and /metrics counts the rows of all.
  const isMember = caller.startsWith("user of ") && role !== "admin";
  return path === "/metrics" && method === "GET" && isMember ? 403 : "any";
}

test.each(routes)("%j may call %s %s, and nobody else", async (allowed, method, path) => {
  for (const caller of [...tokens.keys(), ...sessions.keys(), "nobody"]) {
    const status = await statusOf(method, path, caller);
    const expected = expectedStatus(allowed, method, path, caller);
    const got = expected === "any" && ![401, 403].includes(status) ? "any" : status;
    expect([caller, got]).toEqual([caller, expected]);
    expect([caller, status < 500]).toEqual([caller, true]);
  }
});

test("the table above lists every route", async () => {
  const { paths } = (await call<{ paths: Record<string, object> }>(server, "/openapi.json")).json;
  const tested = new Set(routes.map(([, method, path]) => `${method} ${path}`));
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(documented.filter((each) => !tested.has(each))).toEqual([]);
  expect(documented.length).toBeGreaterThan(60);
});

test("no answer lets a page of another site read it", async () => {
  for (const [, method, path] of routes) {
    const origin = { Origin: "https://evil.example", "Access-Control-Request-Method": method };
    for (const sentMethod of [method, "OPTIONS"]) {
      const response = await fetch(server.url + path.replace(/\{\w+\}/, "x"), {
        method: sentMethod,
        headers: { ...origin, Authorization: `Bearer ${server.adminToken}` },
        ...(sentMethod === "POST" || sentMethod === "PUT" ? { body: "" } : {}),
      });
      await response.arrayBuffer();
      const cors = [...response.headers.keys()].filter((name) => name.startsWith("access-control-"));
      expect([method, path, cors]).toEqual([method, path, []]);
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
      expect(response.headers.get("referrer-policy")).toBe("no-referrer");
      expect(response.headers.get("cross-origin-resource-policy")).toBe("same-origin");
      expect(response.headers.get("cache-control")).toBe("no-store");
    }
  }
});
