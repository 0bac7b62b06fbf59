/** Where a request comes from: through a proxy, over TLS, from which page. All of it by the request's headers. */

import { isIP } from "node:net";

/** What authentication reads of a request. */
export interface RequestHead {
  method: string;
  /** Names in lower case. */
  headers: ReadonlyMap<string, string>;
  /** The query of the path, still encoded. */
  queryText?: string | undefined;
  /** The part of the path that is the token, on routes whose senders put it there. */
  tokenInPath?: string | undefined;
}

/**
 * A request with such a header came through a proxy: its sender is not on this machine, whatever the socket says. Every
 * proxy has names of its own, so all names count that begin with `x-`, sound of forwarding, or say what only a proxy
 * knows: the user or the certificate of the client.
 */
const forwardingHeader =
  /^(?:x-|cf-|fly-|fastly-|akamai-|tailscale-|surrogate-|true-|remote-|ssl-|via$)|forward|proxy|proxied|client-?(?:ip|cert)|real-?ip|original|cdn/;
/** Sent by programs that ask a server directly. */
const directHeaders: ReadonlySet<string> = new Set(["x-requested-with", "proxy-connection"]);

/** What shows that the request came through a proxy, in words; undefined where nothing does. */
export function findProxySign({ headers }: RequestHead): string | undefined {
  for (const name of headers.keys()) {
    if (forwardingHeader.test(name) && !directHeaders.has(name))
      return `the request came through a proxy: it bears the header ${name.slice(0, 100)}`;
  }
  const name = hostName(headers.get("host") ?? "");
  return isLoopbackName(name)
    ? undefined
    : `its Host ${JSON.stringify(name.slice(0, 100))} is not this machine's own`;
}

/** How people reach the server. */
export interface ServerPlace {
  /** The server can be reached from its own machine only. */
  onLoopback: boolean;
  /** The URL at which people reach the server, without a slash at its end; undefined: where it listens. */
  publicUrl?: string | undefined;
}

/**
 * How the request travelled: "loopback": straight from this machine, which needs no TLS; "https"; "plain": over a
 * network that can read it. X-Forwarded-Proto counts on loopback alone, where only a proxy on this machine can send it.
 */
export function transportOf(
  head: RequestHead,
  { onLoopback, publicUrl }: ServerPlace,
): "loopback" | "https" | "plain" {
  if (findProxySign(head) === undefined) return "loopback";
  if (publicUrl?.startsWith("https:")) return "https";
  // A chain of proxies makes a list, which begins with what the browser used.
  const isForwarded = /^\s*https\s*(?:,|$)/i.test(head.headers.get("x-forwarded-proto") ?? "");
  return onLoopback && isForwarded ? "https" : "plain";
}

/**
 * True where a page of another site made the browser ask: it could not read the answer, but would cost the server work.
 */
export function isFromOtherSite({ headers }: RequestHead): boolean {
  const origin = headers.get("origin");
  if (origin === undefined) {
    const site = headers.get("sec-fetch-site");
    return site !== undefined && site !== "same-origin" && site !== "none";
  }
  return URL.parse(origin)?.host !== headers.get("host");
}

/** True where a person follows a link: the page that has the link gets nothing of the answer. */
export function isNavigation({ headers }: RequestHead): boolean {
  return headers.get("sec-fetch-dest") === "document";
}

/**
 * True where the browser says that a page of the server's own sent the request, with the transport of the page.
 * Sec-Fetch-Site decides, which pages cannot set; browsers leave it out over plain HTTP, and then Origin decides.
 */
export function isFromOwnPage(
  { headers }: RequestHead,
  transport: "https" | "loopback",
  { publicUrl }: ServerPlace,
): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== undefined) return site === "same-origin";
  const origin = headers.get("origin");
  if (origin === undefined) return false;
  const scheme = transport === "https" ? "https" : "http";
  const own = [`${scheme}://${headers.get("host")}`, ...(transport === "https" ? [publicUrl] : [])];
  return own.some((url) => url !== undefined && URL.parse(url)?.origin === origin);
}

/** The name without its port, in lower case; `[::1]:80` gives `::1`. */
export function hostName(host: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(host.toLowerCase()) ?? [];
  return bracketed ?? plain ?? "";
}

/** True where only this machine can reach the address. */
export function isLoopbackName(name: string): boolean {
  if (isIP(name) === 4) return name.startsWith("127.");
  if (isIP(name) === 6) return name === "::1" || name === "0:0:0:0:0:0:0:1";
  return name === "localhost" || name.endsWith(".localhost");
}
