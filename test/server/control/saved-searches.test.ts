/** Saved searches: what is taken, what is refused and where, and who reads and writes them. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { type Running, startServer } from "../running.ts";
import { ask } from "./asking.ts";
import { withValue } from "./place.ts";
import { savedSearch } from "./samples.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

function save(sent: object, token?: string) {
  return ask<{ id?: string; error?: string; warnings?: string[] }>(
    ...([server, "PUT", `/saved-searches/${savedSearch.id}`, { savedSearch: sent }] as const),
    token === undefined ? {} : { token },
  );
}

test.each([
  ["timeRange", undefined],
  ["timeRange", { from: 1_700_000_000_000, to: 1_700_000_000_000 }],
  ["timeRange", { from: "-1d12h", to: "-90m" }],
  ["timeRange", { from: "-1h" }],
  // Which is earlier depends on the time of the search.
  ["timeRange", { from: "-1h", to: 1_700_000_000_000 }],
  ["timeRange", { from: 1_700_000_000_000 }],
  ["columns", []],
  ["columns", undefined],
  ["folderPath", "/saved-searches/"],
  ["folderPath", undefined],
  ["query", ""],
  ["query", "connection refused -debug"],
  ["query", "count(logs) by (service.name)"],
  ["query", "topk(5, count(logs) by (service.name))"],
])("%s as %j is taken and kept as it was sent", async (path, value) => {
  const sent = withValue(savedSearch, path, value);
  expect((await save(sent)).json).toEqual({ id: savedSearch.id });
  const read = await ask(server, "GET", `/saved-searches/${savedSearch.id}`);
  expect(read.json.savedSearch).toEqual(JSON.parse(JSON.stringify(sent)));
});

test.each([
  ["traces", 'traces{service.name="cart"}'],
  ["traces", ""],
  ["traces", "count(traces) by (name)"],
  ["metrics", "sum(http_requests_total) by (route)"],
  ["profiles", "profiles{a=`b`}"],
  ["kubernetes_resources", "kubernetes_resources | json"],
])("a search of %s, %s, is taken", async (signal, query) => {
  expect((await save({ ...savedSearch, signal, query })).json).toEqual({ id: savedSearch.id });
});

const wrongTime = "must be Unix milliseconds, a time before now such as -1h or -1d12h, or now";

test.each([
  [{ query: "logs{" }, /^savedSearch\.query: .*line 1, column/s],
  [{ query: 'logs{a="b" | json' }, /^savedSearch\.query: /],
  [{ signal: "traces", query: "logs{a=`b`}" }, /^savedSearch\.query: /],
  [{ signal: "traces", query: "checkout" }, /^savedSearch\.query: /],
  [{ signal: "metrics", query: "logs{a=`b`}" }, /^savedSearch\.query: /],
  [{ signal: "log" }, /^savedSearch\.signal must be one of logs, traces, metrics/],
  [{ signal: undefined }, /^savedSearch\.signal is required/],
  [{ name: " " }, /^savedSearch\.name must not be blank/],
  [{ name: undefined }, /^savedSearch\.name is required/],
  [{ timeRange: {} }, /^savedSearch\.timeRange\.from is required: Unix milliseconds/],
  [{ timeRange: { from: "1h" } }, new RegExp(`^savedSearch\\.timeRange\\.from ${wrongTime}, got "1h"`)],
  [{ timeRange: { from: null } }, new RegExp(`^savedSearch\\.timeRange\\.from ${wrongTime}, got null`)],
  [{ timeRange: { from: -1 } }, new RegExp(`^savedSearch\\.timeRange\\.from ${wrongTime}, got -1`)],
  [
    { timeRange: { from: "-1h", to: "-2h" } },
    /^savedSearch\.timeRange\.from must not be after to, got -1h and -2h/,
  ],
  [{ timeRange: { from: 2, to: 1 } }, /^savedSearch\.timeRange\.from must not be after to, got 2 and 1/],
  [
    { timeRange: { from: "-1h", too: "now" } },
    /unknown field "savedSearch\.timeRange\.too"; did you mean to\?/,
  ],
  [{ columns: ["a", "b", "a"] }, /^savedSearch\.columns\[2\] comes twice: "a"/],
  [{ columns: Array.from({ length: 201 }, (_, i) => `c${i}`) }, /^savedSearch\.columns must/],
  [
    { folderPath: "/dashboards/shop/" },
    /^savedSearch\.folderPath must be a folder such as \/saved-searches\/shop\//,
  ],
])("%j is refused", async (changes, problem) => {
  const { status, json } = await save({ ...savedSearch, ...changes });
  expect([status, json.error]).toEqual([400, expect.stringMatching(problem)]);
});

test("who may read dashboards reads them, and who may write dashboards writes them", async () => {
  await save(savedSearch);
  await ask(server, "PUT", "/groups/red", { group: { name: "red" } });
  for (const [role, groups, status] of [
    ["viewer", null, 403],
    ["viewer", ["red"], 403],
    ["editor", null, 200],
    ["editor", ["red"], 200],
  ] as const) {
    const made = { role, ...(groups === null ? {} : { groups }) };
    const { token } = (await ask<{ token: string }>(server, "POST", "/tokens", made)).json;
    const read = await ask(server, "GET", `/saved-searches/${savedSearch.id}`, undefined, { token });
    expect(read.json.savedSearch).toEqual(savedSearch);
    const listed = await ask(server, "GET", "/saved-searches", undefined, { token });
    expect(listed.json).toEqual({ savedSearches: [savedSearch] });
    expect((await save(savedSearch, token)).status).toBe(status);
  }
});
