/** POST /api/v1/query/timeseries. */

import { queryTimeseries, type SeriesColumns, type TimeseriesQuery } from "../../query/index.ts";
import { fieldsOf, integerField, isGiven, stringField, switchField } from "../api/fields.ts";
import { Refusal } from "../limits/refusal.ts";
import { bucketRange } from "./bucket-width.ts";
import { seriesMax } from "./limits.ts";
import { listReply } from "./list-reply.ts";
import { rangeFields, type SearchKind } from "./searches.ts";

interface AskedSeries extends TimeseriesQuery {
  explain: boolean;
}

export const timeseriesSearch: SearchKind<AskedSeries> = {
  path: "/api/v1/query/timeseries",
  read: readTimeseriesQuery,
  answer: async (store, query, limits) => {
    const { columns, bucketSeconds, partial, warnings, explained } = await queryTimeseries(
      store,
      query,
      limits,
    );
    if (columns.length > seriesMax) {
      const problem = `the query gives ${columns.length} series, and an answer holds ${seriesMax} at most`;
      throw new Refusal(400, `${problem}; group by fewer labels, or take the greatest with topk(…)`);
    }
    const after = {
      bucketSize: bucketSeconds,
      partial,
      ...(warnings.length === 0 ? {} : { warnings }),
      ...(query.explain ? { explain: explained } : {}),
    };
    return listReply({ before: {}, name: "series", items: seriesTexts(columns), after });
  },
};

function readTimeseriesQuery(body: unknown): AskedSeries {
  const fields = fieldsOf(body, "", ["query", "startTime", "endTime", "bucketSize", "explain"]);
  const query = stringField(fields, "query", "a string, svcQL with an aggregation");
  const asked = { query, ...rangeFields(fields), explain: switchField(fields, "explain") };
  if (!isGiven(fields, "bucketSize")) return asked;
  return { ...asked, bucketSeconds: integerField(fields, "bucketSize", bucketRange) };
}

/** Written from the columns, since points are many and objects of them would be made for this alone. */
function* seriesTexts(columns: SeriesColumns): Generator<string> {
  for (let place = 0; place < columns.length; place++) {
    let points = "";
    columns.eachPoint(place, (ms, value) => {
      points += `${points === "" ? "" : ","}[${ms},${value}]`;
    });
    yield `{"labels":${JSON.stringify(columns.labels(place))},"points":[${points}]}`;
  }
}
