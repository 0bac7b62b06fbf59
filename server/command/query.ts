/** `svc query`: prints the logs or spans that a search finds, newest first, or draws timeseries as charts. */

import type { BodySignal, Explanation } from "../../query/index.ts";
import { type Client, openClient, postJson } from "./client/client.ts";
import { type FoundRange, findPointRange, findRowRange } from "./client/found-range.ts";
import { type Command, type Settings, takeLast } from "./flags/flag.ts";
import { jsonFlag, serverFlags, switchFlag, zonedTimeFlag, zoneFlags } from "./flags/shared-flags.ts";
import { parseAge, parseInteger, UsageError } from "./flags/units.ts";
import type { Zone } from "./flags/zone.ts";
import { type BodyEntry, formatBodyLine } from "./output/body-line.ts";
import { printWarnings, writeLines } from "./output/lines.ts";
import type { LogEntry } from "./output/log-line.ts";
import { formatLogLine } from "./output/log-line.ts";
import { formatSeriesLines, type SeriesAnswer } from "./output/series-chart.ts";
import { formatSpanLine, type SpanEntry, startMsOf } from "./output/span-line.ts";
import { escapeJson, escapeText, type LineStyle, outputStyle } from "./output/terminal.ts";

const flags = {
  from: {
    ...zonedTimeFlag,
    help: "start of the range, inclusive: -1h, now, 2026-01-29, 2026-01-29T08:42:00Z or Unix milliseconds",
    defaultText: "an hour before --to",
  },
  to: { ...zonedTimeFlag, help: "end of the range, inclusive", default: "now" },
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
  ...zoneFlags,
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
  format(entry: Entry, style: LineStyle): string;
  /** Time of a row, Unix milliseconds. */
  timeMsOf(entry: Entry): number;
}

/** What is asked for, in which range, and how it is printed. */
interface Asked {
  text: string;
  range: FoundRange;
  settings: Settings<typeof flags>;
  style: LineStyle;
}

/** Rows of one request; more are read by cursor. */
const pageLimit = 1_000;

export const query: Command<typeof flags> = {
  name: "query",
  summary: "searches logs and spans and prints them, newest first; draws timeseries",
  operands: "[QUERY]",
  output: "answer",
  flags,
  details: [
    'QUERY is svcQL, such as \'{service.name="/k8s/shop/cart"} |= "refused"\', or search terms as one types them;',
    "without it every log matches. 'traces{…}' finds spans, 'kubernetes_resources{…}' and 'profiles{…}' what their names",
    "say. A query that begins with an aggregation, such as 'count(traces) by (name)', is a timeseries: a line with a small",
    "chart for each series. Where nothing is found, the last line says from when to when there is something.",
  ],
  run: async (settings, operands) => {
    if (operands.length > 1) {
      throw new UsageError(`query takes one query, got ${operands.length}: put it in single quotes`);
    }
    const client = await openClient(settings);
    const { detectQueryKind } = await import("../../query/index.ts");
    const text = operands[0] ?? "";
    const kind = settings.bucket === null ? detectQueryKind(text) : "series";
    const style = outputStyle(settings);
    const asked = { text, settings, style, range: readRange(settings, style.zone) };
    if (kind === "series") await printTimeseries(client, asked);
    else if (kind === "spans") await printRows(client, asked, spans);
    else if (kind === "logs") await printRows(client, asked, logs);
    else await printRows(client, asked, bodiesOf(kind));
    return 0;
  },
};

const logs: RowKind<LogEntry> = {
  ...{ path: "/api/v1/query/logs", name: "logs", format: formatLogLine },
  timeMsOf: ({ timestamp }) => timestamp,
};
const spans: RowKind<SpanEntry> = {
  ...{ path: "/api/v1/query/traces", name: "spans", format: formatSpanLine },
  timeMsOf: startMsOf,
};

function bodiesOf(signal: BodySignal): RowKind<BodyEntry> {
  return {
    ...{ path: `/api/v1/query/${signal}`, name: "rows", format: formatBodyLine },
    timeMsOf: ({ timestamp }) => timestamp,
  };
}

/** How long a range is of which only the end is given. */
const rangeMsDefault = 3_600_000;

function readRange({ from, to }: Settings<typeof flags>, zone: Zone): FoundRange {
  const endMs = to(zone);
  const startMs = from === null ? Math.max(0, endMs - rangeMsDefault) : from(zone);
  if (startMs <= endMs) return { startMs, endMs };
  const [fromText, toText] = [zone.print(startMs), zone.print(endMs)];
  throw new UsageError(`--from must not be after --to, got ${fromText} and ${toText}`);
}

function parseBucketSeconds(text: string): number {
  const ms = parseAge(text);
  if (ms % 1000 === 0) return ms / 1000;
  throw new UsageError("whole seconds, such as 30s or 5m");
}

async function printTimeseries(client: Client, { text, range, settings, style }: Asked): Promise<void> {
  const width = settings.bucket === null ? {} : { bucketSize: settings.bucket };
  const body = { ...makeBody(text, range), ...width, ...(settings.explain ? { explain: true } : {}) };
  type Answer = SeriesAnswer & { explain?: Explanation };
  const answer = await postJson<Answer>(client, "/api/v1/query/timeseries", body);
  printWarnings(answer.warnings);
  if (answer.explain !== undefined) return printPlan(answer.explain);
  if (settings.json) return writeLines(answer.series.map((each) => escapeJson(JSON.stringify(each))));
  if (answer.series.length === 0)
    return reportAbsence("no points", range, style.zone, () => findPointRange(client, text));
  return writeLines(formatSeriesLines(answer, range, style));
}

async function printPlan(explained: Explanation): Promise<void> {
  const { printExplanation } = await import("../../query/index.ts");
  await writeLines([escapeText(printExplanation(explained))]);
}

function makeBody(query: string, { startMs, endMs }: FoundRange) {
  return { query, startTime: startMs, endTime: endMs };
}

async function printRows<Entry>(client: Client, asked: Asked, kind: RowKind<Entry>): Promise<void> {
  const { text, range, settings, style } = asked;
  if (settings.explain) {
    const body = { ...makeBody(text, range), limit: Math.min(settings.limit, pageLimit), explain: true };
    const { explain } = await postJson<{ explain: Explanation }>(client, kind.path, body);
    return printPlan(explain);
  }
  const formatEntry = settings.json
    ? (entry: Entry) => escapeJson(JSON.stringify(entry))
    : (entry: Entry) => kind.format(entry, style);
  let found = 0;
  for await (const page of readPages(client, asked, kind)) {
    printWarnings(page.warnings);
    await writeLines(page.entries.map(formatEntry));
    found += page.entries.length;
  }
  if (found > 0 || settings.json) return;
  const find = (query: string) => () => findRowRange(client, kind, query);
  await reportAbsence("nothing", range, style.zone, find(text), find(""));
}

/** Says on standard error that nothing was found, and from when to when there is something. */
async function reportAbsence(
  what: string,
  { startMs, endMs }: FoundRange,
  zone: Zone,
  find: () => Promise<FoundRange | undefined>,
  findAll?: () => Promise<FoundRange | undefined>,
): Promise<void> {
  const print = (range: FoundRange) => `from ${zone.print(range.startMs)} to ${zone.print(range.endMs)}`;
  const found = await find();
  const all = found === undefined ? await findAll?.() : undefined;
  const stored = all === undefined ? "" : `; what is stored is ${print(all)}`;
  const elsewhere = found === undefined ? `nor at any other time${stored}` : `but there is ${print(found)}`;
  process.stderr.write(`svc: found ${what} ${print({ startMs, endMs })}, ${elsewhere}\n`);
}

async function* readPages<Entry>(
  client: Client,
  { text, range, settings }: Asked,
  { path, name }: RowKind<Entry>,
): AsyncGenerator<Page<Entry>> {
  let rowsLeft = settings.limit;
  let cursor: string | undefined;
  do {
    const body = { ...makeBody(text, range), limit: Math.min(rowsLeft, pageLimit) };
    const answer = await postJson<Answer>(client, path, cursor === undefined ? body : { ...body, cursor });
    // The same query warns the same on every page.
    const warnings = cursor === undefined ? (answer.warnings ?? []) : [];
    const entries = answer[name] as Entry[];
    yield { entries, warnings };
    rowsLeft -= entries.length;
    cursor = answer.cursor;
  } while (rowsLeft > 0 && cursor !== undefined);
}
