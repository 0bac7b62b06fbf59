/** The routes through which a browser signs in at the identity provider. */

import * as z from "zod";
import { defineRoute } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { Refusal } from "../throttle/refusal.ts";
import { callbackPath, type Login, loginPath } from "./login.ts";
import { checkReturnPath } from "./return-path.ts";

/** `login` is undefined where no client at an identity provider is configured. */
export function loginRoutes(login: Login | undefined): Route[] {
  const shared = {
    method: "GET",
    permission: null,
    tag: "session",
    response: z.string(),
    contentType: "text/plain",
  } as const;
  return [
    defineRoute({
      ...shared,
      path: loginPath,
      summary: "Sends a browser to the identity provider to sign in (303)",
      query: { return: z.string().optional() },
      errors: [404],
      handle: async ({ query, request }) => configured(login).start(request, returnPathOf(query.return)),
    }),
    defineRoute({
      ...shared,
      path: callbackPath,
      summary: "Takes a browser back from the identity provider, and on to where it came from (303)",
      deadlineMs: 30_000,
      errors: [404],
      handle: async ({ request }) => configured(login).finish(request),
    }),
  ];
}

/** Throws Refusal 404. */
function configured(login: Login | undefined): Login {
  if (login !== undefined) return login;
  throw new Refusal(404, "nobody signs in at an identity provider here: no --oidc-client-id is given");
}

/** Throws Refusal 400. */
function returnPathOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const path = checkReturnPath(text);
  if (path !== null) return path;
  throw new Refusal(
    400,
    "return must be a path of this server: it begins with one /, and is no other host's",
  );
}
