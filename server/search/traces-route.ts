/** POST /api/v1/query/traces. */

import { type Span, searchSpans } from "../../query/index.ts";
import { listReply } from "./list-reply.ts";
import { type RowsAsked, readRowsSearch } from "./logs-route.ts";
import type { SearchKind } from "./searches.ts";
import { spanText } from "./span-entry.ts";

export const tracesSearch: SearchKind<RowsAsked> = {
  path: "/api/v1/query/traces",
  read: (body) => readRowsSearch(body, "a string, svcQL that selects spans"),
  answer: async (store, query, limits) => {
    const { spans, cursor, warnings, explained } = await searchSpans(store, query, limits);
    const explain = query.explain ? { explain: explained } : {};
    return listReply({
      before: {},
      name: "spans",
      items: spanTexts(spans),
      after: { count: spans.length, cursor, ...(warnings.length === 0 ? {} : { warnings }), ...explain },
    });
  },
};

function* spanTexts(spans: readonly Span[]): Generator<string> {
  for (const span of spans) yield spanText(span);
}
