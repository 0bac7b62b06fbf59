/** The server's routes and those of its document are the same. */

import { expect, test, vi } from "vitest";
import type { HttpOptions } from "../../../server/http/server.ts";
import { call, startServer } from "../running.ts";
import type { Document } from "./json-schema.ts";

const opened: HttpOptions[] = [];
vi.mock(import("../../../server/http/server.ts"), async (original) => {
  const { openHttp } = await original();
  return {
    openHttp: (options) => {
      opened.push(options);
      return openHttp(options);
    },
  };
});

/** What the document leaves out: routes of other protocols, and the page. */
const foreign = [
  /^\/v1\/(?:logs|traces|metrics)$/,
  /^\/api\/v1\/write$/,
  /^\/loki\/|^\/api\/prom\/push$/,
  /^\/$|^\/_\w+|^\/\{index\}\/_(?:bulk|doc|create)(?:\/\{id\})?$/,
  /^\/services\/collector(?:\/|$)/,
  /^\/api\/(?:v2\/(?:spans|logs|write)|traces)$/,
  /^\/(?:v1\/input(?:\/\{token\})?|upload|gelf|write|ping|query)$/,
  /^\/assets\/\*$/,
];

test("every route is in the document, with its answers; only routes of other protocols are left out", async () => {
  const server = await startServer();
  const { paths } = (await call<Document>(server, "/openapi.json")).json;
  await server.stop();
  const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
  const { routes } = opened[0]!;
  const own = routes.filter((route) => route.errorBody === undefined);
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => nameOf({ method: method.toUpperCase(), path })),
  );
  expect(documented.sort()).toEqual(own.map(nameOf).sort());
  const leftOut = routes
    .filter((route) => route.errorBody !== undefined && route.accepts !== "text/html")
    .map(({ path }) => path);
  expect(leftOut.filter((path) => !foreign.some((pattern) => pattern.test(path)))).toEqual([]);
  for (const route of own) {
    const { responses, summary, tags } = paths[route.path]![route.method.toLowerCase()]! as never as {
      responses: Record<string, { content: Record<string, { schema: object }> }>;
      summary: string;
      tags: string[];
    };
    const name = nameOf(route);
    expect([name, summary === name, tags]).toEqual([name, false, [expect.not.stringMatching(/^other$/)]]);
    const [success] = Object.values(responses["200"]!.content);
    expect([name, Object.keys(success!.schema).length > 0]).toEqual([name, true]);
    const errors = [400, 500, 503, ...(route.permission === null ? [] : [401, 403])];
    // A body can be too large, or of another type.
    errors.push(...(route.body === null ? [] : [413, 415]));
    expect([name, Object.keys(responses)]).toEqual([name, expect.arrayContaining(errors.map(String))]);
  }
});
