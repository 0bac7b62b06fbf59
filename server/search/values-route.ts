/** POST /api/v1/query/values. */

import { type RowSignal, signals } from "../../engine/index.ts";
import {
  type ListedSeries,
  queryLabelValues,
  queryValues,
  type SeriesQuery,
  type ValueQuery,
} from "../../query/index.ts";
import { fieldsOf, integerField, isGiven, oneOfField, stringField } from "../api/fields.ts";
import { Refusal } from "../limits/refusal.ts";
import { listReply } from "./list-reply.ts";
import { optionalText, rangeFields, type SearchKind } from "./searches.ts";

const limitRange = { min: 1, max: 1_000, expected: "an integer from 1 to 1000" };
const limitDefault = 100;

type AskedValues =
  | { signal: "metrics"; label: string; asked: SeriesQuery }
  | { signal: RowSignal; asked: ValueQuery };

export const valuesSearch: SearchKind<AskedValues> = {
  path: "/api/v1/query/values",
  read: readValueQuery,
  answer: async (store, query, limits) => {
    if (query.signal === "metrics") {
      const { found, isWhole, warnings } = await queryLabelValues(store, query.label, query.asked, limits);
      const after = { isWhole, ...(warnings.length === 0 ? {} : { warnings }) };
      return listReply({ before: {}, name: "values", items: found.map(labelValueText), after });
    }
    const { values, isWhole, countedFromMs, warnings } = await queryValues(store, query.asked, limits);
    return listReply({
      before: {},
      name: "values",
      items: values.map((value) => JSON.stringify(value)),
      after: { isWhole, countedFrom: countedFromMs, ...(warnings.length === 0 ? {} : { warnings }) },
    });
  },
};

function labelValueText({ text, ...of }: ListedSeries): string {
  return JSON.stringify({ value: text, ...of });
}

function readValueQuery(body: unknown): AskedValues {
  const known = ["signal", "field", "query", "startTime", "endTime", "prefix", "limit"];
  const fields = fieldsOf(body, "", known);
  const field = stringField(fields, "field", "a string, the name of a field");
  if (field === "") throw new Refusal(400, 'field must be a string, the name of a field, got ""');
  const signal = oneOfField(fields, "signal", signals);
  const asked = {
    query: optionalText(fields, "query"),
    ...rangeFields(fields),
    prefix: optionalText(fields, "prefix"),
    limit: isGiven(fields, "limit") ? integerField(fields, "limit", limitRange) : limitDefault,
  };
  return signal === "metrics"
    ? { signal, label: field, asked }
    : { signal, asked: { signal, field, ...asked } };
}
