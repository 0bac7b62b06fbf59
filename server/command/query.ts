/** `svc query`: prints the logs or spans that a search finds, newest first, or draws timeseries as charts. */

import type { BodySignal, Explanation } from "../../query/index.ts";
import { type Client, openClient, postJson } from "./client/client.ts";
import { type Command, type Settings, takeLast } from "./flags/flag.ts";
import { jsonFlag, serverFlags, switchFlag, timeFlag } from "./flags/shared-flags.ts";
import { parseAge, parseInteger, UsageError } from "./flags/units.ts";
import { type BodyEntry, formatBodyLine } from "./output/body-line.ts";
import { printWarnings, writeLines } from "./output/lines.ts";
import type { LogEntry } from "./output/log-line.ts";
import { formatLogLine } from "./output/log-line.ts";
import { formatSeriesLines, type SeriesAnswer } from "./output/series-chart.ts";
import { formatSpanLine, type SpanEntry } from "./output/span-line.ts";
import { escapeJson, escapeText, wantsColour } from "./output/terminal.ts";

const flags = {
  from: {
    ...timeFlag,
    help: "start of the range, inclusive: -1h, now, 2026-01-29, 2026-01-29T08:42:00Z or Unix milliseconds",
    default: "-1h",
  },
  to: { ...timeFlag, help: "end of the range, inclusive", default: "now" },
  limit: {
    placeholder: "N",
    help: "prints this many lines at most",
    default: "100",
    parse: takeLast((text: string) => parseInteger(text, 1, 10_000_000)),
  },
  bucket: {
    placeholder: "AGE",
    help: "width of a timeseries' buckets, such as 30s or 5m; makes count(logs) one",
    defaultText: "a round width that gives about 200 points",
    parse: takeLast(parseBucketSeconds),
  },
  explain: { ...switchFlag, help: "prints the plan and what it read in place of the answer" },
  json: jsonFlag,
  ...serverFlags,
} as const;

interface Page<Entry> {
  entries: Entry[];
  warnings: string[];
}

/** An answer of the API: the list of rows is under the name of their kind. */
type Answer = { cursor?: string; warnings?: string[] } & Readonly<Record<string, unknown>>;

/** How one kind of rows is searched for and printed. */
interface RowKind<Entry> {
  path: string;
  /** Name of the list in the answer. */
  name: string;
  format(entry: Entry, inColour: boolean): string;
}

/** Rows of one request; more are read by cursor. */
const pageLimit = 1_000;

export const query: Command<typeof flags> = {
  name: "query",
  summary: "searches logs and spans and prints them, newest first; draws timeseries",
  operands: "[QUERY]",
  flags,
  details: [
    'QUERY is svcQL, such as \'{service.name="/k8s/shop/cart"} |= "refused"\', or search terms as one types them;',
    "without it every log matches. Times are printed in UTC. 'traces{…}' finds spans, 'kubernetes_resources{…}' and",
    "'profiles{…}' what their names say. A query that begins with an aggregation, such as 'count(traces) by (name)', is",
    "a timeseries: a line with a small chart for each series.",
  ],
  run: async (settings, operands) => {
    if (operands.length > 1) {
      throw new UsageError(`query takes one query, got ${operands.length}: put it in single quotes`);
    }
    const client = await openClient(settings);
    const { detectQueryKind } = await import("../../query/index.ts");
    const text = operands[0] ?? "";
    const kind = settings.bucket === null ? detectQueryKind(text) : "series";
    if (kind === "series") await printTimeseries(client, settings, text);
    else if (kind === "spans") await printRows(client, settings, text, spans);
    else if (kind === "logs") await printRows(client, settings, text, logs);
    else await printRows(client, settings, text, bodiesOf(kind));
    return 0;
  },
};

const logs: RowKind<LogEntry> = { path: "/api/v1/query/logs", name: "logs", format: formatLogLine };
const spans: RowKind<SpanEntry> = { path: "/api/v1/query/traces", name: "spans", format: formatSpanLine };

function bodiesOf(signal: BodySignal): RowKind<BodyEntry> {
  return { path: `/api/v1/query/${signal}`, name: "rows", format: formatBodyLine };
}

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
  const body = { ...makeBody(settings, text), ...width, ...(settings.explain ? { explain: true } : {}) };
  type Answer = SeriesAnswer & { explain?: Explanation };
  const answer = await postJson<Answer>(client, "/api/v1/query/timeseries", body);
  printWarnings(answer.warnings);
  if (answer.explain !== undefined) return printPlan(answer.explain);
  if (settings.json) return writeLines(answer.series.map((each) => escapeJson(JSON.stringify(each))));
  const range = { startMs: settings.from, endMs: settings.to };
  return writeLines(formatSeriesLines(answer, range, wantsColour(process.stdout, process.env)));
}

async function printPlan(explained: Explanation): Promise<void> {
  const { printExplanation } = await import("../../query/index.ts");
  await writeLines([escapeText(printExplanation(explained))]);
}

function makeBody(settings: Settings<typeof flags>, text: string) {
  return { query: text, startTime: settings.from, endTime: settings.to };
}

async function printRows<Entry>(
  client: Client,
  settings: Settings<typeof flags>,
  text: string,
  rows: RowKind<Entry>,
): Promise<void> {
  if (settings.explain) {
    const body = { ...makeBody(settings, text), limit: Math.min(settings.limit, pageLimit), explain: true };
    const { explain } = await postJson<{ explain: Explanation }>(client, rows.path, body);
    return printPlan(explain);
  }
  const inColour = wantsColour(process.stdout, process.env);
  const formatEntry = settings.json
    ? (entry: Entry) => escapeJson(JSON.stringify(entry))
    : (entry: Entry) => rows.format(entry, inColour);
  for await (const page of readPages(client, settings, text, rows)) {
    printWarnings(page.warnings);
    await writeLines(page.entries.map(formatEntry));
  }
}

async function* readPages<Entry>(
  client: Client,
  settings: Settings<typeof flags>,
  text: string,
  { path, name }: RowKind<Entry>,
): AsyncGenerator<Page<Entry>> {
  let rowsLeft = settings.limit;
  let cursor: string | undefined;
  do {
    const body = { ...makeBody(settings, text), limit: Math.min(rowsLeft, pageLimit) };
    const answer = await postJson<Answer>(client, path, cursor === undefined ? body : { ...body, cursor });
    // The same query warns the same on every page.
    const warnings = cursor === undefined ? (answer.warnings ?? []) : [];
    const entries = answer[name] as Entry[];
    yield { entries, warnings };
    rowsLeft -= entries.length;
    cursor = answer.cursor;
  } while (rowsLeft > 0 && cursor !== undefined);
}
