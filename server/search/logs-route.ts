/** POST /api/v1/query/logs, as the interface specification has it in sections 2.4 and 4. */

import type { FoundRow } from "../../engine/index.ts";
import { type RowsSearch, searchLogs } from "../../query/index.ts";
import { fieldsOf, integerField, isGiven, stringField, switchField } from "../api/fields.ts";
import { listReply } from "./list-reply.ts";
import { entryText } from "./log-entry.ts";
import { rangeFields, type SearchKind } from "./searches.ts";

/** A search for rows, as a body asks for it. */
export interface RowsAsked extends RowsSearch {
  /** The plan and what it read come with the rows. */
  explain: boolean;
}

const limitDefault = 100;
const limitRange = { min: 1, max: 1_000, expected: "an integer from 1 to 1000" };

export const logsSearch: SearchKind<RowsAsked> = {
  path: "/api/v1/query/logs",
  read: (body) => readRowsSearch(body, "a string, svcQL or search terms"),
  answer: async (store, query, limits) => {
    const { rows, cursor, warnings, explained } = await searchLogs(store, query, limits);
    const explain = query.explain ? { explain: explained } : {};
    return listReply({
      before: { count: rows.length },
      name: "logs",
      items: entries(rows),
      after: { cursor, ...(warnings.length === 0 ? {} : { warnings }), ...explain },
    });
  },
};

/** `expected` says what the query is. Throws Refusal 400. */
export function readRowsSearch(body: unknown, expected: string): RowsAsked {
  const fields = fieldsOf(body, "", ["query", "startTime", "endTime", "limit", "cursor", "explain"]);
  const query = stringField(fields, "query", expected);
  const range = rangeFields(fields);
  const limit = isGiven(fields, "limit") ? integerField(fields, "limit", limitRange) : limitDefault;
  const asked = { query, ...range, limit, explain: switchField(fields, "explain") };
  if (!isGiven(fields, "cursor")) return asked;
  return { ...asked, cursor: stringField(fields, "cursor", "a string, the cursor of an earlier answer") };
}

function* entries(rows: readonly FoundRow[]): Generator<string> {
  for (const row of rows) yield entryText(row);
}
