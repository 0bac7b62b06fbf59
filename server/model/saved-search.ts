/** Saved searches: a query by name, with the range of time and the columns to show it with. */

import * as z from "zod";
import { signals } from "../../engine/index.ts";
import { detectQueryKind, planLogs, planSearch, planTimeseries } from "../../query/index.ts";
import { makeFieldRefusal } from "../throttle/refusal.ts";
import { listedMax, timeMsMax } from "./limits.ts";
import { refuseQuery } from "./query-refusal.ts";
import { sentId } from "./resource-id.ts";
import { expects, longText, nameText, strictObject } from "./schema.ts";

const folder = /^\/saved-searches\/(?:[^/\p{Cc}]+\/)*$/u;

const expectedTime = expects("Unix milliseconds, a time before now such as -1h or -1d12h, or now");

/** Unix milliseconds, or a time relative to the time of the search. */
const time = z.union(
  [
    z.int(expectedTime).min(0, expectedTime).max(timeMsMax, expectedTime),
    z
      .string()
      .max(40, expectedTime)
      .regex(/^(?:now|-(?:\d+[smhdw])+)$/, expectedTime),
  ],
  expectedTime,
);

export const savedSearchShape = strictObject({
  id: sentId.optional(),
  name: nameText,
  description: longText.optional(),
  folderPath: z
    .string()
    .max(1_000)
    .regex(folder, "must be a folder such as /saved-searches/shop/ or /saved-searches/shop/checkout/")
    .optional(),
  signal: z.enum(signals),
  query: longText,
  /** Both ends are inclusive; `to` is now where it is absent. */
  timeRange: strictObject({ from: time, to: time.optional() }).optional(),
  /** Names of fields, in the order in which they are shown. */
  columns: z.array(nameText).max(listedMax).optional(),
}).meta({ id: "SavedSearch" });

export type SavedSearch = z.infer<typeof savedSearchShape>;

/** Checks what the schema cannot express. Throws Refusal 400 naming the field below `path`; returns warnings. */
export function checkSavedSearch(search: SavedSearch, path: string): string[] {
  const { timeRange, columns = [] } = search;
  if (timeRange !== undefined) checkTimeRange(timeRange, `${path}.timeRange`);
  const twice = columns.findIndex((name, i) => columns.indexOf(name) < i);
  if (twice >= 0) {
    throw makeFieldRefusal(`${path}.columns[${twice}]`, `comes twice: ${JSON.stringify(columns[twice])}`);
  }
  const warnings = refuseQuery(`${path}.query`, () => planSaved(search));
  return warnings.map((warning) => `${path}.query: ${warning}`);
}

/** Plans the query and returns the warnings. Metrics are read by timeseries queries alone. Throws QueryError. */
function planSaved({ signal, query }: SavedSearch): string[] {
  if (signal === "metrics" || detectQueryKind(query) === "series") return planTimeseries(query).warnings;
  return (signal === "logs" ? planLogs(query) : planSearch(signal, query)).warnings;
}

/** Compares two times of one sort: whether `-1d` is before a date is known only when the search runs. */
function checkTimeRange({ from, to = "now" }: NonNullable<SavedSearch["timeRange"]>, path: string): void {
  if (typeof from !== typeof to) return;
  if (positionOf(from) <= positionOf(to)) return;
  throw makeFieldRefusal(`${path}.from`, `must not be after to, got ${from} and ${to}`);
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** Unix milliseconds, or seconds from now, which are negative. */
function positionOf(at: string | number): number {
  if (typeof at === "number") return at;
  let seconds = 0;
  for (const [, count, unit] of at.matchAll(/(\d+)([smhdw])/g))
    seconds -= Number(count) * unitSeconds[unit!]!;
  return seconds;
}
