/** What an alert may read once rules, groups and tokens are no longer what they were when it was saved. */

import { expect, test } from "vitest";
import { emptyScanStatistics } from "../../../engine/index.ts";
import { planTimeseries, queryTimeseries } from "../../../query/index.ts";
import { storeOfSaver } from "../../../server/access/saved-access.ts";
import type { SearchableStore } from "../../../server/access/searchable-store.ts";
import type { TokenRecord } from "../../../server/access/tokens.ts";
import type { TelemetryRule } from "../../../server/model/access-rules.ts";
import type { Caller } from "../../../server/model/caller.ts";

const saver: Caller = { tokenId: "t", name: "dev", role: "editor", groups: ["red"], environment: null };
const token: TokenRecord = {
  ...{ id: "t", name: "dev", role: "editor", secretHash: "", createdAtMs: 0 },
  ...{ expiresAtMs: null, groups: ["red"] },
};

function ruleOf(grant: object, changes: object = {}): TelemetryRule {
  const base = { type: "cluster", groups: ["red"], rules: [{ signals: ["logs"], ...grant }] };
  return { ...base, ...changes } as TelemetryRule;
}
const only = (key: string, ...values: string[]) =>
  ruleOf({ match: { matchExpressions: [{ key, operator: "In", values }] } });

const empty = {
  groups: 0,
  labels: { offsets: new Uint32Array(1), bytes: new Uint8Array() },
  scanned: emptyScanStatistics(),
  points: { groups: new Uint32Array(), buckets: new Float64Array(), values: [new Float64Array()] },
};
const store = {
  aggregate: async () => empty,
  aggregateSamples: async () => empty,
  attributeKeys: () => ({ keys: [], isWhole: false }),
} as unknown as SearchableStore;

/** "read", or the error that people see. */
async function reading(
  query: string,
  rules: readonly TelemetryRule[],
  { by = saver, record = token }: { by?: Caller; record?: TokenRecord | null } = {},
): Promise<string> {
  const tokens = { groupsOf: () => (record === null ? undefined : (record.groups ?? null)) };
  expect(planTimeseries(query).scans).toHaveLength(1);
  try {
    const seen = storeOfSaver(store, by, tokens, rules);
    await queryTimeseries(seen, { query, startMs: 0, endMs: 59_999, bucketSeconds: 60 });
    return "read";
  } catch (error) {
    return (error as Error).message;
  }
}

const lost = (signal: string) =>
  `access lost: no telemetry rule lets "dev", who saved this alert last, read the ${signal} that its query selects`;
const carts = only("service.name", "cart", "bank");

test.each([
  ["a rule grants them", 'count(logs{service.name="cart"})', [carts], "read"],
  ["a rule grants some of them", "count(logs)", [carts], "read"],
  ["no rule is left", 'count(logs{service.name="cart"})', [], lost("logs")],
  ["the rule is for another group", "count(logs)", [ruleOf({}, { groups: ["green"] })], lost("logs")],
  ["the rule is for other services", 'count(logs{service.name="mail"})', [carts], lost("logs")],
  ["one of two rules is for them", 'count(logs{service.name="mail"})', [carts, ruleOf({})], "read"],
  ["the rule is for another signal", "count(traces)", [carts], lost("traces")],
  [
    "the rule is for another cluster",
    'count(logs{environment="b"})',
    [ruleOf({}, { cluster: "a" })],
    lost("logs"),
  ],
  ["levels have no case", 'count(logs{log_level="ERROR"})', [only("log_level", "Error")], "read"],
  [
    "the rule is for other levels",
    'count(logs{log_level="info"})',
    [only("log_level", "error")],
    lost("logs"),
  ],
  ["a level is of its range", 'count(logs{log_level="ERR"})', [only("log_level", "error")], "read"],
  ["a range has that level", 'count(logs{log_level="error"})', [only("log_level", "err")], "read"],
  [
    "the rule is for levels of another range",
    'count(logs{log_level="err"})',
    [only("log_level", "warn")],
    lost("logs"),
  ],
  ["what is extracted is another attribute", 'count(logs | json | service.name="mail")', [carts], "read"],
] as const)("%s", async (_, query, rules, expected) => {
  expect(await reading(query, rules)).toBe(expected);
});

test("rights are those of the groups that the token has, or had last: they do not end with the token", async () => {
  const query = "count(logs)";
  expect(await reading(query, [carts], { record: null })).toBe("read");
  expect(await reading(query, [], { record: null })).toBe(lost("logs"));
  expect(await reading(query, [carts], { record: { ...token, expiresAtMs: 1 } })).toBe("read");
  expect(await reading(query, [carts], { record: { ...token, groups: ["green"] } })).toBe(lost("logs"));
  const { groups: _, ...unbound } = token;
  expect(await reading(query, [], { record: unbound })).toBe("read");
  expect(await reading(query, [], { by: { ...saver, groups: null }, record: null })).toBe("read");
  expect(await reading(query, [], { by: { ...saver, role: "admin" }, record: null })).toBe("read");
});
