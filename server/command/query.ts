/** `svc query`: searches logs and prints them, newest first; calculates timeseries and draws them. */

import { asksForSeries, type Explained, explainText } from "../../query/index.ts";
import type { Client } from "./client.ts";
import { askJson, openClient } from "./client.ts";
import type { Command, Settings } from "./flag.ts";
import { one, onOrOff } from "./flag.ts";
import type { LogEntry } from "./log-line.ts";
import { logLine } from "./log-line.ts";
import { type SeriesAnswer, seriesLines } from "./series-chart.ts";
import { serverFlags } from "./shared-flags.ts";
import { safe, safeJson, wantsColour } from "./terminal.ts";
import { parseAge, parseInteger, parseTime, UsageError } from "./units.ts";

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
  json: {
    value: null,
    help: "prints one JSON object a line, as the API gives it",
    default: "false",
    parse: one(onOrOff),
  },
  ...serverFlags,
} as const;

interface Page {
  count: number;
  logs: LogEntry[];
  cursor?: string;
  warnings?: string[];
}

const pageLimit = 1_000;

export const query: Command<typeof flags> = {
  name: "query",
  summary: "searches logs and prints them, newest first; draws timeseries",
  operands: "[QUERY]",
  flags,
  details: [
    'QUERY is svcQL, such as \'{service.name="/k8s/shop/cart"} |= "refused"\', or search terms as one types them;',
    "without it every log matches. Times are printed in UTC. A query that begins with an aggregation, such as",
    "'count(traces) by (name)', is a timeseries: a line with a small chart is printed for each series.",
  ],
  run: async (settings, operands) => {
    if (operands.length > 1) {
      throw new UsageError(`query takes one query, got ${operands.length}: put it in single quotes`);
    }
    const client = await openClient(settings);
    const text = operands[0] ?? "";
    if (settings.bucket !== null || asksForSeries(text)) {
      await printTimeseries(client, settings, text);
      return 0;
    }
    if (settings.explain) {
      const { explain } = await ask<{ explain: Explained }>(client, logsPath, {
        ...bodyOf(settings, text),
        limit: Math.min(settings.limit, pageLimit),
        explain: true,
      });
      await write([safe(explainText(explain))]);
      return 0;
    }
    const print = printer(settings.json);
    for await (const page of pages(client, settings, text)) {
      warn(page.warnings);
      await print(page.logs);
    }
    return 0;
  },
};

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
  const answer = await ask<SeriesAnswer & { explain?: Explained }>(client, "/api/v1/query/timeseries", asked);
  warn(answer.warnings);
  if (answer.explain !== undefined) return write([safe(explainText(answer.explain))]);
  if (settings.json) return write(answer.series.map((each) => safeJson(JSON.stringify(each))));
  const range = { startMs: settings.from, endMs: settings.to };
  return write(seriesLines(answer, range, wantsColour(process.stdout, process.env)));
}

const logsPath = "/api/v1/query/logs";

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

function warn(warnings: readonly string[] | undefined): void {
  for (const warning of warnings ?? []) process.stderr.write(`warning: ${safe(warning)}\n`);
}

async function* pages(client: Client, settings: Settings<typeof flags>, text: string): AsyncGenerator<Page> {
  let left = settings.limit;
  let cursor: string | undefined;
  do {
    const body = { ...bodyOf(settings, text), limit: Math.min(left, pageLimit) };
    const page = await ask<Page>(client, logsPath, cursor === undefined ? body : { ...body, cursor });
    // The same query warns the same on every page.
    yield cursor === undefined ? page : { ...page, warnings: [] };
    left -= page.count;
    cursor = page.cursor;
  } while (left > 0 && cursor !== undefined);
}

function printer(json: boolean): (logs: readonly LogEntry[]) => Promise<void> {
  const inColour = wantsColour(process.stdout, process.env);
  const lineOf = json
    ? (entry: LogEntry) => safeJson(JSON.stringify(entry))
    : (entry: LogEntry) => logLine(entry, inColour);
  return (logs) => write(logs.map(lineOf));
}

/** Waits for the reader between pages, so that a slow one costs no memory. */
async function write(lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return;
  const flows = process.stdout.write(`${lines.join("\n")}\n`);
  if (!flows) await new Promise((resolve) => process.stdout.once("drain", resolve));
}
