/** POST /api/v1/query/fields. */

import { type RowSignal, signals } from "../../engine/index.ts";
import {
  type FieldQuery,
  type ListedSeries,
  queryFields,
  queryLabels,
  type SeriesQuery,
} from "../../query/index.ts";
import { fieldsOf, integerField, isGiven, oneOfField } from "../api/fields.ts";
import { listReply } from "./list-reply.ts";
import { optionalText, rangeFields, type SearchKind } from "./searches.ts";

const limitRange = { min: 1, max: 10_000, expected: "an integer from 1 to 10000" };
const limitDefault = 1_000;

type AskedFields = { signal: "metrics"; asked: SeriesQuery } | { signal: RowSignal; asked: FieldQuery };

export const fieldsSearch: SearchKind<AskedFields> = {
  path: "/api/v1/query/fields",
  read: readFieldQuery,
  answer: async (store, { signal, asked }, limits) => {
    if (signal === "metrics") {
      const { found, isWhole, warnings } = await queryLabels(store, asked, limits);
      const after = { isWhole, ...(warnings.length === 0 ? {} : { warnings }) };
      return listReply({ before: {}, name: "fields", items: found.map(labelText), after });
    }
    const { fields, count, isWhole, warnings } = await queryFields(store, asked, limits);
    return listReply({
      before: {},
      name: "fields",
      items: fields.map((field) => JSON.stringify(field)),
      after: { count, isWhole, ...(warnings.length === 0 ? {} : { warnings }) },
    });
  },
};

function labelText({ text, series }: ListedSeries): string {
  return JSON.stringify({ name: text, series });
}

function readFieldQuery(body: unknown): AskedFields {
  const fields = fieldsOf(body, "", ["signal", "query", "startTime", "endTime", "prefix", "limit"]);
  const signal = oneOfField(fields, "signal", signals);
  const asked = {
    query: optionalText(fields, "query"),
    ...rangeFields(fields),
    prefix: optionalText(fields, "prefix"),
    limit: isGiven(fields, "limit") ? integerField(fields, "limit", limitRange) : limitDefault,
  };
  return signal === "metrics" ? { signal, asked } : { signal, asked: { signal, ...asked } };
}
