/** A browser: it keeps cookies as their attributes say, and names the page that asks. */

import { type IncomingMessage, request } from "node:http";
import type { Running } from "../running.ts";

/** A cookie as the server set it. */
interface SetCookie {
  name: string;
  value: string;
  /** By their names in lower case; a flag has the value "". */
  attributes: Record<string, string>;
}

export interface Page<T = Record<string, unknown>> {
  status: number;
  headers: IncomingMessage["headers"];
  cookies: SetCookie[];
  text: string;
  /** Undefined where the body is not JSON. */
  json: T;
}

export interface Browsing {
  method?: string;
  /** Sent as JSON. */
  body?: unknown;
  /** More headers, or others; undefined: without the one that is sent by itself. */
  headers?: Record<string, string | undefined>;
}

/** What a proxy on the server's machine adds that browsers reach over HTTPS. */
export const proxied = { "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7" };

export class Browser {
  readonly #server: Running;
  readonly #always: Record<string, string>;
  readonly jar = new Map<string, string>();

  /** `always`: headers of every request, such as those of a proxy. */
  constructor(server: Running, always: Record<string, string> = {}) {
    this.#server = server;
    this.#always = always;
  }

  get cookieHeader(): string | undefined {
    const pairs = [...this.jar].map(([name, value]) => `${name}=${value}`);
    return pairs.length === 0 ? undefined : pairs.join("; ");
  }

  /** Asks as a script of the server's own page does. Redirects are not followed. */
  async ask<T = Record<string, unknown>>(path: string, browsing: Browsing = {}): Promise<Page<T>> {
    const { body, method = body === undefined ? "GET" : "POST", headers } = browsing;
    const sent = {
      "Sec-Fetch-Site": "same-origin",
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(this.cookieHeader === undefined ? {} : { Cookie: this.cookieHeader }),
      ...this.#always,
      ...headers,
    };
    const page = await send<T>(this.#server, method, path, sent, body);
    for (const { name, value, attributes } of page.cookies) {
      if (attributes["max-age"] === "0") this.jar.delete(name);
      else this.jar.set(name, value);
    }
    return page;
  }

  /** Follows a link from a page of another site. */
  follow(path: string): Promise<Page> {
    const navigation = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document" };
    return this.ask(path, { headers: navigation });
  }

  signIn(token: string): Promise<Page<Who>> {
    return this.ask<Who>("/api/v1/session", { body: { token } });
  }

  async who(): Promise<Who> {
    return (await this.ask<Who>("/api/v1/session")).json;
  }

  /** Status of a request that takes the permission to search. */
  async status(): Promise<number> {
    return (await this.ask("/api/v1/alerts")).status;
  }
}

/** What the server says of who asks. */
export interface Who {
  signedIn: boolean;
  name: string;
  role: string;
  groups: string[] | null;
  expiresAt?: number;
  permissions: string[];
  features: { signIn: boolean; oidc: boolean; anonymousRead: boolean };
  error?: string;
}

/** Sends headers that fetch would not, such as Host. */
async function send<T>(
  server: Running,
  method: string,
  path: string,
  headers: Record<string, string | undefined>,
  body: unknown,
): Promise<Page<T>> {
  const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  const known = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const length = text === undefined ? {} : { "Content-Length": String(Buffer.byteLength(text)) };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { method, headers: { ...length, ...Object.fromEntries(known) }, agent: false };
    const sending = request(new URL(path, server.url), options, resolve);
    sending.on("error", reject);
    sending.end(text);
  });
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const answer = Buffer.concat(chunks).toString();
  return {
    status: response.statusCode!,
    headers: response.headers,
    cookies: (response.headers["set-cookie"] ?? []).map(parseSetCookie),
    text: answer,
    json: parseJson(answer) as T,
  };
}

function parseSetCookie(header: string): SetCookie {
  const [[name, value] = ["", ""], ...attributes] = header.split(/;\s*/).map((pair) => {
    const at = pair.indexOf("=");
    return at < 0 ? ([pair, ""] as const) : ([pair.slice(0, at), pair.slice(at + 1)] as const);
  });
  const byName = attributes.map(([key, text]) => [key.toLowerCase(), text] as const);
  return { name, value, attributes: Object.fromEntries(byName) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
