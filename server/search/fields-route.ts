/** POST /api/v1/query/fields. */

import { type FieldQuery, queryFields } from "../../query/index.ts";
import { fieldsOf, integerField, isGiven, oneOfField } from "../fields.ts";
import { listReply } from "./list-reply.ts";
import { rowSignals } from "./row-signals.ts";
import { optionalText, rangeFields, type SearchKind } from "./searches.ts";

const limitRange = { min: 1, max: 10_000, expected: "an integer from 1 to 10000" };
const limitDefault = 1_000;

export const fieldsSearch: SearchKind<FieldQuery> = {
  path: "/api/v1/query/fields",
  read: readFieldQuery,
  answer: async (store, query, limits) => {
    const { fields, count, isWhole, warnings } = await queryFields(store, query, limits);
    return listReply({
      before: {},
      name: "fields",
      items: fields.map((field) => JSON.stringify(field)),
      after: { count, isWhole, ...(warnings.length === 0 ? {} : { warnings }) },
    });
  },
};

function readFieldQuery(body: unknown): FieldQuery {
  const fields = fieldsOf(body, "", ["signal", "query", "startTime", "endTime", "prefix", "limit"]);
  return {
    signal: oneOfField(fields, "signal", rowSignals),
    query: optionalText(fields, "query"),
    ...rangeFields(fields),
    prefix: optionalText(fields, "prefix"),
    limit: isGiven(fields, "limit") ? integerField(fields, "limit", limitRange) : limitDefault,
  };
}
