/** POST /api/v1/query/values. */

import { queryValues, type ValueQuery } from "../../query/index.ts";
import { fieldsOf, integerField, isGiven, oneOfField, stringField } from "../fields.ts";
import { Refusal } from "../route.ts";
import { listReply } from "./list-reply.ts";
import { rowSignals } from "./row-signals.ts";
import { optionalText, rangeFields, type SearchKind } from "./searches.ts";

const limitRange = { min: 1, max: 1_000, expected: "an integer from 1 to 1000" };
const limitDefault = 100;

export const valuesSearch: SearchKind<ValueQuery> = {
  path: "/api/v1/query/values",
  read: readValueQuery,
  answer: async (store, query, limits) => {
    const { values, isWhole, countedFromMs, warnings } = await queryValues(store, query, limits);
    return listReply({
      before: {},
      name: "values",
      items: values.map((value) => JSON.stringify(value)),
      after: { isWhole, countedFrom: countedFromMs, ...(warnings.length === 0 ? {} : { warnings }) },
    });
  },
};

function readValueQuery(body: unknown): ValueQuery {
  const known = ["signal", "field", "query", "startTime", "endTime", "prefix", "limit"];
  const fields = fieldsOf(body, "", known);
  const field = stringField(fields, "field", "a string, the name of a field");
  if (field === "") throw new Refusal(400, 'field must be a string, the name of a field, got ""');
  return {
    signal: oneOfField(fields, "signal", rowSignals),
    field,
    query: optionalText(fields, "query"),
    ...rangeFields(fields),
    prefix: optionalText(fields, "prefix"),
    limit: isGiven(fields, "limit") ? integerField(fields, "limit", limitRange) : limitDefault,
  };
}
