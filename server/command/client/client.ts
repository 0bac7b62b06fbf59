/** Talks to a running server. */

import { readFile } from "node:fs/promises";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Settings } from "../flags/flag.ts";
import type { serverFlags } from "../flags/shared-flags.ts";

type ServerSettings = Settings<typeof serverFlags>;

export interface Client {
  url: string;
  token: string | null;
}

export interface Answer {
  status: number;
  /** Seconds that the server asks to wait; null where it does not say. */
  retryAfterSeconds: number | null;
  text: string;
}

/** The server could not be reached: nothing listens there, or the connection broke. */
export class ConnectionProblem extends Error {}

export async function openClient(settings: ServerSettings): Promise<Client> {
  return { url: settings.url, token: settings.token ?? (await adminToken(settings)) };
}

/** An admin token is not sent to other machines unless somebody says so. */
async function adminToken(settings: ServerSettings): Promise<string | null> {
  const { hostname } = new URL(settings.url);
  if (!/^(?:localhost|127\.[\d.]+|\[::1\])$/.test(hostname)) return null;
  try {
    return (await readFile(join(settings.data, "admin-token"), "utf8")).trim();
  } catch {
    // No folder here, or not ours to read: then there is no token to send.
    return null;
  }
}

export interface Ask {
  method: "GET" | "POST" | "DELETE";
  path: string;
  headers?: Record<string, string>;
  body?: Uint8Array<ArrayBuffer> | string;
  signal?: AbortSignal;
}

/** Kept open between requests, for less time than the server waits. */
const keeping = { keepAlive: true, keepAliveMsecs: 1_000, timeout: 60_000 };
const agents = { "http:": new HttpAgent(keeping), "https:": new HttpsAgent(keeping) };

/** The whole answer. Throws ConnectionProblem. */
export async function ask(client: Client, request: Ask): Promise<Answer> {
  const response = await openAnswer(client, request);
  try {
    return answerOf(response, await text(response));
  } catch (error) {
    throw connectionProblem(client, error as NodeJS.ErrnoException);
  }
}

/** The answer as soon as it begins. Throws ConnectionProblem. (Not `fetch`, which refuses to talk to a list of ports.) */
export function openAnswer(client: Client, request: Ask): Promise<IncomingMessage> {
  const url = new URL(client.url + request.path);
  const isSecure = url.protocol === "https:";
  const { method, body, signal } = request;
  const headers: Record<string, string | number> = { ...request.headers };
  if (client.token !== null) headers.Authorization = `Bearer ${client.token}`;
  if (body !== undefined) headers["Content-Length"] = Buffer.byteLength(body);
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers,
      agent: agents[isSecure ? "https:" : "http:"],
      ...(signal ? { signal } : {}),
    };
    const sent = (isSecure ? httpsRequest : httpRequest)(url, options, resolve);
    sent.on("timeout", () => sent.destroy(new Error("no answer for a minute")));
    sent.on("error", (error) => reject(connectionProblem(client, error)));
    sent.end(body);
  });
}

export function answerOf(response: IncomingMessage, answer: string): Answer {
  const retryAfter = Number(response.headers["retry-after"] ?? Number.NaN);
  const retryAfterSeconds = Number.isNaN(retryAfter) ? null : retryAfter;
  return { status: response.statusCode ?? 0, text: answer, retryAfterSeconds };
}

function connectionProblem(client: Client, error: NodeJS.ErrnoException): ConnectionProblem {
  const problem =
    error.code === "ECONNREFUSED"
      ? `nothing listens on ${client.url}: start the server with \`svc serve\``
      : `cannot talk to ${client.url}: ${error.message || error.code}`;
  return new ConnectionProblem(problem);
}

/**
 * The pieces of a long answer as they come. Throws ConnectionProblem, also where the connection breaks before the end, and an Error
 * with the server's own sentence unless it is a success.
 */
export async function askPieces(client: Client, request: Ask): Promise<AsyncIterable<Uint8Array>> {
  const response = await openAnswer(client, request);
  if (response.statusCode === 200) return piecesOf(client, response);
  throw answerProblem(client, answerOf(response, await text(response)));
}

/** Throws ConnectionProblem where the connection breaks. */
export async function* piecesOf(client: Client, response: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of response) yield piece as Uint8Array;
  } catch (error) {
    throw connectionProblem(client, error as NodeJS.ErrnoException);
  }
}

/** The answer's JSON. Throws an Error with the server's own sentence unless it is a success. */
export async function askJson<T>(client: Client, request: Ask): Promise<T> {
  const answer = await ask(client, request);
  if (answer.status === 200) return JSON.parse(answer.text) as T;
  throw answerProblem(client, answer);
}

/** The server's own sentence about an answer that is no success. */
export function answerProblem(client: Client, answer: Answer): Error {
  return new Error(`${problemOf(answer)}${tokenHint(client, answer)}`);
}

/** The sentence of an error body, or the status where something else than svc answered. */
export function problemOf(answer: Answer): string {
  try {
    const { error } = JSON.parse(answer.text) as { error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // Not JSON, so not from svc: the status is all there is to say.
  }
  return `the server answered ${answer.status}`;
}

export function tokenHint(client: Client, answer: Answer): string {
  if (answer.status !== 401 || client.token !== null) return "";
  return " (give one with --token or SVC_TOKEN, or name the server's data folder with --data)";
}
