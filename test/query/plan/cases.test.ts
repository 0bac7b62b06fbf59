/** Queries as data: how they are printed, their plans, and the errors of wrong queries. */
import { describe, expect, test } from "vitest";
import {
  parseLogsQuery,
  parseQuery,
  planLogs,
  planTimeseries,
  printQuery,
  QueryError,
} from "../../../query/index.ts";
import { readCases } from "./cases.ts";

/** The canonical text of a search and its plan, in the notation of the case files; or the error. */
function printPlan(query: string): string {
  try {
    const { steps, names, warnings } = planLogs(query);
    return [
      printQuery(parseLogsQuery(query)),
      ...steps.map((step) => JSON.stringify(step)),
      ...(names.length === 0 ? [] : [`names: ${names.join(", ")}`]),
      ...warnings.map((warning) => `warning: ${warning}`),
    ].join("\n");
  } catch (error) {
    if (error instanceof QueryError) return error.message;
    throw error;
  }
}

/** The plan of a timeseries query in the notation of the case files; or the error. */
function printTimeseriesPlan(query: string): string {
  try {
    const plan = planTimeseries(query);
    expect(structuredClone(plan)).toEqual(plan);
    const { scans, series, names, warnings } = plan;
    return [
      ...scans.map((scan, i) => `${i}: ${JSON.stringify(scan)}`),
      JSON.stringify(series),
      ...names.map(
        ({ signal, metric, label }) => `name: ${[signal, metric, label].filter(Boolean).join(" ")}`,
      ),
      ...warnings.map((warning) => `warning: ${warning}`),
    ].join("\n");
  } catch (error) {
    if (error instanceof QueryError) return error.message;
    throw error;
  }
}

describe.each(["timeseries.txt", "series-errors.txt"])("%s", (file) => {
  test.each(readCases(file))("$query", ({ query, answer }) => {
    // An excerpt may end in an empty line, which is not part of the case.
    expect(printTimeseriesPlan(query).trimEnd()).toBe(answer);
    expect(answer).not.toMatch(/unexpected|redundant|EOF|undefined/i);
  });
});

describe.each(["plans.txt", "terms.txt"])("%s", (file) => {
  test.each(readCases(file))("$query", ({ query, answer }) => {
    expect(printPlan(query)).toBe(answer);
  });
});

describe("print.txt", () => {
  test.each(readCases("print.txt"))("$query", ({ query, answer }) => {
    const tree = parseQuery(query);
    expect(printQuery(tree)).toBe(answer);
    expect(parseQuery(answer)).toEqual(tree);
  });
});

describe("errors.txt", () => {
  const cases = readCases("errors.txt");

  test("has more than 100 cases", () => {
    expect(cases.length).toBeGreaterThan(100);
  });

  test.each(cases)("$query", ({ query, answer }) => {
    expect(() => planLogs(query)).toThrow(QueryError);
    expect(printPlan(query)).toBe(answer);
    expect(answer).not.toMatch(/unexpected|token|redundant|EOF|undefined/i);
  });
});

describe("variables", () => {
  const variables = { service: 'a"b', label: "http.status_code", limit: "500", pattern: "a.b|c", all: "*" };

  test("are data, never syntax, in every place", () => {
    const query =
      'logs{service.name="/k8s/$service", $label >= $limit, x=$all} |~ "^$pattern$" |= "\\$limit $limit"';
    expect(planLogs(query, { variables }).steps).toEqual([
      {
        kind: "filter",
        filter: {
          kind: "and",
          of: [
            { kind: "equals", field: { kind: "attribute", key: "service.name" }, value: '/k8s/a"b' },
            {
              kind: "compares",
              field: { kind: "attribute", key: "http.status_code" },
              op: ">=",
              number: 500,
            },
            { kind: "matches", field: { kind: "message" }, pattern: "^a\\.b\\|c$", whole: false },
            { kind: "contains", field: { kind: "message" }, text: "$limit 500", ignoreCase: false },
          ],
        },
      },
    ]);
  });

  test("can be the number of topk, a value of a selector and a label of a grouping", () => {
    const query = 'topk($limit, count(logs{a="$service"}) by ($label))';
    const { series, scans } = planTimeseries(query, { variables: { ...variables, limit: "5" } });
    expect(series).toMatchObject({ kind: "top", count: 5, of: { kind: "scan", scan: 0 } });
    expect(scans).toMatchObject([{ groupBy: [{ label: "http.status_code" }] }]);
  });

  test("without a value are an error that names them", () => {
    expect(() => planLogs("logs{a=$toString}", { variables })).toThrow(
      "the variable $toString has no value here",
    );
  });

  test("with a value that is no number are refused where a number is expected", () => {
    expect(() => planLogs("logs{a > $label}", { variables })).toThrow(
      '> compares with a number such as 20, 20ms or 1.5KiB, not with "http.status_code"',
    );
  });
});

describe("a tree", () => {
  test("is frozen all the way down", () => {
    const walk = (node: unknown): void => {
      if (typeof node !== "object" || node === null) return;
      expect(Object.isFrozen(node), JSON.stringify(node)).toBe(true);
      for (const part of Object.values(node)) walk(part);
    };
    const queries = [
      'sum(rate(logs{a="$b", c>-1} |= "d" or i"e" | json | logfmt | pattern "<f>" | regexp "(?P<g>h)" | i=1 or j=2, k=3)) by (l)',
      '- topk(5, m, count(n)) + on (o) $p * json_path("q", {"r"}) > bool 1',
    ];
    for (const query of queries) walk(parseQuery(query));
    walk(parseLogsQuery('error -"a b" OR c=d'));
  });

  test("is plain data", () => {
    const tree = parseQuery('count(logs{a="b"} | json | c > 5) by (d) / 2');
    expect(structuredClone(tree)).toEqual(tree);
  });
});
