/** A server in this process on a free port, with a data folder of its own. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Service, ServiceSettings } from "../../server/index.ts";
import { startService } from "../../server/index.ts";

export interface Running {
  service: Service;
  url: string;
  port: number;
  dir: string;
  adminToken: string;
  /** What the server logged. */
  logged: string[];
  stop(): Promise<void>;
}

export async function startServer(changes: Partial<ServiceSettings> = {}): Promise<Running> {
  const dir = changes.dataDir ?? mkdtempSync(join(tmpdir(), "svc-test-"));
  const logged: string[] = [];
  const service = await startService({
    dataDir: dir,
    address: { host: "127.0.0.1", port: 0 },
    anonymousRead: false,
    hostNames: [],
    scanThreads: 1,
    ingestThreads: 1,
    queryDeadlineMs: 30_000,
    queryMemoryBytes: 2 ** 30,
    log: (level, message) => logged.push(`${level} ${message}`),
    ...changes,
  });
  return {
    service,
    url: service.url,
    port: Number(new URL(service.url).port),
    dir,
    adminToken: readFileSync(service.adminTokenPath, "utf8").trim(),
    logged,
    stop: async () => {
      await service.close();
      if (changes.dataDir === undefined) rmSync(dir, { recursive: true, force: true });
    },
  };
}

export interface Got<T = Record<string, unknown>> {
  status: number;
  headers: Headers;
  text: string;
  /** Undefined where the body is not JSON. */
  json: T;
}

export interface Call {
  method?: string;
  token?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
}

export async function call<T = Record<string, unknown>>(
  server: Pick<Running, "url">,
  path: string,
  request: Call = {},
): Promise<Got<T>> {
  const { method = request.body === undefined ? "GET" : "POST", token, headers, body } = request;
  const response = await fetch(server.url + path, {
    method,
    headers: { ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }), ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: jsonOf(text) as T };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export interface Entry {
  timestamp: number;
  log_level: string;
  message: string;
  attributes: Record<string, string>;
}

export interface Found {
  count: number;
  logs: Entry[];
  cursor?: string;
  warnings?: string[];
  error?: string;
}

export interface IngestResult {
  accepted: number;
  refused: number;
  errors: { line: number; reason: string }[];
  duplicate: boolean;
  error?: string;
}

export function ingest(
  server: Running,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
  what = "logs",
): Promise<Got<IngestResult>> {
  return call(server, `/api/v1/ingest/${what}`, {
    token: server.adminToken,
    headers: { "Content-Type": "application/x-ndjson", ...headers },
    body,
  });
}

/** Everything that was ever logged, or what `query` says. */
export function search(server: Running, query: Record<string, unknown> = {}): Promise<Got<Found>> {
  return call(server, "/api/v1/query/logs", {
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query: "", startTime: 0, endTime: Date.now() + 86_400_000, ...query }),
  });
}

/** Asks a search of any kind, by default over all time. */
export function post<T = Record<string, unknown>>(
  server: Running,
  path: string,
  body: Record<string, unknown>,
): Promise<Got<T>> {
  return call(server, `/api/v1/query/${path}`, {
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ startTime: 0, endTime: Date.now() + 86_400_000, ...body }),
  });
}

export function lines(rows: readonly unknown[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/**
 * Sends bytes as they are, answers with all that came back until the server closed, until `untilMs` passed, or until it
 * is like `whole`.
 */
export function sendRaw(
  port: number,
  bytes: string | Uint8Array,
  untilMs = 3_000,
  whole?: RegExp,
): Promise<string> {
  return new Promise((resolve) => {
    let got = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    const timer = setTimeout(() => socket.destroy(), untilMs);
    socket.on("data", (data) => {
      got += data.toString("latin1");
      if (whole?.test(got)) socket.destroy();
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(got);
    });
  });
}
