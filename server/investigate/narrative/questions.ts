/** Questions that a language model may ask: read-only searches, with the rights of the owner, around the window. */

import * as z from "zod";
import type { QueryLimits } from "../../../engine/index.ts";
import { QueryError, queryTimeseries, searchLogs, searchSpans } from "../../../query/index.ts";
import type { SearchableStore } from "../../access/searchable-store.ts";
import { parseJson } from "../../text/json-text.ts";
import type { ToolCall } from "./chat-client.ts";
import { foundLengthMax, rowsMax } from "./limits.ts";
import { maskText, maskValue } from "./masking.ts";

/** Unix milliseconds. */
interface AskedRange {
  startMs: number;
  endMs: number;
}

/** The time around the window that may be asked about. */
const aroundMs = 3_600_000;
const queryLengthMax = 2_000;

const input = z.object({
  query: z.string().max(queryLengthMax),
  time: z.enum(["window", "hour before"]).default("window"),
});

const parameters = {
  type: "object",
  properties: {
    query: { type: "string", description: "A query in svcQL" },
    time: { type: "string", enum: ["window", "hour before"] },
  },
  required: ["query"],
};
const describe = (name: string, description: string) => {
  return { type: "function", function: { name, description, parameters } };
};

/** The tools as the model's server wants them. */
export const tools: readonly object[] = [
  describe(
    "search_logs",
    'Finds the newest logs, such as logs{service.name="/k8s/shop/cart", log_level="error"}',
  ),
  describe(
    "search_spans",
    'Finds the newest spans, such as traces{service.name="/k8s/shop/cart", duration_ms>500}',
  ),
  describe(
    "query_series",
    'Computes series by minute, such as count(logs{log_level="error"}) by (service.name)',
  ),
];

/** What was asked, and how much was found. */
export interface AnsweredQuestion {
  query: string;
  sentence: string;
  /** What the model gets, masked. */
  text: string;
}

/**
 * Answers a question. `problem` tells the model why there is no answer: a question that is none, a mistake in its query,
 * or a search that failed. Rejects where the work is aborted.
 */
export async function answerQuestion(
  store: SearchableStore,
  call: ToolCall,
  window: AskedRange,
  limits: QueryLimits,
): Promise<AnsweredQuestion | { problem: string }> {
  const asked = input.safeParse(parseJson(call.function.arguments));
  if (!asked.success) return { problem: "the arguments must be { query, time }" };
  const { query, time } = asked.data;
  const range =
    time === "window"
      ? window
      : { startMs: Math.max(0, window.startMs - aroundMs), endMs: window.startMs - 1 };
  try {
    const found = await find(store, call.function.name, { query, ...range }, limits);
    if (found === undefined) return { problem: `there is no tool ${JSON.stringify(call.function.name)}` };
    const text = JSON.stringify(maskValue(found.rows)).slice(0, foundLengthMax).toWellFormed();
    return { query, sentence: `${found.count} found in the ${time}`, text };
  } catch (error) {
    if (error instanceof QueryError) return { problem: maskText(error.message) };
    if (limits.abort?.aborted === true) throw error;
    return { problem: "the search failed" };
  }
}

async function find(
  store: SearchableStore,
  tool: string,
  asked: AskedRange & { query: string },
  limits: QueryLimits,
): Promise<{ rows: object[]; count: string } | undefined> {
  if (tool === "search_logs") {
    const { rows, cursor } = await searchLogs(store, { ...asked, limit: rowsMax }, limits);
    return {
      rows: rows.map(({ message, level, attributes }) => ({ level, message, attributes })),
      count: countOf("log", rows, cursor),
    };
  }
  if (tool === "search_spans") {
    const { spans, cursor } = await searchSpans(store, { ...asked, limit: rowsMax }, limits);
    const rows = spans.map(({ name, durationMs, statusCode, attributes }) => {
      return { name, durationMs, statusCode, attributes };
    });
    return { rows, count: countOf("span", rows, cursor) };
  }
  if (tool !== "query_series") return undefined;
  const { series } = await queryTimeseries(store, { ...asked, bucketSeconds: 60 }, limits);
  const rows = series.slice(0, rowsMax).map(({ labels, points }) => {
    return { labels, values: points.map(([, value]) => Number(value.toPrecision(4))) };
  });
  return { rows, count: countOf("series", series, undefined) };
}

function countOf(what: string, rows: readonly unknown[], cursor: string | undefined): string {
  const many = rows.length === 1 || what === "series" ? what : `${what}s`;
  return `${rows.length}${cursor === undefined ? "" : " or more"} ${many}`;
}
