/** Plays what an agent says to Elasticsearch, request by request, and finds the first answer that it would not accept. */

import { Agent, type IncomingHttpHeaders, request as openRequest } from "node:http";
import { gunzipSync } from "node:zlib";
import { Failure } from "../../../../engine/index.ts";
import { makeRequestBounds } from "../../../../server/http/request-bounds.ts";
import { openHttp } from "../../../../server/http/server.ts";
import { elasticsearchRoutes } from "../../../../server/ingest/elasticsearch/routes.ts";
import type { Intake } from "../../../../server/ingest/intake.ts";
import { Metrics } from "../../../../server/metrics/metrics.ts";
import { ask } from "../../control/asking.ts";
import { ingest, lines, type Running } from "../../running.ts";

export interface AgentRequest {
  method: "GET" | "HEAD" | "POST" | "PUT";
  /** With the query, escaped as the agent does. */
  path: string;
  /** All that the agent sends but Host, Connection and Content-Length. */
  headers: Readonly<Record<string, string>>;
  body?: string | Buffer;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface Step extends AgentRequest {
  /** What the agent requires of the answer. */
  requires: string;
  /** False, or an error, where the agent would not go on. */
  accepts(answer: Answer): boolean;
}

/** What an agent does with the documents of a bulk, by their positions. */
export interface Outcome {
  stored: number[];
  dropped: number[];
  sentAgain: number[];
}

/** What becomes of each document of a bulk, by its position. */
export function sortDocuments(count: number, fateOf: (position: number) => keyof Outcome): Outcome {
  const outcome: Outcome = { stored: [], dropped: [], sentAgain: [] };
  for (let position = 0; position < count; position++) outcome[fateOf(position)].push(position);
  return outcome;
}

const connections = new Agent({ keepAlive: true });

/** Sends a request with exactly these headers, over a connection that stays open. */
export function say({ port }: { port: number }, sent: AgentRequest): Promise<Answer> {
  const { method, path, headers, body } = sent;
  const hasBody = method === "POST" || method === "PUT";
  const length = hasBody ? { "Content-Length": Buffer.byteLength(body ?? "") } : {};
  return new Promise((resolve, reject) => {
    const options = { port, method, path, agent: connections, headers: { ...headers, ...length } };
    const request = openRequest(options, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => {
        const bytes = Buffer.concat(parts);
        const isPacked = response.headers["content-encoding"] === "gzip" && bytes.length > 0;
        const text = (isPacked ? gunzipSync(bytes) : bytes).toString("utf8");
        resolve({ status: response.statusCode!, headers: response.headers, text });
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}

/** Plays the steps in order. Returns the first answer that the agent would not accept; null where it accepts all. */
export async function converse(server: { port: number }, steps: readonly Step[]): Promise<string | null> {
  for (const step of steps) {
    const answer = await say(server, step);
    const problem = problemOf(step, answer);
    if (problem !== null) return `${step.method} ${step.path}: ${problem}, got ${describe(answer)}`;
  }
  return null;
}

function problemOf({ requires, accepts }: Step, answer: Answer): string | null {
  try {
    return accepts(answer) ? null : requires;
  } catch (error) {
    return `${requires} (${String(error)})`;
  }
}

const describe = ({ status, text }: Answer) => `${status} ${text.slice(0, 500)}`;

export const isSuccess = ({ status }: Answer) => status >= 200 && status <= 299;

/** The header of a user and a password, which is the token. */
export function basic(token: string): string {
  return `Basic ${Buffer.from(`svc:${token}`).toString("base64")}`;
}

/** The header of an API key, which is an id and the token. */
export function apiKey(token: string): string {
  return `ApiKey ${Buffer.from(`svc:${token}`).toString("base64")}`;
}

/** Actions and documents in turn, line by line. */
export function bulkOf(action: object, documents: readonly object[]): string {
  return lines(documents.flatMap((document) => [action, document]));
}

/** A token that has sent more than it may; `lift` removes its limit. */
export async function overdrawnSender(server: Running): Promise<{ token: string; lift(): Promise<void> }> {
  const bounds = { role: "ingest", rowsPerSecond: 1 };
  const { token, id } = (await ask<{ token: string; id: string }>(server, "POST", "/tokens", bounds)).json;
  const rows = Array.from({ length: 100 }, (_, i) => ({ message: `before ${i}` }));
  const { status } = await ingest(server, lines(rows), { Authorization: `Bearer ${token}` });
  if (status !== 200) throw new Error(`the sender's first rows were answered with ${status}`);
  const lift = async () => {
    await ask(server, "PUT", `/tokens/${id}`, { rowsPerSecond: null });
  };
  return { token, lift };
}

/** Elasticsearch's routes over a store whose disk is full: each body is answered with 503. */
export async function openFullServer(): Promise<{ port: number; close(): Promise<void> }> {
  const take = () => Promise.reject(new Failure("disk-full", "the disk is full"));
  const caller = { name: "sender", role: "ingest", tokenId: "sender", environment: "", groups: [] } as const;
  const server = await openHttp({
    address: { host: "127.0.0.1", port: 0 },
    routes: elasticsearchRoutes({ take } as unknown as Intake),
    access: { anonymousReads: true, onLoopback: true, hostNames: [], callerOf: () => caller },
    bounds: makeRequestBounds({ requestBytes: 2 ** 28 }),
    metrics: new Metrics(),
    onRefused: () => undefined,
    log: () => undefined,
  });
  return { port: server.port, close: () => server.close(100) };
}
