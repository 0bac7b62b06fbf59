/** A Kubernetes API server in this process: good enough for kubectl, with faults on demand. */
import { randomBytes } from "node:crypto";
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { Access, type Allow, type Attempt, type Caller } from "./access.ts";
import { type Authority, type Identity, makeAuthority } from "./certificate.ts";
import { Cluster, type ObjectReference } from "./cluster.ts";
import { Faults, type FaultTarget } from "./faults.ts";
import { findDiscovery, serverVersion } from "./kind/discovery.ts";
import { definitionCollection } from "./kind/kind-registry.ts";
import { openApiDocument, openApiIndex } from "./kind/openapi.ts";
import { makeKubeconfig } from "./kubeconfig.ts";
import type { Fields, KubernetesObject } from "./objects.ts";
import { parseResourcePath, type ResourcePath, readBody, verbOf } from "./request.ts";
import { type Answer, findKind, serveResource, watchRequestOf } from "./resource-requests.ts";
import { issueToken, reviewAccess } from "./reviews.ts";
import { internalError, noSuchPath, StatusError } from "./status.ts";
import { WatchStream } from "./watch-stream.ts";

export interface ApiServerOptions {
  /** False serves plain HTTP; `caPem` is empty then. */
  readonly tls?: boolean;
  /** The bearer token of the administrator; random where it is left out. */
  readonly token?: string;
  /** What callers may do; everything where it is left out. */
  readonly allow?: Allow;
  /** The clock of timestamps, tokens and ages. */
  readonly now?: () => Date;
  /** The time between bookmarks; a real server has a minute. */
  readonly bookmarkMs?: number;
}

/** Answers longer than this are compressed for clients that accept it, as a real server does. */
const compressedBytesMin = 128 * 1024;

/** Starts a server on a free port of this machine. */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const server = new ApiServer(options);
  await server.listen();
  return server;
}

export class ApiServer {
  readonly token: string;
  readonly faults: Faults;
  /** Tokens and what their callers may do. */
  readonly access: Access;
  readonly #cluster: Cluster;
  readonly #authority: Authority | undefined;
  readonly #identity: Identity | undefined;
  readonly #now: () => Date;
  readonly #bookmarkMs: number;
  readonly #sockets = new Set<Socket>();
  readonly #watches = new Set<WatchStream>();
  readonly #requests = new Map<string, number>();
  #server: Server | undefined;
  #port = 0;

  constructor({
    tls = true,
    token,
    allow = () => true,
    now = () => new Date(),
    bookmarkMs = 60_000,
  }: ApiServerOptions) {
    this.token = token ?? randomBytes(16).toString("hex");
    this.access = new Access(allow);
    this.access.addToken(this.token, { name: "admin", groups: ["system:masters"] });
    this.#now = now;
    this.#bookmarkMs = bookmarkMs;
    this.#cluster = new Cluster(now);
    this.#authority = tls ? makeAuthority() : undefined;
    this.#identity = this.#authority?.issueServer(
      ["localhost", "kubernetes.default.svc"],
      [
        [127, 0, 0, 1],
        [...Array<number>(15).fill(0), 1],
      ],
    );
    this.faults = new Faults(this.#faultTarget());
    this.#cluster.store.subscribe(({ type, collection }) => {
      if (type === "DELETED" && collection === definitionCollection) setImmediate(() => this.#endOrphans());
    });
  }

  get url(): string {
    return `${this.#identity === undefined ? "http" : "https"}://127.0.0.1:${this.#port}`;
  }

  /** The certificate of the authority that signed the server's; "" without TLS. */
  get caPem(): string {
    return this.#authority?.certPem ?? "";
  }

  /** How many watches are open. */
  get watchCount(): number {
    return this.#watches.size;
  }

  /** How many requests came for a verb of a resource, such as `list` of `secrets`. */
  countRequests(verb: string, resource: string): number {
    return this.#requests.get(`${verb} ${resource}`) ?? 0;
  }

  /** The text of a kubeconfig file for the administrator, or for another token. */
  kubeconfig({
    token = this.token,
    namespace = "default",
  }: {
    token?: string;
    namespace?: string;
  } = {}): string {
    return makeKubeconfig({ url: this.url, caPem: this.caPem, token, namespace });
  }

  /** A certificate that authenticates a user without a token. Needs TLS. */
  issueClientCertificate(user: string, groups: readonly string[] = []): Identity {
    return this.#authority!.issueClient(user, groups);
  }

  create(object: KubernetesObject, manager?: string): KubernetesObject {
    return this.#cluster.create(object, manager);
  }

  apply(object: KubernetesObject, manager?: string): KubernetesObject {
    return this.#cluster.apply(object, manager);
  }

  get(reference: ObjectReference): KubernetesObject | undefined {
    return this.#cluster.get(reference);
  }

  list(apiVersion: string, kind: string, namespace?: string): KubernetesObject[] {
    return this.#cluster.list(apiVersion, kind, namespace);
  }

  delete(reference: ObjectReference): void {
    this.#cluster.delete(reference);
  }

  /** Opens the port: a free one the first time, the same one later. */
  async listen(): Promise<void> {
    const serve = (request: IncomingMessage, response: ServerResponse) => void this.#serve(request, response);
    const { certPem: cert, keyPem: key } = this.#identity ?? {};
    const server =
      cert === undefined || key === undefined
        ? createHttpServer(serve)
        : createHttpsServer(
            { cert, key, ca: this.caPem, requestCert: true, rejectUnauthorized: false },
            serve,
          );
    const track = (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => this.#sockets.delete(socket));
    };
    server.on("connection", track);
    server.on("tlsClientError", () => undefined);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.#port, "127.0.0.1", resolve);
    });
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    await this.#close();
    this.#cluster.close();
  }

  async #close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    this.#dropConnections();
    await closed;
  }

  #dropConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Ends the watches of kinds that are no longer served. */
  #endOrphans(): void {
    const served = new Set(this.#cluster.kinds.list().map(({ collection }) => collection));
    for (const watch of this.#watches) if (!served.has(watch.kind.collection)) watch.end();
  }

  #faultTarget(): FaultTarget {
    const { store } = this.#cluster;
    return {
      dropConnections: () => this.#dropConnections(),
      stallWatches: () => {
        for (const watch of this.#watches) watch.stall();
      },
      expireWatches: () => {
        for (const watch of this.#watches) watch.expire();
      },
      compact: () => store.compact(),
      goDown: () => this.#close(),
      comeBack: () => {
        store.compact();
        return this.listen();
      },
      expireToken: (token) => this.access.expireToken(token),
    };
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = new URL(request.url ?? "/", "http://localhost");
      const path = parseResourcePath(url.pathname);
      const caller = () => this.access.authenticate(request, this.#now().getTime());
      if (path === undefined) {
        caller();
        return send(request, response, { code: 200, body: this.#findDocument(url.pathname) });
      }
      await this.#serveResource(request, response, url.searchParams, path, caller);
    } catch (error) {
      refuse(request, response, error);
    }
  }

  async #serveResource(
    request: IncomingMessage,
    response: ServerResponse,
    query: URLSearchParams,
    path: ResourcePath,
    authenticate: () => Caller,
  ): Promise<void> {
    const verb = verbOf(request.method ?? "GET", path, query);
    const { group, plural: resource, subresource, namespace, name } = path;
    this.#requests.set(`${verb} ${resource}`, this.countRequests(verb, resource) + 1);
    const nobody: Caller = { name: "system:anonymous", groups: [] };
    const attempt: Attempt = { caller: nobody, verb, group, resource, subresource, namespace, name };
    for (const effect of this.faults.take(attempt)) {
      if (effect.type === "answer") throw effect.error;
      if (effect.type === "drop") return void request.socket.destroy();
      await new Promise((resolve) => setTimeout(resolve, effect.ms));
    }
    const caller = authenticate();
    const now = this.#now();
    if (group === "authorization.k8s.io") {
      const review = await readBody(request);
      return send(request, response, { code: 201, body: reviewAccess(review, caller, this.access.allow) });
    }
    this.access.authorize({ ...attempt, caller });
    if (resource === "serviceaccounts" && subresource === "token") {
      const body = issueToken(await readBody(request), { namespace, name }, this.access, now);
      return send(request, response, { code: 201, body });
    }
    const kind = findKind(this.#cluster, path);
    const of = { request, query, path, kind, now: now.getTime() };
    if (verb === "watch")
      this.#watch(
        new WatchStream(watchRequestOf(of), response, this.#cluster.store, this.#bookmarkMs),
        response,
      );
    else send(request, response, await serveResource(this.#cluster, verb, of));
  }

  #watch(watch: WatchStream, response: ServerResponse): void {
    this.#watches.add(watch);
    response.on("close", () => this.#watches.delete(watch));
    watch.start();
    if (this.faults.stallsNewWatches) watch.stall();
  }

  #findDocument(pathname: string): Fields {
    const kinds = this.#cluster.kinds.list();
    if (pathname === "/version") return serverVersion;
    if (["/healthz", "/livez", "/readyz"].includes(pathname)) return { status: "ok" };
    if (pathname === "/openapi/v3") return openApiIndex(kinds, this.#cluster.store.revision);
    const [, document] = /^\/openapi\/v3\/(.+)$/.exec(pathname) ?? [];
    const found = document === undefined ? findDiscovery(pathname, kinds) : openApiDocument(document, kinds);
    if (found === undefined) throw noSuchPath();
    return found;
  }
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { code, body, warnings = [] }: Answer,
): void {
  const text = Buffer.from(JSON.stringify(body));
  const accepts = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  const isCompressed = accepts && text.length > compressedBytesMin;
  const headers: OutgoingHttpHeaders = { "content-type": "application/json" };
  if (isCompressed) headers["content-encoding"] = "gzip";
  if (warnings.length > 0) {
    response.setHeader(
      "warning",
      warnings.map((warning) => `299 - ${JSON.stringify(warning)}`),
    );
  }
  response.writeHead(code, headers);
  response.end(isCompressed ? gzipSync(text, { level: 1 }) : text);
}

function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  const refusal = error instanceof StatusError ? error : internalError(String((error as Error).stack));
  if (response.headersSent || response.destroyed) return void response.destroy();
  if (refusal.retryAfter !== undefined) response.setHeader("retry-after", String(refusal.retryAfter));
  send(request, response, { code: refusal.code, body: refusal.toStatus() });
}
