/** `svc query`: searches logs and prints them, newest first. */

import type { Client } from "./client.ts";
import { askJson, openClient } from "./client.ts";
import type { Command, Settings } from "./flag.ts";
import { one, onOrOff } from "./flag.ts";
import type { LogEntry } from "./log-line.ts";
import { logLine } from "./log-line.ts";
import { serverFlags } from "./shared-flags.ts";
import { safe, safeJson, wantsColour } from "./terminal.ts";
import { parseInteger, parseTime, UsageError } from "./units.ts";

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
  summary: "searches logs and prints them, newest first",
  operands: "[QUERY]",
  flags,
  details: [
    'QUERY is svcQL, such as \'{service.name="/k8s/shop/cart"} |= "refused"\', or search terms as one types them;',
    "without it every log matches. Times are printed in UTC.",
  ],
  run: async (settings, operands) => {
    if (operands.length > 1) {
      throw new UsageError(`query takes one query, got ${operands.length}: put it in single quotes`);
    }
    const client = await openClient(settings);
    const print = printer(settings.json);
    for await (const page of pages(client, settings, operands[0] ?? "")) {
      for (const warning of page.warnings ?? []) process.stderr.write(`warning: ${safe(warning)}\n`);
      await print(page.logs);
    }
    return 0;
  },
};

async function* pages(client: Client, settings: Settings<typeof flags>, text: string): AsyncGenerator<Page> {
  let left = settings.limit;
  let cursor: string | undefined;
  do {
    const limit = Math.min(left, pageLimit);
    const body = { query: text, startTime: settings.from, endTime: settings.to, limit };
    const page = await askJson<Page>(client, {
      method: "POST",
      path: "/api/v1/query/logs",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(cursor === undefined ? body : { ...body, cursor }),
    });
    // The same query warns the same on every page.
    yield cursor === undefined ? page : { ...page, warnings: [] };
    left -= page.count;
    cursor = page.cursor;
  } while (left > 0 && cursor !== undefined);
}

/** Waits for the reader between pages, so that a slow one costs no memory. */
function printer(json: boolean): (logs: readonly LogEntry[]) => Promise<void> {
  const inColour = wantsColour(process.stdout, process.env);
  const lineOf = json
    ? (entry: LogEntry) => safeJson(JSON.stringify(entry))
    : (entry: LogEntry) => logLine(entry, inColour);
  return async (logs) => {
    if (logs.length === 0) return;
    const flows = process.stdout.write(`${logs.map(lineOf).join("\n")}\n`);
    if (!flows) await new Promise((resolve) => process.stdout.once("drain", resolve));
  };
}
