/** The API keeps to its OpenAPI document, in success and error, and no generated body makes a request fail with 5xx. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { call, startServer } from "../running.ts";
import { ask } from "./asking.ts";
import type { Document, Operation, Schema } from "./json-schema.ts";
import { generate, validator } from "./json-schema.ts";
import { mutate } from "./mutation.ts";
import { oneOf, randomOf } from "./random.ts";
import { alert, kinds } from "./samples.ts";

let server: Running;
let document: Document;
let problemOf: (schema: Schema, value: unknown) => string | null;

beforeAll(async () => {
  server = await startServer();
  document = (await call<Document>(server, "/openapi.json")).json;
  problemOf = validator(document);
  for (const kind of kinds) expect((await write(kind)).status).toBe(200);
  await ask(server, "POST", "/environments/create", { environment: { name: "there" } });
  const span = { traceId, spanId: "b".repeat(16), name: "x", startTimeUnixNano: "1", endTimeUnixNano: "2" };
  await ask(server, "POST", "/ingest/spans", [span]);
});
afterAll(() => server.stop());

type Kind = (typeof kinds)[number];

function write({ name, path, style, id, sample }: Kind) {
  const body = { [name]: sample };
  if (style === "upsert") return ask(server, "POST", `${path}/update`, body);
  return ask(server, "PUT", `${path}/${id}`, body);
}

interface Described extends Operation {
  method: string;
  path: string;
}

function operations(): Described[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );
}

function kindOf(path: string): Kind | undefined {
  return kinds.find((kind) => path.startsWith(`/api/v1${kind.path}`));
}

function schemaOf(operation: Operation): Schema | undefined {
  return operation.requestBody?.content["application/json"]?.schema;
}

const bodies: Record<string, unknown> = {
  "POST /api/v1/query/logs": { query: "", startTime: 0, endTime: 1 },
  "POST /api/v1/query/timeseries": { query: "count(logs)", startTime: 0, endTime: 1 },
  "POST /api/v1/query/patterns": { query: "", startTime: 0, endTime: 1 },
  "POST /api/v1/query/traces": { query: "", startTime: 0, endTime: 1 },
  "POST /api/v1/query/profiles": { query: "", startTime: 0, endTime: 1 },
  "POST /api/v1/query/kubernetes_resources": { query: "", startTime: 0, endTime: 1 },
  // Of a row that is not there.
  "POST /api/v1/query/around": { id: "AQAAAAAAAAAAAAAAAAAAAAE5Tgpo" },
  "POST /api/v1/query/histogram": { query: "", startTime: 0, endTime: 1 },
  "POST /api/v1/query/fields": { signal: "logs", startTime: 0, endTime: 1 },
  "POST /api/v1/query/values": { signal: "logs", field: "a", startTime: 0, endTime: 1 },
  "POST /api/v1/query/compare": {
    selection: { startTime: 1, endTime: 1 },
    baseline: { startTime: 0, endTime: 0 },
  },
  "POST /api/v1/query/durations": { startTime: 0, endTime: 1 },
  "POST /api/v1/query/service-map": { startTime: 0, endTime: 1 },
  "POST /api/v1/investigations": { startTime: 0, endTime: 1 },
  "POST /api/v1/investigations/{id}/feedback": { verdict: "right" },
  "POST /api/v1/query/visible": { groups: ["a"], startTime: 0, endTime: 1 },
  "POST /api/v1/alerts/preview": { alert, startTime: 0, endTime: 600_000 },
  "POST /api/v1/environments/create": { environment: { name: "another" } },
  "POST /api/v1/tokens": { role: "viewer" },
  "PUT /api/v1/tokens/{id}": { name: "x" },
};

/** A row of any signal. */
const ingestedRow = {
  name: "x",
  value: 1,
  message: "x",
  traceId: "c".repeat(32),
  spanId: "c".repeat(16),
  startTimeUnixNano: "1",
  endTimeUnixNano: "2",
};

const traceId = "a".repeat(32);

/** A valid body for the operation, and its path with an id. */
function validRequest({ method, path }: Described): { path: string; body: unknown } {
  const kind = kindOf(path);
  const id = path.includes("/traces/")
    ? traceId
    : path.includes("/environments")
      ? "there"
      : kind === undefined
        ? "000000000000"
        : kind.id;
  if (path.endsWith("/server-proof"))
    return { path: `${path}?challenge=${"0a".repeat(32)}`, body: undefined };
  if (path.includes("/ingest/")) return { path, body: [ingestedRow] };
  if (method === "POST" && path.endsWith("/session")) return { path, body: { token: server.adminToken } };
  const body = bodies[`${method} ${path}`] ?? (kind && { [kind.name]: kind.sample });
  return {
    path: path.replace(/\{\w+\}/, encodeURIComponent(id)),
    body: method === "GET" || method === "DELETE" ? undefined : body,
  };
}

function send(
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
  token?: string,
) {
  return call<{ error: string }>(server, path, {
    method,
    token: token ?? server.adminToken,
    headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

describe("the document", () => {
  test("is OpenAPI 3.1 and names every operation once", () => {
    expect(document.openapi).toBe("3.1.0");
    const ids = operations().map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(40);
  });

  test("refers only to schemas that it holds", () => {
    const named = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
    expect(named.length).toBeGreaterThan(100);
    for (const [, name] of named) expect(document.components.schemas).toHaveProperty([name!]);
  });

  test("is shown as a page without scripts or external resources", async () => {
    const got = await call(server, "/docs");
    expect(got.headers.get("content-type")).toContain("text/html");
    expect(got.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(got.text).not.toMatch(/<script|https?:\/\/|@import|url\(/);
    for (const path of Object.keys(document.paths)) expect(got.text).toContain(path);
  });
});

describe("every operation", () => {
  /** Leaves out ingestion, which takes rows, and test messages, which would leave this machine. */
  const isApi = ({ path, responses }: Described) =>
    !path.includes("/ingest/") &&
    // For exporters, whom test/kubernetes/ plays.
    !path.includes("/kubernetes/") &&
    // A tail never ends.
    responses["200"]?.content["application/json"] !== undefined &&
    !/\/test(?:-notification)?$/.test(path);

  test("answers a valid request as the document declares", async () => {
    for (const operation of operations().filter(isApi)) {
      const { path, body } = validRequest(operation);
      if (operation.method === "DELETE") continue;
      const isMade = operation.method === "POST" && kindOf(operation.path)?.style === "create";
      // A group is deleted after the rules that name it.
      if (isMade && path.endsWith("/groups")) {
        await send("DELETE", "/api/v1/telemetry-rules/shop-logs", undefined);
        await send("DELETE", "/api/v1/resource-rules/shop-dashboards", undefined);
      }
      if (isMade)
        await send("DELETE", validRequest({ ...operation, path: `${operation.path}/{id}` }).path, undefined);
      const got = await send(operation.method, path, body);
      const what = `${operation.method} ${path}: ${got.text.slice(0, 200)}`;
      expect([
        what,
        got.status === 200 ||
          (got.status === 404 && /\/(?:tokens|notifications|fires|investigations)\/|\/around$/.test(path)),
      ]).toEqual([what, true]);
      if (got.status !== 200) continue;
      const schema = operation.responses["200"]!.content["application/json"]?.schema;
      // The document declares another media type.
      if (schema === undefined) continue;
      expect([what, problemOf(schema, got.json)]).toEqual([what, null]);
    }
  });

  test("requires a token where the document says so, and refuses a wrong one", async () => {
    for (const { method, path, security } of operations()) {
      const isOpen = security.length === 0;
      const got = await call(server, path.replace(/\{\w+\}/, "x"), { method, token: "svc_wrong" });
      expect([method, path, got.status === 401]).toEqual([method, path, !isOpen]);
      if (isOpen || security.some((scheme) => Object.keys(scheme).length === 0)) continue;
      const anonymous = await call(server, path.replace(/\{\w+\}/, "x"), { method });
      expect([method, path, anonymous.status]).toEqual([method, path, 401]);
    }
  });

  test("answers with each error that the document declares", async () => {
    for (const operation of operations().filter(isApi)) {
      const { method } = operation;
      const { path, body } = validRequest(operation);
      const provoke: Record<string, () => ReturnType<typeof send>> = {
        400: () => send(method, path.replace(/[^/]+$/, "$&?limit=0"), body === undefined ? undefined : []),
        404: () => send(method, path.includes(traceId) ? path.replaceAll("a", "f") : `${path}-unknown`, body),
        409: () =>
          send(
            method,
            method === "POST" ? path : path.replace(/[^/]+$/, "kubernetes-managed.a.b.c"),
            conflictingBody(operation, body),
          ),
        412: () => send(method, path, body, { "If-Match": '"other"' }),
        415: () => send(method, path, body, { "Content-Type": "text/html" }),
        413: () => send(method, path, "x".repeat(2_100_000)),
      };
      for (const status of Object.keys(operation.responses)) {
        const isListed = operation.parameters?.some((each) => each.in === "query") ?? false;
        if (provoke[status] === undefined || (status === "400" && body === undefined && !isListed)) continue;
        if (status === "409" && path.includes("/tokens/")) continue;
        // Only of an environment that rules name.
        if (status === "409" && method === "DELETE" && path.includes("/environments/")) continue;
        const got = await provoke[status]();
        const what = `${method} ${path} ${status}: ${got.text.slice(0, 200)}`;
        expect([what, String(got.status)]).toEqual([what, status]);
        const { error, ...details } = got.json;
        expect([what, typeof error]).toEqual([what, "string"]);
        for (const name of Object.keys(details))
          expect([what, ["field", "place"]]).toEqual([what, expect.arrayContaining([name])]);
      }
    }
  });

  /** A body with the name of something that exists, or with an id that Kubernetes manages. */
  function conflictingBody({ path }: Described, body: unknown): unknown {
    if (body === undefined) return undefined;
    if (path.includes("/environments")) return { environment: { name: "there" } };
    const { name, style, sample } = kindOf(path)!;
    if (style === "upsert")
      return { [name]: { ...sample, metadata: { ...sample.metadata, id: "kubernetes-managed.a.b.c" } } };
    const id = "kubernetes-managed.a.b.c";
    return { [name]: { ...sample, ...(name === "group" ? { name: id } : { id }) } };
  }
});

const bodiesTried = process.env.SVC_SOAK === "1" ? 20_000 : 2_000;
const concurrency = 16;
/** Stays below the burst of changes that a caller may make. */
const requestsOfToken = 4_000;

test(`none of ${bodiesTried} generated and mutated bodies makes a request fail`, async () => {
  const seed = Number(process.env.SVC_SEED ?? Math.floor(Math.random() * 2 ** 32));
  const random = randomOf(seed);
  // Rows are accepted or refused one by one, and a body of one row need not be an array.
  const writes = operations().filter(
    (each) => schemaOf(each) !== undefined && !each.path.includes("/ingest/"),
  );
  const ended = new Map<number, number>();
  let token = server.adminToken;
  for (let done = 0; done < bodiesTried; done += concurrency) {
    if (done % requestsOfToken < concurrency) {
      token = (await ask<{ token: string }>(server, "POST", "/tokens", { role: "admin" })).json.token;
    }
    await Promise.all(
      Array.from({ length: concurrency }, async () => {
        const operation = oneOf(writes, random);
        const schema = schemaOf(operation)!;
        const known = random() < 0.5 ? validRequest(operation).body : undefined;
        const valid = known ?? generate(document, schema, random);
        const body = random() < 0.1 ? valid : mutate(valid, random);
        const got = await send(operation.method, operation.path.replace("{id}", "x"), body, {}, token);
        const what = `seed ${seed}: ${operation.method} ${operation.path} ${JSON.stringify(body)?.slice(0, 2_000)}: ${got.status} ${got.text.slice(0, 500)}`;
        expect([what, got.status < 500 && String(got.status) in operation.responses]).toEqual([what, true]);
        const problem = body === undefined ? "no body" : problemOf(schema, JSON.parse(JSON.stringify(body)));
        const isWronglyTaken = got.status === 200 && problem !== null;
        expect([what, problem, isWronglyTaken]).toEqual([what, problem, false]);
        if (got.status !== 200) expect([what, typeof got.json.error]).toEqual([what, "string"]);
        ended.set(got.status, (ended.get(got.status) ?? 0) + 1);
      }),
    );
  }
  expect(ended.get(200) ?? 0).toBeGreaterThan(bodiesTried / 100);
  expect(ended.get(400) ?? 0).toBeGreaterThan(bodiesTried / 4);
});
