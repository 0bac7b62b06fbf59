/** The hub as its exporters see it. */

import { Agent, type IncomingMessage, request as plainRequest } from "node:http";
import { request as secureRequest, Agent as TlsAgent } from "node:https";
import { withJoinedSignal } from "../../throttle/joined-signal.ts";
import { readRetryAfter } from "../../throttle/retry-after.ts";
import { retryAfterMsMax } from "../gateway/limits.ts";
import { hubAnswerBytesMax, hubAnswerMsMax } from "./limits.ts";

/** An object as the hub takes it. */
export interface DesiredObject {
  kind: string;
  metadata: { name: string; namespace?: string | undefined; uid: string; generation?: number | undefined };
  spec: unknown;
}

export interface ObjectKey {
  kind: string;
  /** Absent for objects without a namespace. */
  namespace?: string | undefined;
  name: string;
}

/** A range of objects by `<namespace>/<name>`, in order of text: above `after`, up to and with `upTo`. Either bound may be absent. */
export interface NameRange {
  after?: string | undefined;
  upTo?: string | undefined;
}

/** What the hub made of an object. */
export interface AppliedObject {
  kind: string;
  namespace: string;
  name: string;
  uid: string;
  id: string;
  reason: string;
  isTemporary: boolean;
  message: string;
}

/** A Secret's key that the hub needs for a delivery. */
export interface WantedSecret {
  id: string;
  namespace: string;
  name: string;
  key: string;
}

/** Answer to a wanted Secret: its value, or why there is none. */
export type FoundSecret = { id: string } & ({ value: string } | { problem: string });

export interface PollAnswer {
  secrets: WantedSecret[];
  /** How many synchronisations the hub has asked for. */
  synchronisations: number;
  /** Changes with the cluster's ingestion rules. */
  rulesRevision: string;
}

/** The hub refused a request, or could not be reached. */
export class HubError extends Error {
  /** HTTP status; 0 where no answer came. */
  readonly status: number;
  /** The shortest pause that the hub asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, status: number, retryAfterMs?: number) {
    super(message);
    this.name = "HubError";
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  /** True where the same request may be taken later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }

  /** True where the request's body is wrong or too long: a part of it may be taken. */
  get isOfBody(): boolean {
    return this.status === 400 || this.status === 413;
  }
}

export interface HubClientOptions {
  /** Base address, such as `https://hub.example`. */
  url: string;
  /** The token of the cluster's environment; read anew for each request, since it may be rotated. */
  token: () => string;
}

/** Throws HubError from every method. */
export class HubClient {
  readonly #options: HubClientOptions;
  readonly #isSecure: boolean;
  readonly #agent: Agent;

  constructor(options: HubClientOptions) {
    this.#options = options;
    this.#isSecure = options.url.startsWith("https:");
    this.#agent = new (this.#isSecure ? TlsAgent : Agent)({ keepAlive: true });
  }

  /** Ends all connections. */
  close(): void {
    this.#agent.destroy();
  }

  async apply(objects: readonly DesiredObject[]): Promise<AppliedObject[]> {
    const { results } = await this.#post<{ results: AppliedObject[] }>("objects", { objects });
    return results;
  }

  async remove(objects: readonly ObjectKey[]): Promise<void> {
    await this.#post("objects/delete", { objects });
  }

  /** Removes at the hub what no object of this kind in the range makes any more. Returns how many resources that were. */
  async sweep(kind: string, kept: readonly Omit<ObjectKey, "kind">[], range: NameRange): Promise<number> {
    const { removed } = await this.#post<{ removed: number }>("objects/sweep", { kind, kept, ...range });
    return removed;
  }

  /** Waits up to half a minute for what the hub wants. */
  poll(
    body: {
      exporter: string;
      secretRefs: boolean;
      synchronisations: number;
      rulesRevision: string;
      secrets: readonly FoundSecret[];
    },
    signal: AbortSignal,
  ): Promise<PollAnswer> {
    return this.#post<PollAnswer>("channel", body, signal);
  }

  /** The ingestion rules of the cluster, and their revision. */
  async ingestionRules(): Promise<{ revision: string; rules: unknown[] }> {
    return this.#request("GET", "ingestion-rules");
  }

  #post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    return this.#request<T>("POST", path, JSON.stringify(body), signal);
  }

  async #request<T>(method: string, path: string, body?: string, signal?: AbortSignal): Promise<T> {
    const timeout = AbortSignal.timeout(hubAnswerMsMax);
    const sources = signal === undefined ? [timeout] : [signal, timeout];
    let response: IncomingMessage;
    let text: string;
    try {
      [response, text] = await withJoinedSignal(sources, async (ending) => {
        const answered = await this.#send(method, path, body, ending);
        return [answered, await readText(answered)];
      });
    } catch (error) {
      if (error instanceof HubError) throw error;
      const { message, code } = error as Error & { code?: string };
      throw new HubError(`the hub cannot be reached: ${code ?? message}`, 0);
    }
    const { statusCode: status = 0, headers } = response;
    const answer = parseJson(text);
    if (status === 200 && answer !== undefined) return answer as T;
    const problem = (answer as { error?: string } | undefined)?.error ?? "no reason was given";
    const retryAfterMs = readRetryAfter(headers["retry-after"], retryAfterMsMax);
    throw new HubError(`the hub answered ${status}: ${problem}`, status, retryAfterMs);
  }

  #send(
    method: string,
    path: string,
    body: string | undefined,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { url, token } = this.#options;
    const described =
      body === undefined
        ? {}
        : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    const headers = { Authorization: `Bearer ${token()}`, ...described };
    const send = this.#isSecure ? secureRequest : plainRequest;
    return new Promise((resolve, reject) => {
      const options = { method, headers, signal, agent: this.#agent };
      const sent = send(`${url}/api/v1/kubernetes/${path}`, options, resolve);
      sent.on("error", reject);
      sent.end(body);
    });
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > hubAnswerBytesMax) throw new HubError("the hub's answer is too long", 0);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
