/** The API tells of itself: /openapi.json for programs, /docs for people. */

import * as z from "zod";
import { described } from "./descriptions.ts";
import { docsHeaders, docsPage } from "./docs-page.ts";
import { openApiOf } from "./openapi.ts";
import type { Reply, Route } from "./route.ts";
import { jsonHeaders } from "./route.ts";

/** The routes with what is told of them, and those that tell it. */
export function withApiRoutes(routes: readonly Route[]): Route[] {
  const shape = { method: "GET", permission: null, body: null, deadlineMs: 5_000 } as const;
  const response = z.looseObject({});
  // Made when it is first asked for: a start takes no time for it.
  const document = once(() => openApiOf(all));
  const own: Route[] = [
    {
      ...shape,
      path: "/openapi.json",
      description: { summary: "This description", tag: "api", response },
      answer: async () => ({ status: 200, headers: jsonHeaders, body: json() }),
    },
    {
      ...shape,
      path: "/docs",
      description: {
        summary: "This description as a page",
        tag: "api",
        response: z.string(),
        contentType: "text/html",
      },
      answer: async (): Promise<Reply> => ({ status: 200, headers: docsHeaders, body: page() }),
    },
  ];
  const all = [...described(routes), ...own];
  const json = once(() => `${JSON.stringify(document())}\n`);
  const page = once(() => docsPage(document()));
  return all;
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
