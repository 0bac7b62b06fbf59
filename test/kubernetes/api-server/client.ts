/** A client that hides nothing: status codes, headers and raw bodies of an API server, from a kubeconfig file. */
import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { parse } from "yaml";
import type { Fields, KubernetesObject } from "./objects.ts";

export interface ClientOptions {
  readonly type?: string;
  readonly accept?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

export interface ClientAnswer {
  readonly code: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Fields;
}

/** One line of a watch. */
export interface WatchEvent {
  readonly type: string;
  readonly object: KubernetesObject;
}

interface Kubeconfig {
  clusters: { cluster: { server: string; "certificate-authority-data"?: string } }[];
  users: { user: { token?: string; "client-certificate-data"?: string; "client-key-data"?: string } }[];
}

export class ApiClient {
  readonly #server: string;
  readonly #token: string | undefined;
  readonly #agent: HttpAgent;

  constructor(kubeconfig: string) {
    const config = parse(kubeconfig) as Kubeconfig;
    const { server, "certificate-authority-data": ca } = config.clusters[0]!.cluster;
    const { token, "client-certificate-data": cert, "client-key-data": key } = config.users[0]!.user;
    const decode = (text: string | undefined) => (text === undefined ? {} : Buffer.from(text, "base64"));
    this.#server = server;
    this.#token = token;
    this.#agent = server.startsWith("https")
      ? new HttpsAgent({
          keepAlive: true,
          ...(ca === undefined ? {} : { ca: decode(ca) as Buffer }),
          ...(cert === undefined ? {} : { cert: decode(cert) as Buffer, key: decode(key) as Buffer }),
        })
      : new HttpAgent({ keepAlive: true });
  }

  /** Sends a request and reads its JSON answer, whatever its status is. */
  async send(
    method: string,
    path: string,
    body?: unknown,
    options: ClientOptions = {},
  ): Promise<ClientAnswer> {
    const answer = await this.#open(method, path, body, options);
    const parts: Buffer[] = [];
    for await (const part of answer as AsyncIterable<Buffer>) parts.push(part);
    const text = Buffer.concat(parts).toString();
    return {
      code: answer.statusCode!,
      headers: answer.headers,
      body: text === "" ? {} : (JSON.parse(text) as Fields),
    };
  }

  get(path: string, options: ClientOptions = {}): Promise<ClientAnswer> {
    return this.send("GET", path, undefined, options);
  }

  /** Server-side apply. */
  apply(path: string, manager: string, body: unknown, query = ""): Promise<ClientAnswer> {
    return this.send("PATCH", `${path}?fieldManager=${manager}${query}`, body, {
      type: "application/apply-patch+yaml",
    });
  }

  mergePatch(path: string, body: unknown): Promise<ClientAnswer> {
    return this.send("PATCH", path, body, { type: "application/merge-patch+json" });
  }

  jsonPatch(path: string, body: unknown): Promise<ClientAnswer> {
    return this.send("PATCH", path, body, { type: "application/json-patch+json" });
  }

  /** The events of a watch until the server ends it, or the signal does. */
  async *watch(path: string, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const answer = await this.#open("GET", path, undefined, { signal });
    let rest = "";
    for await (const part of answer.setEncoding("utf8") as AsyncIterable<string>) {
      const lines = (rest + part).split("\n");
      rest = lines.pop()!;
      for (const line of lines) yield JSON.parse(line) as WatchEvent;
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #open(method: string, path: string, body: unknown, options: ClientOptions): Promise<IncomingMessage> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      accept: options.accept ?? "application/json",
      ...(text === undefined
        ? {}
        : {
            "content-type": options.type ?? "application/json",
            // Without a length Node sends the body of a DELETE unframed.
            "content-length": String(Buffer.byteLength(text)),
          }),
      ...options.headers,
    };
    const open = this.#server.startsWith("https") ? httpsRequest : httpRequest;
    const settings: RequestOptions = { method, headers, agent: this.#agent };
    if (options.signal !== undefined) settings.signal = options.signal;
    return new Promise((resolve, reject) => {
      const request = open(`${this.#server}${path}`, settings, resolve);
      request.on("error", reject);
      request.end(text);
    });
  }
}

/** Reads events until `isLast` holds for one, and ends the watch. Fails after ten seconds. */
export async function readWatch(
  client: ApiClient,
  path: string,
  isLast: (event: WatchEvent, events: readonly WatchEvent[]) => boolean,
): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  const signal = AbortSignal.timeout(10_000);
  for await (const event of client.watch(path, signal)) {
    events.push(event);
    if (isLast(event, events)) break;
  }
  return events;
}
