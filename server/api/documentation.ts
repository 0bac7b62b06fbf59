/** The routes that describe the API: /openapi.json for programs, /docs for people. */

import * as z from "zod";
import { defineRoute } from "./define-route.ts";
import { docsHeaders, docsPage } from "./docs-page.ts";
import { openApiOf } from "./openapi.ts";
import { jsonHeaders, Reply, type Route } from "./route.ts";

const page = { method: "GET", permission: null, tag: "api", deadlineMs: 5_000 } as const;

/** Adds the routes that describe the API, including themselves, to the given ones. */
export function withDocumentation(routes: readonly Route[]): Route[] {
  // Made at the first request, so that the start takes no time for it.
  const document = once(() => openApiOf(all));
  const json = once(() => `${JSON.stringify(document())}\n`);
  const html = once(() => docsPage(document()));
  const all: Route[] = [
    ...routes,
    defineRoute({
      ...page,
      path: "/openapi.json",
      summary: "This description",
      response: z.looseObject({}),
      handle: async () => new Reply({ status: 200, headers: jsonHeaders, body: json() }),
    }),
    defineRoute({
      ...page,
      path: "/docs",
      summary: "This description as a page",
      response: z.string(),
      contentType: "text/html",
      handle: async () => new Reply({ status: 200, headers: docsHeaders, body: html() }),
    }),
  ];
  return all;
}

function once<T>(make: () => T): () => T {
  let cached: { value: T } | undefined;
  return () => {
    cached ??= { value: make() };
    return cached.value;
  };
}
