/** `svc query`: searches logs and spans and prints them, newest first; calculates timeseries and draws them. */

import { detectQueryKind, type Explanation, printExplanation } from "../../query/index.ts";
import type { Client } from "./client/client.ts";
import { askJson, openClient } from "./client/client.ts";
import type { Command, Settings } from "./flags/flag.ts";
import { one, onOrOff } from "./flags/flag.ts";
import { jsonFlag, serverFlags } from "./flags/shared-flags.ts";
import { parseAge, parseInteger, parseTime, UsageError } from "./flags/units.ts";
import { warn, write } from "./output/lines.ts";
import type { LogEntry } from "./output/log-line.ts";
import { logLine } from "./output/log-line.ts";
import { type SeriesAnswer, seriesLines } from "./output/series-chart.ts";
import { type SpanEntry, spanLine } from "./output/span-line.ts";
import { safe, safeJson, wantsColour } from "./output/terminal.ts";

const flags = {
  from: {
    value: "TIME",
    help: "start of the range, inclusive: -1h, now, 2026-01-29, 2026-01-29T08:42:00Z or Unix milliseconds",
    default: "-1h",
    parse: one((text: string) => parseTime(text, Date.now())),
  },
  to: {
    value: "TIME",
    help: "end of the range, inclusive",
    default: "now",
    parse: one((text: string) => parseTime(text, Date.now())),
  },
  limit: {
    value: "N",
    help: "prints this many lines at most",
    default: "100",
    parse: one((text: string) => parseInteger(text, 1, 10_000_000)),
  },
  bucket: {
    value: "AGE",
    help: "width of a timeseries' buckets, such as 30s or 5m; makes count(logs) one",
    defaultSays: "a round width that gives about 200 points",
    parse: one(parseBucketSeconds),
  },
  explain: {
    value: null,
    help: "prints the plan and what it read in place of the answer",
    default: "false",
    parse: one(onOrOff),
  },
  json: jsonFlag,
  ...serverFlags,
} as const;

interface Page<Entry> {
  entries: Entry[];
  warnings: string[];
}

/** What the API gives: rows under the name of their kind. */
type Answer = { cursor?: string; warnings?: string[] } & Readonly<Record<string, unknown>>;

/** One kind of rows that can be searched for and printed. */
interface Rows<Entry> {
  path: string;
  /** Of the list in the answer. */
  name: string;
  line(entry: Entry, inColour: boolean): string;
}

const pageLimit = 1_000;

export const query: Command<typeof flags> = {
  name: "query",
  summary: "searches logs and spans and prints them, newest first; draws timeseries",
  operands: "[QUERY]",
  flags,
  details: [
    'QUERY is svcQL, such as \'{service.name="/k8s/shop/cart"} |= "refused"\', or search terms as one types them;',
    "without it every log matches. Times are printed in UTC. 'traces{…}' finds spans. A query that begins with an",
    "aggregation, such as 'count(traces) by (name)', is a timeseries: a line with a small chart for each series.",
  ],
  run: async (settings, operands) => {
    if (operands.length > 1) {
      throw new UsageError(`query takes one query, got ${operands.length}: put it in single quotes`);
    }
    const client = await openClient(settings);
    const text = operands[0] ?? "";
    const kind = settings.bucket === null ? detectQueryKind(text) : "series";
    if (kind === "series") await printTimeseries(client, settings, text);
    else if (kind === "spans") await printRows(client, settings, text, spans);
    else await printRows(client, settings, text, logs);
    return 0;
  },
};

const logs: Rows<LogEntry> = { path: "/api/v1/query/logs", name: "logs", line: logLine };
const spans: Rows<SpanEntry> = { path: "/api/v1/query/traces", name: "spans", line: spanLine };

function parseBucketSeconds(text: string): number {
  const ms = parseAge(text);
  if (ms % 1000 === 0) return ms / 1000;
  throw new UsageError("whole seconds, such as 30s or 5m");
}

async function printTimeseries(
  client: Client,
  settings: Settings<typeof flags>,
  text: string,
): Promise<void> {
  const width = settings.bucket === null ? {} : { bucketSize: settings.bucket };
  const asked = { ...bodyOf(settings, text), ...width, ...(settings.explain ? { explain: true } : {}) };
  const answer = await ask<SeriesAnswer & { explain?: Explanation }>(
    client,
    "/api/v1/query/timeseries",
    asked,
  );
  warn(answer.warnings);
  if (answer.explain !== undefined) return write([safe(printExplanation(answer.explain))]);
  if (settings.json) return write(answer.series.map((each) => safeJson(JSON.stringify(each))));
  const range = { startMs: settings.from, endMs: settings.to };
  return write(seriesLines(answer, range, wantsColour(process.stdout, process.env)));
}

function bodyOf(settings: Settings<typeof flags>, text: string) {
  return { query: text, startTime: settings.from, endTime: settings.to };
}

function ask<Answer>(client: Client, path: string, body: unknown): Promise<Answer> {
  return askJson<Answer>(client, {
    method: "POST",
    path,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function printRows<Entry>(
  client: Client,
  settings: Settings<typeof flags>,
  text: string,
  rows: Rows<Entry>,
): Promise<void> {
  if (settings.explain) {
    const asked = { ...bodyOf(settings, text), limit: Math.min(settings.limit, pageLimit), explain: true };
    const { explain } = await ask<{ explain: Explanation }>(client, rows.path, asked);
    return write([safe(printExplanation(explain))]);
  }
  const inColour = wantsColour(process.stdout, process.env);
  const lineOf = settings.json
    ? (entry: Entry) => safeJson(JSON.stringify(entry))
    : (entry: Entry) => rows.line(entry, inColour);
  for await (const page of pages(client, settings, text, rows)) {
    warn(page.warnings);
    await write(page.entries.map(lineOf));
  }
}

async function* pages<Entry>(
  client: Client,
  settings: Settings<typeof flags>,
  text: string,
  { path, name }: Rows<Entry>,
): AsyncGenerator<Page<Entry>> {
  let left = settings.limit;
  let cursor: string | undefined;
  do {
    const body = { ...bodyOf(settings, text), limit: Math.min(left, pageLimit) };
    const answer = await ask<Answer>(client, path, cursor === undefined ? body : { ...body, cursor });
    // The same query warns the same on every page.
    const warnings = cursor === undefined ? (answer.warnings ?? []) : [];
    const entries = answer[name] as Entry[];
    yield { entries, warnings };
    left -= entries.length;
    cursor = answer.cursor;
  } while (left > 0 && cursor !== undefined);
}
