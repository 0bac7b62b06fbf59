/** The page part of the server: the document for browsers at each of the page's paths, and its assets. */

import { defineRoute } from "../api/define-route.ts";
import type { Part } from "../api/part.ts";
import { Reply, type Route } from "../api/route.ts";
import { Refusal } from "../throttle/refusal.ts";
import { type BuiltPage, pageFolder, readAsset, readPage } from "./page-files.ts";

export interface PageSettings {
  /** Where the built page is; absent for the folder that the build writes. */
  pageFolder?: string;
}

/** The page's own paths: a browser that opens one of them gets the document. */
const paths = [
  "/",
  "/traces",
  "/traces/{id}",
  "/metrics/explore",
  "/dashboards",
  "/dashboards/{id}",
  "/alerts",
  "/alerts/{id}",
  "/alerts/{id}/edit",
  "/integrations",
  "/settings/{section}",
  "/investigations",
  "/investigations/{id}",
  "/silences",
  "/signin",
] as const;

/** Scripts, styles and answers come from this server alone, and no text becomes a script. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const open = {
  method: "GET",
  permission: null,
  errorBody: ({ message }: { message: string }) => ({
    contentType: "text/plain; charset=utf-8",
    body: `${message}\n`,
  }),
} as const;

export function pagePart({ pageFolder: folder = pageFolder }: PageSettings): Part {
  let page: BuiltPage | undefined;
  return {
    routes: [...paths.map((path) => documentRoute(path, () => page)), assetRoute(folder, () => page)],
    run: () => {
      page = readPage(folder);
    },
    close: () => undefined,
  };
}

function documentRoute(path: string, page: () => BuiltPage | undefined): Route {
  return defineRoute({
    ...open,
    path,
    accepts: "text/html",
    handle: async ({ request: { headers } }) => {
      const { document, etag } = pageOf(page());
      const isKnown = headers.get("if-none-match") === etag;
      return new Reply({
        status: isKnown ? 304 : 200,
        headers: {
          "Content-Type": "text/html; charset=utf-8",
          "Cache-Control": "no-cache",
          "Content-Security-Policy": contentSecurityPolicy,
          "Cross-Origin-Opener-Policy": "same-origin",
          ETag: etag,
          Vary: "Accept",
        },
        body: isKnown ? "" : document,
      });
    },
  });
}

function assetRoute(folder: string, page: () => BuiltPage | undefined): Route {
  return defineRoute({
    ...open,
    path: "/assets/*",
    handle: async ({ params, request: { headers } }) => {
      const file = pageOf(page()).assets.get(params["*"]);
      if (file === undefined) throw new Refusal(404, "the page has no such file; load the page again");
      const { bytes, encoding } = readAsset(folder, file, headers.get("accept-encoding") ?? "");
      // A name with a hash is never used for other contents.
      const isHashed = /-[A-Z0-9]{8}\.\w+$/.test(file.name);
      return new Reply({
        status: 200,
        headers: {
          "Content-Type": file.contentType,
          "Cache-Control": isHashed ? "public, max-age=31536000, immutable" : "public, max-age=3600",
          Vary: "Accept-Encoding",
          ...(encoding === undefined ? {} : { "Content-Encoding": encoding }),
        },
        body: bytes,
      });
    },
  });
}

/** Throws Refusal 404 where the page was not built. */
function pageOf(page: BuiltPage | undefined): BuiltPage {
  if (page !== undefined) return page;
  throw new Refusal(
    404,
    "the page is not built: `npm start` and `npm run build` build it. The API is described at /docs",
  );
}
