/** The wrong queries are wrong: the parser or the naive evaluator refuses each of them. */
import { expect, test } from "vitest";
import { evaluate } from "./naive/evaluator.ts";
import { wrongQueries } from "./wrong-queries.ts";

test.each(wrongQueries)("$query is refused", ({ query }) => {
  const nothing = { rows: {}, samples: [] };
  expect(evaluate(query, nothing, { startMs: 0, endMs: 59_999, bucketSeconds: 60 })).toHaveProperty("error");
});
