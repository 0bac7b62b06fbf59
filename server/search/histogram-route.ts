/** POST /api/v1/query/histogram. */

import { type HistogramQuery, queryHistogram, type RowHistogram } from "../../query/index.ts";
import { fieldsOf, integerField, isGiven, oneOfField, stringField } from "../api/fields.ts";
import { bucketRange } from "./bucket-width.ts";
import { listReply } from "./list-reply.ts";
import { rowSignals } from "./row-signals.ts";
import { rangeFields, type SearchKind } from "./searches.ts";

export const histogramSearch: SearchKind<HistogramQuery> = {
  path: "/api/v1/query/histogram",
  read: readHistogramQuery,
  answer: async (store, query, limits) => {
    const histogram = await queryHistogram(store, query, limits);
    const { count, bucketSeconds, partial, warnings } = histogram;
    return listReply({
      before: { bucketSize: bucketSeconds, partial },
      name: "series",
      items: seriesTexts(histogram),
      after: { count, ...(warnings.length === 0 ? {} : { warnings }) },
    });
  },
};

function readHistogramQuery(body: unknown): HistogramQuery {
  const fields = fieldsOf(body, "", ["signal", "query", "startTime", "endTime", "bucketSize"]);
  const signal = isGiven(fields, "signal") ? oneOfField(fields, "signal", rowSignals) : "logs";
  const query = stringField(fields, "query", "a string, svcQL that selects rows (of logs, or search terms)");
  const asked = { signal, query, ...rangeFields(fields) };
  if (!isGiven(fields, "bucketSize")) return asked;
  return { ...asked, bucketSeconds: integerField(fields, "bucketSize", bucketRange) };
}

function* seriesTexts({ by, series }: RowHistogram): Generator<string> {
  for (const { kind, points } of series)
    yield JSON.stringify(by === null ? { points } : { [by]: kind, points });
}
