/** `svc tail`: prints rows as they arrive, and reconnects until a signal stops it. */

import { setTimeout as delay } from "node:timers/promises";
import type { EventSourceMessage } from "eventsource-parser";
import type { QueryKind } from "../../query/index.ts";
import { type Client, ConnectionProblem, openClient, toAnswerError } from "./client/client.ts";
import { EventStreamRefused, readEvents } from "./client/event-stream.ts";
import type { Command, Settings } from "./flags/flag.ts";
import { ageFlag, jsonFlag, serverFlags, zoneFlags } from "./flags/shared-flags.ts";
import { UsageError } from "./flags/units.ts";
import { printWarnings, writeLines } from "./output/lines.ts";
import { formatLogLine, type LogEntry } from "./output/log-line.ts";
import { formatSpanLine, type SpanEntry } from "./output/span-line.ts";
import { escapeJson, escapeText, type LineStyle, outputStyle } from "./output/terminal.ts";

const flags = {
  since: {
    ...ageFlag,
    help: "begins with the rows of the last so long, such as 5m",
    defaultText: "only what arrives from now on",
  },
  json: jsonFlag,
  ...zoneFlags,
  ...serverFlags,
} as const;

export const tail: Command<typeof flags> = {
  name: "tail",
  summary: "prints logs and spans as they arrive",
  operands: "[QUERY]",
  output: "answer",
  flags,
  details: [
    'QUERY is svcQL, such as \'{service.name="/k8s/shop/cart"} |= "refused"\', or search terms as one types them;',
    "without it every log matches, 'traces{…}' finds spans. Rows are printed in the order of their arrival. When the",
    "connection breaks it is made again, and nothing is lost or printed twice. Ctrl-C ends it.",
  ],
  run: async (settings, operands) => {
    if (operands.length > 1) {
      throw new UsageError(`tail takes one query, got ${operands.length}: put it in single quotes`);
    }
    const stopping = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stopping.abort());
    const client = await openClient(settings);
    const { detectQueryKind } = await import("../../query/index.ts");
    const text = operands[0] ?? "";
    const reader = new TailReader(client, settings, text, detectQueryKind(text), stopping.signal);
    try {
      await reader.follow();
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
    }
    return 0;
  },
};

/** Wait before the first reconnect; it doubles with each further one. */
const waitMsMin = 1_000;
const waitMsMax = 30_000;
/** Statuses after which a retry may succeed. */
const retryableStatuses: readonly number[] = [408, 429, 500, 502, 503, 504];

/** Reads one tail over as many connections as it takes. */
class TailReader {
  readonly #client: Client;
  readonly #query: string;
  readonly #startMs: number | null;
  readonly #signal: AbortSignal;
  readonly #format: (data: string) => string;
  /** Id of the last event; undefined before the first connection. */
  #lastId: string | undefined;
  #waitMs = waitMsMin;
  #isBroken = false;

  constructor(
    client: Client,
    settings: Settings<typeof flags>,
    query: string,
    kind: QueryKind,
    signal: AbortSignal,
  ) {
    const { since, json } = settings;
    this.#client = client;
    this.#query = query;
    this.#startMs = since === null ? null : Math.max(0, Date.now() - since);
    this.#signal = signal;
    const style = outputStyle(settings);
    const format = kind === "spans" ? formatSpanData : formatLogData;
    this.#format = json ? escapeJson : (data) => format(data, style);
  }

  /** Throws an Error whose message is one sentence for people, where the tail cannot begin or may not go on. */
  async follow(): Promise<void> {
    while (!this.#signal.aborted) {
      const problem = await this.#readConnection();
      if (this.#signal.aborted) return;
      this.#isBroken = true;
      // Jitter, so that not all readers of a restarted server reconnect at the same moment.
      const waitMs = Math.round(this.#waitMs * (0.5 + Math.random() / 2));
      report(`${problem}; trying again in ${(waitMs / 1000).toFixed(1)} s`);
      this.#waitMs = Math.min(this.#waitMs * 2, waitMsMax);
      await delay(waitMs, undefined, { signal: this.#signal });
    }
  }

  /** Opens a connection and prints until it ends; returns why it ended. */
  async #readConnection(): Promise<string> {
    try {
      for await (const events of readEvents(this.#client, this.#makeRequest())) {
        const problem = await this.#printEvents(events);
        if (problem !== undefined) return problem;
      }
      return "the connection was closed";
    } catch (error) {
      return this.#explainRetry(error);
    }
  }

  #makeRequest() {
    const address = new URLSearchParams({ query: this.#query });
    if (this.#startMs !== null) address.set("startTime", String(this.#startMs));
    const headers: Record<string, string> =
      this.#lastId === undefined ? {} : { "Last-Event-ID": this.#lastId };
    const path = `/api/v1/query/tail?${address}`;
    return { method: "GET", path, headers, signal: this.#signal } as const;
  }

  /** Prints events. Returns the server's reason where it ends the tail for now; throws where it ends it for good. */
  async #printEvents(events: readonly EventSourceMessage[]): Promise<string | undefined> {
    let lines: string[] = [];
    let problem: string | undefined;
    for (const { event, id, data } of events) {
      if (event === undefined) lines.push(this.#format(data));
      else {
        await writeLines(lines);
        lines = [];
        problem ??= this.#takeStatusEvent(event, JSON.parse(data));
      }
      this.#lastId = id ?? this.#lastId;
    }
    await writeLines(lines);
    return problem;
  }

  #takeStatusEvent(
    event: string,
    data: { warnings?: string[]; rows?: number; reason?: string; message?: string },
  ) {
    switch (event) {
      case "ready":
        if (this.#isBroken) report("connected again");
        // Every connection brings the same warnings.
        else printWarnings(data.warnings);
        this.#isBroken = false;
        this.#waitMs = waitMsMin;
        return undefined;
      case "missed":
        report(`missed ${data.rows?.toLocaleString("en-GB")} rows, which came faster than they were read`);
        return undefined;
      case "end":
        if (data.reason === "failed") throw new Error(data.message);
        return data.message;
      default:
        return undefined;
    }
  }

  /** Returns why to reconnect. Throws errors that a retry cannot change, and every error before the first event. */
  #explainRetry(error: unknown): string {
    const hasBegun = this.#lastId !== undefined;
    if (error instanceof EventStreamRefused) {
      const { answer } = error;
      const problem = toAnswerError(this.#client, answer);
      if (!hasBegun || !retryableStatuses.includes(answer.status)) throw problem;
      this.#waitMs = Math.max(this.#waitMs, (answer.retryAfterSeconds ?? 0) * 1_000);
      return problem.message;
    }
    if (error instanceof ConnectionProblem && hasBegun) return error.message;
    throw error;
  }
}

function report(sentence: string): void {
  process.stderr.write(`svc: ${escapeText(sentence)}\n`);
}

function formatLogData(data: string, style: LineStyle): string {
  return formatLogLine(JSON.parse(data) as LogEntry, style);
}

function formatSpanData(data: string, style: LineStyle): string {
  return formatSpanLine(JSON.parse(data) as SpanEntry, style);
}
