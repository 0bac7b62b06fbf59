/** HTTP client of a running server. */

import { readFile } from "node:fs/promises";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import {
  isProof,
  makeChallenge,
  proofPath,
  readServerAddress,
  type ServerAddress,
} from "../../operations/server-address.ts";
import type { Settings } from "../flags/flag.ts";
import type { serverFlags } from "../flags/shared-flags.ts";

type ServerSettings = Settings<typeof serverFlags>;

export interface Client {
  url: string;
  token: string | null;
  /** A server that sends nothing for so long is given up. */
  timeoutMs: number;
}

export interface Answer {
  status: number;
  /** From `Retry-After`; null without that header. */
  retryAfterSeconds: number | null;
  text: string;
}

/** The server could not be reached: nothing listens there, or the connection broke. */
export class ConnectionProblem extends Error {
  /** Nothing listens there. */
  readonly isRefused: boolean;

  constructor(message: string, isRefused: boolean) {
    super(message);
    this.isRefused = isRefused;
  }
}

/** Address of a server that is named neither by `--url` nor by a data folder. */
const defaultUrl = "http://127.0.0.1:8080";

/**
 * Finds the server: at the given URL, else the one that has the data folder open. The token is the given one, else the
 * admin token of the data folder. That token is sent to the server that has the folder open, and to no other.
 */
export async function openClient({ url, token, data, timeout }: ServerSettings): Promise<Client> {
  const address = readServerAddress(data);
  const client = { url: url ?? address?.url ?? defaultUrl, token, timeoutMs: timeout };
  if (token !== null || address === undefined || !(await hasFolderOpen(client, address))) return client;
  return { ...client, token: await readAdminToken(data) };
}

/** Asks the server to prove that it is the one of the data folder. A relay elsewhere could pass the proof on. */
async function hasFolderOpen(client: Client, { secret }: ServerAddress): Promise<boolean> {
  if (!/^(?:localhost|127\.[\d.]+|\[::1\])$/.test(new URL(client.url).hostname)) return false;
  const challenge = makeChallenge();
  try {
    const path = `${proofPath}?challenge=${challenge}`;
    const answer = await ask({ ...client, token: null }, { method: "GET", path });
    return answer.status === 200 && isProof(secret, challenge, String(JSON.parse(answer.text).proof));
  } catch {
    return false;
  }
}

/** Null where the file does not exist or is not readable: then there is no token to send. */
async function readAdminToken(dataDir: string): Promise<string | null> {
  try {
    return (await readFile(join(dataDir, "admin-token"), "utf8")).trim();
  } catch {
    return null;
  }
}

export interface ApiRequest {
  method: "GET" | "POST" | "DELETE";
  path: string;
  headers?: Record<string, string>;
  /** Of bytes in pieces, all are sent, one after the other. */
  body?: readonly Uint8Array[] | string;
  /** Called once the system has taken all bytes to send. */
  onSent?: () => void;
  signal?: AbortSignal;
}

/** Idle connections stay open between requests, for less time than the server keeps them. */
const keepAliveOptions = { keepAlive: true, keepAliveMsecs: 1_000, timeout: 60_000 };
const agents = { "http:": new HttpAgent(keepAliveOptions), "https:": new HttpsAgent(keepAliveOptions) };

/** Returns the whole answer, whatever its status. Throws ConnectionProblem. */
export async function ask(client: Client, request: ApiRequest): Promise<Answer> {
  const response = await sendRequest(client, request);
  try {
    return toAnswer(response, await text(response));
  } catch (error) {
    throw toConnectionProblem(client, error as NodeJS.ErrnoException);
  }
}

/** Returns the answer as soon as it begins. Throws ConnectionProblem. `fetch` is not used: it refuses some ports. */
export function sendRequest(client: Client, request: ApiRequest): Promise<IncomingMessage> {
  const url = new URL(client.url + request.path);
  const isSecure = url.protocol === "https:";
  const { method, body, signal } = request;
  const headers: Record<string, string | number> = { ...request.headers };
  if (client.token !== null) headers.Authorization = `Bearer ${client.token}`;
  const pieces = typeof body === "string" ? [Buffer.from(body)] : (body ?? []);
  if (body !== undefined) headers["Content-Length"] = pieces.reduce((sum, { length }) => sum + length, 0);
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers,
      timeout: client.timeoutMs,
      agent: agents[isSecure ? "https:" : "http:"],
      ...(signal ? { signal } : {}),
    };
    const sent = (isSecure ? httpsRequest : httpRequest)(url, options, resolve);
    sent.on("timeout", () => {
      sent.destroy(new Error(`no answer for ${client.timeoutMs / 1_000} s (--timeout lets it take longer)`));
    });
    sent.on("error", (error) => reject(toConnectionProblem(client, error)));
    if (request.onSent !== undefined) sent.on("finish", request.onSent);
    for (const piece of pieces) sent.write(piece);
    sent.end();
  });
}

export function toAnswer(response: IncomingMessage, answer: string): Answer {
  const retryAfter = Number(response.headers["retry-after"] ?? Number.NaN);
  const retryAfterSeconds = Number.isNaN(retryAfter) ? null : retryAfter;
  return { status: response.statusCode ?? 0, text: answer, retryAfterSeconds };
}

function toConnectionProblem(client: Client, error: NodeJS.ErrnoException): ConnectionProblem {
  const isRefused = error.code === "ECONNREFUSED";
  const problem = isRefused
    ? `nothing listens on ${client.url}: start the server with \`svc serve\``
    : `cannot talk to ${client.url}: ${error.message || error.code}`;
  return new ConnectionProblem(problem, isRefused);
}

/**
 * Returns the pieces of a long answer as they come. Throws an Error with the server's sentence where the status is not
 * 200. Throws ConnectionProblem, also while iterating where the connection breaks before the end.
 */
export async function askPieces(client: Client, request: ApiRequest): Promise<AsyncIterable<Uint8Array>> {
  const response = await sendRequest(client, request);
  if (response.statusCode === 200) return readPieces(client, response);
  throw toAnswerError(client, toAnswer(response, await text(response)));
}

/** Throws ConnectionProblem where the connection breaks. */
export async function* readPieces(client: Client, response: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of response) yield piece as Uint8Array;
  } catch (error) {
    throw toConnectionProblem(client, error as NodeJS.ErrnoException);
  }
}

/** Returns the JSON of the answer. Throws an Error with the server's sentence where the status is not 200. */
export async function askJson<T>(client: Client, request: ApiRequest): Promise<T> {
  const answer = await ask(client, request);
  if (answer.status === 200) return JSON.parse(answer.text) as T;
  throw toAnswerError(client, answer);
}

export function postJson<T>(client: Client, path: string, body: unknown): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return askJson(client, { method: "POST", path, headers, body: JSON.stringify(body) });
}

/** Makes an Error of the server's sentence. */
export function toAnswerError(client: Client, answer: Answer): Error {
  return new Error(`${problemOf(answer)}${tokenHint(client, answer)}`);
}

/** The sentence in an error body, or the status where the answer is not from svc. */
export function problemOf(answer: Answer): string {
  try {
    const { error } = JSON.parse(answer.text) as { error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // Not JSON, so not from svc.
  }
  return `the server answered ${answer.status}`;
}

/** How to give a token, where the answer is 401 and none was sent; else "". */
export function tokenHint(client: Client, answer: Answer): string {
  if (answer.status !== 401 || client.token !== null) return "";
  return " (give one with --token or SVC_TOKEN, or name the server's data folder with --data)";
}
