/** A reader of a tail: gathers its events, as slow as it is told to be. */

import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { createParser } from "eventsource-parser";
import type { Entry, Running } from "../running.ts";

export interface TailEvent {
  event: string;
  id: string | undefined;
  data: Record<string, unknown>;
}

export interface TailCall {
  query?: string;
  startTime?: number;
  token?: string;
  lastEventId?: string;
  /** More headers. */
  headers?: Record<string, string>;
}

export interface Reader {
  status: number;
  headers: IncomingMessage["headers"];
  events: TailEvent[];
  /** The id that a browser would send when it connects again. */
  lastId(): string | undefined;
  /** Of the rows. */
  entries(): Entry[];
  /** Rows that it was told it missed. */
  missed(): number;
  /** Resolves once the check holds; rejects where the stream ends before. */
  until(holds: (reader: Reader) => boolean): Promise<void>;
  pause(): void;
  resume(): void;
  /** Breaks the connection. */
  leave(): void;
  ended: Promise<void>;
}

export async function openTail(server: Running, call: TailCall = {}): Promise<Reader> {
  const { query = "", startTime, token, lastEventId } = call;
  const asked = new URLSearchParams({ query });
  if (startTime !== undefined) asked.set("startTime", String(startTime));
  const headers: Record<string, string> = { ...call.headers };
  if (token !== undefined) headers.Authorization = `Bearer ${token}`;
  if (lastEventId !== undefined) headers["Last-Event-ID"] = lastEventId;
  const [sent, response] = await new Promise<[ClientRequest, IncomingMessage]>((resolve, reject) => {
    const asking = request(`${server.url}/api/v1/query/tail?${asked}`, { headers, agent: false }, (answer) =>
      resolve([asking, answer]),
    );
    asking.on("error", reject);
    asking.end();
  });
  return readerOf(sent, response);
}

function readerOf(sent: ClientRequest, response: IncomingMessage): Reader {
  const events: TailEvent[] = [];
  const watchers = new Set<() => void>();
  let id: string | undefined;
  const parser = createParser({
    onEvent: (event) => {
      id = event.id ?? id;
      events.push({ event: event.event ?? "message", id: event.id, data: JSON.parse(event.data) });
    },
  });
  response.setEncoding("utf8");
  response.on("data", (text: string) => {
    parser.feed(text);
    for (const watch of watchers) watch();
  });
  const ended = new Promise<void>((resolve) => {
    response.on("close", resolve);
    response.on("error", () => resolve());
    sent.on("error", () => resolve());
  });
  const reader: Reader = {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    lastId: () => id,
    entries: () =>
      events.flatMap(({ event, data }) => (event === "message" ? [data as unknown as Entry] : [])),
    missed: () => {
      return events.reduce(
        (sum, { event, data }) => (event === "missed" ? sum + (data.rows as number) : sum),
        0,
      );
    },
    until: (holds) => {
      return new Promise((resolve, reject) => {
        const watch = () => {
          if (!holds(reader)) return;
          watchers.delete(watch);
          resolve();
        };
        watchers.add(watch);
        watch();
        void ended.then(() => {
          watch();
          reject(new Error(`the tail has ended: ${JSON.stringify(events.slice(-3)).slice(0, 500)}`));
        });
      });
    },
    pause: () => response.pause(),
    resume: () => response.resume(),
    leave: () => sent.destroy(),
    ended,
  };
  return reader;
}
