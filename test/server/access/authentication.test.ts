/** Who may do what. */

import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { failuresBurstMax, failuresPerSecondMax } from "../../../server/http/limits.ts";
import { roles } from "../../../server/model/caller.ts";
import type { Running } from "../running.ts";
import { call, search, startServer } from "../running.ts";

const asJson = { "Content-Type": "application/json" };
const anyTime = JSON.stringify({ query: "", startTime: 0, endTime: 1 });

interface Made {
  id: string;
  name: string;
  role: string;
  token: string;
  createdAt: number;
  expiresAt?: number;
}

async function makeToken(server: Running, wanted: Record<string, unknown>): Promise<Made> {
  const got = await call<Made>(server, "/api/v1/tokens", {
    token: server.adminToken,
    headers: asJson,
    body: JSON.stringify(wanted),
  });
  expect(got.status).toBe(200);
  return got.json;
}

/** What is asked, and who may: by role, and without a token on loopback. */
const matrix: [string, string, string, { body?: string; may: string[] }][] = [
  ["search", "POST", "/api/v1/query/logs", { body: anyTime, may: ["admin", "editor", "viewer", "nobody"] }],
  [
    "count over time",
    "POST",
    "/api/v1/query/timeseries",
    {
      body: JSON.stringify({ ...JSON.parse(anyTime), query: "count(logs)" }),
      may: ["admin", "editor", "viewer", "nobody"],
    },
  ],
  [
    "see patterns",
    "POST",
    "/api/v1/query/patterns",
    { body: anyTime, may: ["admin", "editor", "viewer", "nobody"] },
  ],
  ["read metrics", "GET", "/metrics", { may: ["admin", "editor", "viewer", "nobody"] }],
  ["send logs", "POST", "/api/v1/ingest/logs", { body: "{}", may: ["admin", "ingest"] }],
  ["list tokens", "GET", "/api/v1/tokens", { may: ["admin"] }],
  ["make tokens", "POST", "/api/v1/tokens", { body: '{"role":"viewer"}', may: ["admin"] }],
  ["read a token", "GET", "/api/v1/tokens/000000000000", { may: ["admin"] }],
  ["revoke tokens", "DELETE", "/api/v1/tokens/000000000000", { may: ["admin"] }],
  ["health", "GET", "/health", { may: [...roles, "nobody"] }],
  ["readiness", "GET", "/ready", { may: [...roles, "nobody"] }],
];

describe.each([
  ["on loopback", false, true],
  ["on all addresses", true, false],
])("listening %s", (_name, everywhere, anonymous) => {
  let server: Running;
  const tokens: Record<string, string> = {};
  beforeAll(async () => {
    server = await startServer(everywhere ? { address: { host: "0.0.0.0", port: 0 } } : {});
    server.url = server.url.replace("0.0.0.0", "127.0.0.1");
    for (const role of roles) tokens[role] = (await makeToken(server, { role })).token;
  });
  afterAll(() => server.stop());

  describe.each([...roles, "nobody"])("%s", (role) => {
    test.each(matrix)("%s", async (_what, method, path, { body, may }) => {
      const token = tokens[role];
      const got = await call(server, path, {
        method,
        headers: asJson,
        ...(token === undefined ? {} : { token }),
        ...(body === undefined ? {} : { body }),
      });
      const isOpen = path === "/health" || path === "/ready";
      const allowed = may.includes(role) && (role !== "nobody" || anonymous || isOpen);
      if (allowed) expect([200, 404]).toContain(got.status);
      else expect(got.status).toBe(role === "nobody" ? 401 : 403);
      if (got.status === 401) expect(got.headers.get("www-authenticate")).toBe('Bearer realm="svc"');
    });
  });

  test.each([
    "",
    "x",
    "svc_000000000000_",
    `svc_000000000000_${"A".repeat(43)}`,
    "a b c",
    "Basic YTpi",
    "\u00ff",
  ])("the token %j is refused, also where none is needed", async (token) => {
    const got = await call(server, "/api/v1/query/logs", {
      headers: { ...asJson, Authorization: token },
      body: anyTime,
    });
    expect(got.status).toBe(401);
  });

  test("probes need no token, and a wrong one does them no harm", async () => {
    expect((await call(server, "/health", { token: "x" })).status).toBe(200);
  });

  test("a right id with a wrong secret is refused", async () => {
    const wrong = `${tokens.viewer!.slice(0, -1)}${tokens.viewer!.endsWith("A") ? "B" : "A"}`;
    expect((await call(server, "/metrics", { token: wrong })).status).toBe(401);
  });

  test.each(["Bearer TOKEN", "bearer TOKEN", "TOKEN", "  Bearer   TOKEN  "])(
    "Authorization: %s will do",
    async (form) => {
      const headers = { Authorization: form.replace("TOKEN", tokens.viewer!) };
      expect((await call(server, "/metrics", { headers })).status).toBe(200);
    },
  );
});

describe("requests without a token on loopback", () => {
  let server: Running;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.stop());

  test.each([
    ["X-Forwarded-For", "10.0.0.1"],
    ["Forwarded", "for=10.0.0.1"],
    ["X-Real-IP", "10.0.0.1"],
    ["Via", "1.1 proxy"],
    ["X-Forwarded-Proto", "https"],
    ["X-Header-Of-A-New-Proxy", "1"],
    ["Remote-User", "ann"],
    ["Client-Cert", ":MIIC:"],
    ["SSL-Client-Verify", "SUCCESS"],
    ["Tailscale-User-Login", "ann"],
  ])("end where %s shows a proxy", async (name, value) => {
    const headers = { ...asJson, [name]: value };
    const got = await call(server, "/api/v1/query/logs", { headers, body: anyTime });
    expect(got.status).toBe(401);
    expect(got.json.error).toContain(name.toLowerCase());
    const withToken = await call(server, "/api/v1/query/logs", {
      headers,
      body: anyTime,
      token: server.adminToken,
    });
    expect(withToken.status).toBe(200);
  });

  test.each([
    ["a page of another site", { Origin: "https://evil.example" }, 401],
    ["a page of another port", { Origin: "http://127.0.0.1:1" }, 401],
    ["a page without origin", { Origin: "null" }, 401],
    ["a cross-site request", { "Sec-Fetch-Site": "cross-site" }, 401],
  ])("end where %s sends them", async (_name, headers, status) => {
    const got = await call(server, "/api/v1/query/logs", {
      headers: { ...asJson, ...headers } as Record<string, string>,
      body: anyTime,
    });
    expect(got.status).toBe(status);
  });

  test.each(["/", "/health", "/docs", "/openapi.json", "/_license", "/nothing"])(
    "tell pages of other sites nothing of what %s is",
    async (path) => {
      for (const origin of ["https://evil.example", "http://127.0.0.1:1", "null"]) {
        for (const method of ["GET", "OPTIONS"]) {
          const response = await fetch(server.url + path, { method, headers: { Origin: origin } });
          const text = await response.text();
          expect([path, response.status]).toEqual([path, expect.toSatisfy((status) => status >= 400)]);
          const names = [...response.headers.keys()];
          expect(names.filter((name) => /^(?:access-control-|x-elastic)/.test(name))).toEqual([]);
          expect(response.headers.get("cross-origin-resource-policy")).toBe("same-origin");
          expect(text).not.toMatch(/You Know, for Search|"version"/);
        }
      }
    },
  );

  test("are answered for a page of the server's own", async () => {
    const got = await call(server, "/api/v1/query/logs", {
      headers: { ...asJson, Origin: server.url },
      body: anyTime,
    });
    expect(got.status).toBe(200);
  });
});

test("--anonymous-read opens searches elsewhere, and nothing else", async () => {
  const server = await startServer({ address: { host: "0.0.0.0", port: 0 }, anonymousRead: true });
  server.url = server.url.replace("0.0.0.0", "127.0.0.1");
  expect((await search(server)).status).toBe(200);
  expect((await call(server, "/api/v1/tokens")).status).toBe(401);
  expect((await call(server, "/api/v1/ingest/logs", { headers: asJson, body: "{}" })).status).toBe(401);
  await server.stop();
});

describe("tokens", () => {
  let server: Running;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.stop());
  const admin = () => ({ token: server.adminToken });

  test("are shown once, listed without their secret, and stand nowhere in the data folder", async () => {
    const made = await makeToken(server, { role: "viewer", name: "ops" });
    expect(made).toMatchObject({ role: "viewer", name: "ops" });
    const listed = await call<{ tokens: Made[] }>(server, "/api/v1/tokens", admin());
    const { token, ...shown } = made;
    expect(listed.json.tokens).toContainEqual(shown);
    expect(listed.text).not.toContain(token);
    expect((await call(server, `/api/v1/tokens/${made.id}`, admin())).json).toEqual(shown);
    const secret = token.slice(-43);
    for (const file of readdirSync(server.dir, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const bytes = readFileSync(join(file.parentPath, file.name));
      expect(bytes.includes(secret), file.name).toBe(false);
    }
    expect((await call(server, "/metrics")).text).not.toContain(secret);
    expect(server.logged.join()).not.toContain(secret);
  });

  test("are refused from the moment they are revoked", async () => {
    const made = await makeToken(server, { role: "viewer" });
    expect((await call(server, "/metrics", { token: made.token })).status).toBe(200);
    expect((await call(server, `/api/v1/tokens/${made.id}`, { method: "DELETE", ...admin() })).json).toEqual({
      id: made.id,
    });
    expect((await call(server, "/metrics", { token: made.token })).status).toBe(401);
    expect((await call(server, `/api/v1/tokens/${made.id}`, { method: "DELETE", ...admin() })).status).toBe(
      404,
    );
  });

  test("are refused once they have expired", async () => {
    const made = await makeToken(server, { role: "viewer", expiresAt: Date.now() + 300 });
    expect((await call(server, "/metrics", { token: made.token })).status).toBe(200);
    await expect.poll(async () => (await call(server, "/metrics", { token: made.token })).status).toBe(401);
  });

  test.each([
    [{}, "role is required: one of admin, editor, viewer, ingest"],
    [{ role: "root" }, 'role must be one of admin, editor, viewer, ingest, got "root"'],
    [
      { role: "viewer", expiresAt: 5 },
      "expiresAt must be an integer in the future, Unix time in milliseconds, got 5",
    ],
    [{ role: "viewer", expires: 5 }, 'unknown field "expires"; did you mean expiresAt?'],
    [{ role: "viewer", name: 5 }, "name must be a string, got 5"],
    [{ role: "viewer", name: "n".repeat(201) }, "name must have at most 200 characters"],
  ])("%j is refused", async (wanted, error) => {
    const got = await call(server, "/api/v1/tokens", {
      ...admin(),
      headers: asJson,
      body: JSON.stringify(wanted),
    });
    expect([got.status, got.json]).toMatchObject([400, { error }]);
  });
});

test("who fails to say who asks is slowed down, and a right token from there is not", async () => {
  const server = await startServer();
  const wrong = () => call(server, "/api/v1/tokens", { token: "svc_wrong" });
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++) {
    statuses.push(...(await Promise.all(Array.from({ length: 100 }, wrong))).map(({ status }) => status));
  }
  expect(statuses.filter((status) => status === 401).length).toBeGreaterThanOrEqual(failuresBurstMax);
  const last = await until429(wrong);
  expect(last.headers.get("retry-after")).toBe("1");
  expect(last.json).toEqual({
    error: `more than ${failuresPerSecondMax} requests without a right token a second; try again`,
  });
  expect((await call(server, "/api/v1/tokens", { token: server.adminToken })).status).toBe(200);
  await server.stop();
});

/** A machine that is busy may let earn as much as it spends: so at once. */
async function until429<T extends { status: number }>(request: () => Promise<T>): Promise<T> {
  for (;;) {
    const all = await Promise.all(Array.from({ length: 200 }, request));
    const refused = all.find(({ status }) => status === 429);
    if (refused !== undefined) return refused;
  }
}

describe("the admin-token file", () => {
  test("is written by the first start, for its owner alone, and kept by later ones", async () => {
    const first = await startServer();
    const path = first.service.adminTokenPath;
    expect(first.service.adminToken).toBe("made");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const viewer = await makeToken(first, { role: "viewer" });
    await first.service.close();
    const second = await startServer({ dataDir: first.dir });
    expect(second.service.adminToken).toBe("there");
    expect(second.adminToken).toBe(first.adminToken);
    expect((await call(second, "/metrics", { token: viewer.token })).status).toBe(200);
    expect((await call(second, "/api/v1/tokens", { token: second.adminToken })).status).toBe(200);
    await second.service.close();
    rmSync(first.dir, { recursive: true });
  });

  test("is made anew when its token was revoked and nobody else could administer the server", async () => {
    const first = await startServer();
    const { json } = await call<{ tokens: Made[] }>(first, "/api/v1/tokens", { token: first.adminToken });
    await call(first, `/api/v1/tokens/${json.tokens[0]!.id}`, { method: "DELETE", token: first.adminToken });
    expect((await call(first, "/api/v1/tokens", { token: first.adminToken })).status).toBe(401);
    await first.service.close();
    chmodSync(first.service.adminTokenPath, 0o644);
    const second = await startServer({ dataDir: first.dir });
    expect(second.service.adminToken).toBe("made");
    expect(statSync(second.service.adminTokenPath).mode & 0o777).toBe(0o600);
    expect((await call(second, "/api/v1/tokens", { token: second.adminToken })).status).toBe(200);
    await second.service.close();
    rmSync(first.dir, { recursive: true });
  });

  test("may be taken away: it is not made again while an admin token is good", async () => {
    const first = await startServer();
    rmSync(first.service.adminTokenPath);
    await first.service.close();
    writeFileSync(first.service.adminTokenPath, "");
    const second = await startServer({ dataDir: first.dir });
    expect(second.service.adminToken).toBe("there");
    expect((await call(second, "/api/v1/tokens", { token: first.adminToken })).status).toBe(200);
    await second.service.close();
    expect(existsSync(first.dir)).toBe(true);
    rmSync(first.dir, { recursive: true });
  });
});
