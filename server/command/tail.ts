/** `svc tail`: prints rows as they arrive, until it is told to stop. */

import { setTimeout as delay } from "node:timers/promises";
import type { EventSourceMessage } from "eventsource-parser";
import { detectQueryKind } from "../../query/index.ts";
import { answerProblem, type Client, ConnectionProblem, openClient } from "./client/client.ts";
import { eventsOf, NoEvents } from "./client/event-stream.ts";
import { type Command, one, type Settings } from "./flags/flag.ts";
import { jsonFlag, serverFlags } from "./flags/shared-flags.ts";
import { parseAge, UsageError } from "./flags/units.ts";
import { warn, write } from "./output/lines.ts";
import { type LogEntry, logLine } from "./output/log-line.ts";
import { type SpanEntry, spanLine } from "./output/span-line.ts";
import { safe, safeJson, wantsColour } from "./output/terminal.ts";

const flags = {
  since: {
    value: "AGE",
    help: "begins with the rows of the last so long, such as 5m",
    defaultSays: "only what arrives from now on",
    parse: one(parseAge),
  },
  json: jsonFlag,
  ...serverFlags,
} as const;

export const tail: Command<typeof flags> = {
  name: "tail",
  summary: "prints logs and spans as they arrive",
  operands: "[QUERY]",
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
    const reading = new Reading(client, settings, operands[0] ?? "", stopping.signal);
    try {
      await reading.follow();
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
    }
    return 0;
  },
};

const waitMsMin = 1_000;
const waitMsMax = 30_000;
/** Answers that say that another try may go well. */
const passing: readonly number[] = [408, 429, 500, 502, 503, 504];

class Reading {
  readonly #client: Client;
  readonly #query: string;
  readonly #startMs: number | null;
  readonly #signal: AbortSignal;
  readonly #lineOf: (data: string) => string;
  /** Id of the last event; undefined before the first connection. */
  #lastId: string | undefined;
  #waitMs = waitMsMin;
  #isBroken = false;

  constructor(client: Client, { since, json }: Settings<typeof flags>, query: string, signal: AbortSignal) {
    this.#client = client;
    this.#query = query;
    this.#startMs = since === null ? null : Math.max(0, Date.now() - since);
    this.#signal = signal;
    const inColour = wantsColour(process.stdout, process.env);
    const printed = detectQueryKind(query) === "spans" ? spanText : logText;
    this.#lineOf = json ? safeJson : (data) => printed(data, inColour);
  }

  /** Throws an Error, one sentence for people, where it cannot begin or may not go on. */
  async follow(): Promise<void> {
    while (!this.#signal.aborted) {
      const problem = await this.#connection();
      if (this.#signal.aborted) return;
      this.#isBroken = true;
      // Not all readers of a server that comes back do so at the same moment.
      const waitMs = Math.round(this.#waitMs * (0.5 + Math.random() / 2));
      report(`${problem}; trying again in ${(waitMs / 1000).toFixed(1)} s`);
      this.#waitMs = Math.min(this.#waitMs * 2, waitMsMax);
      await delay(waitMs, undefined, { signal: this.#signal });
    }
  }

  /** Prints until the connection ends; returns why. */
  async #connection(): Promise<string> {
    try {
      for await (const events of eventsOf(this.#client, this.#asked())) {
        const problem = await this.#take(events);
        if (problem !== undefined) return problem;
      }
      return "the connection was closed";
    } catch (error) {
      return this.#problemOf(error);
    }
  }

  #asked() {
    const address = new URLSearchParams({ query: this.#query });
    if (this.#startMs !== null) address.set("startTime", String(this.#startMs));
    const headers: Record<string, string> =
      this.#lastId === undefined ? {} : { "Last-Event-ID": this.#lastId };
    const path = `/api/v1/query/tail?${address}`;
    return { method: "GET", path, headers, signal: this.#signal } as const;
  }

  /** Returns why the server ends the tail, where it does for now; throws where it does for good. */
  async #take(events: readonly EventSourceMessage[]): Promise<string | undefined> {
    let lines: string[] = [];
    let problem: string | undefined;
    for (const { event, id, data } of events) {
      if (event === undefined) lines.push(this.#lineOf(data));
      else {
        await write(lines);
        lines = [];
        problem ??= this.#takeEvent(event, JSON.parse(data));
      }
      this.#lastId = id ?? this.#lastId;
    }
    await write(lines);
    return problem;
  }

  #takeEvent(event: string, data: { warnings?: string[]; rows?: number; reason?: string; message?: string }) {
    switch (event) {
      case "ready":
        if (this.#isBroken) report("connected again");
        // The same query warns the same each time.
        else warn(data.warnings);
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

  /** What breaks for a moment is told; all else is thrown, and so is everything before the first connection. */
  #problemOf(error: unknown): string {
    const hasBegun = this.#lastId !== undefined;
    if (error instanceof NoEvents) {
      const { answer } = error;
      const problem = answerProblem(this.#client, answer);
      if (!hasBegun || !passing.includes(answer.status)) throw problem;
      this.#waitMs = Math.max(this.#waitMs, (answer.retryAfterSeconds ?? 0) * 1_000);
      return problem.message;
    }
    if (error instanceof ConnectionProblem && hasBegun) return error.message;
    throw error;
  }
}

function report(sentence: string): void {
  process.stderr.write(`svc: ${safe(sentence)}\n`);
}

function logText(data: string, inColour: boolean): string {
  return logLine(JSON.parse(data) as LogEntry, inColour);
}

function spanText(data: string, inColour: boolean): string {
  return spanLine(JSON.parse(data) as SpanEntry, inColour);
}
