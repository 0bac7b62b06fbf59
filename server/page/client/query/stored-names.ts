/** Names of fields, values and metrics for the editor, from the rows of a range. */

import type { FieldsAnswer, ValuesAnswer } from "../api/answers.ts";
import { ask } from "../api/client.ts";
import type { NameSource } from "./completions.ts";
import { quoteText } from "./quoted-text.ts";

const namesMax = 20;

/** `rangeNow` gives the range whose rows are asked, at each question. */
export function makeStoredNames(rangeNow: () => { startTime: number; endTime: number }): NameSource {
  return async (wanted, prefix, signal) => {
    const { startTime, endTime } = rangeNow();
    const body = { startTime, endTime, prefix, limit: namesMax };
    if (wanted.kind === "metric") return valuesOf({ ...body, signal: "metrics", field: "__name__" }, signal);
    const within = wanted.metric === undefined ? {} : { query: `{${quoteText(wanted.metric)}}` };
    if (wanted.kind === "value")
      return valuesOf({ ...body, ...within, signal: wanted.signal, field: wanted.field }, signal);
    const { fields } = await ask<FieldsAnswer>("/api/v1/query/fields", {
      body: { ...body, ...within, signal: wanted.signal },
      signal,
    });
    return fields.map(({ name, rows }) => ({ name, rows }));
  };
}

async function valuesOf(body: object, signal: AbortSignal) {
  const { values } = await ask<ValuesAnswer>("/api/v1/query/values", { body, signal });
  return values.map(({ value, count }) => ({ name: value, rows: count }));
}
