/** Filters of telemetry rules and grants of resource rules, against the plainest model. */

import { describe, expect, test } from "vitest";
import type { Filter, Signal } from "../../../engine/index.ts";
import { callerOfUser, withCurrentGroups } from "../../../server/access/group-membership.ts";
import { canUseManaged } from "../../../server/access/resource-grants.ts";
import { rowFilterOf } from "../../../server/access/row-filter.ts";
import type { ResourceRule, TelemetryRule } from "../../../server/model/access-rules.ts";
import type { Caller } from "../../../server/model/caller.ts";
import { randomOf } from "../control/random.ts";
import { isVisible, type Row, randomGroups, randomRow, randomRule } from "../control/visible.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

function member(groups: readonly string[] | null, role: Caller["role"] = "viewer"): Caller {
  return { tokenId: "1", name: "m", role, groups, environment: null };
}

/** As the engine means filters: a field that a row lacks has the empty text. */
function passes(filter: Filter, row: Row): boolean {
  switch (filter.kind) {
    case "always":
      return true;
    case "never":
      return false;
    case "and":
      return filter.of.every((each) => passes(each, row));
    case "or":
      return filter.of.some((each) => passes(each, row));
    case "equals":
      return textOf(filter, row) === filter.value;
    case "matches":
      return new RegExp(`^(?:${filter.pattern.replace("(?s)", "")})$`, "s").test(textOf(filter, row));
    default:
      throw new Error(`a rule needs no ${filter.kind}`);
  }
}

function textOf({ field }: Extract<Filter, { kind: "equals" | "matches" }>, row: Row): string {
  if (field.kind === "level") {
    const lower = row.level.toLowerCase();
    return field.asRange === true && lower === "err" ? "error" : lower;
  }
  return field.kind === "attribute" ? (row.attributes[field.key] ?? "") : "";
}

describe(`telemetry rules (SVC_SEED=${seed})`, () => {
  test("let through the rows that a plain reading of them lets through", () => {
    const random = randomOf(seed);
    let seen = 0;
    for (let i = 0; i < 20_000; i++) {
      const rules = Array.from({ length: Math.floor(random() * 4) }, () => randomRule(random));
      const groups = randomGroups(random);
      const row = randomRow(random);
      const filter = rowFilterOf(member(groups), rules as TelemetryRule[], row.signal as Signal);
      const expected = isVisible(row, groups, rules);
      expect([i, rules, groups, row, passes(filter, row)]).toEqual([i, rules, groups, row, expected]);
      if (expected) seen++;
    }
    expect(seen).toBeGreaterThan(1_000);
  });

  test("leave alone who is no member of groups, and admins", () => {
    const always = { kind: "always" };
    expect(rowFilterOf(member(null), [], "logs")).toEqual(always);
    expect(rowFilterOf(member([], "admin"), [], "logs")).toEqual(always);
    expect(rowFilterOf(member([]), [], "logs")).toEqual({ kind: "never" });
    expect(rowFilterOf(member([], "editor"), [], "traces")).toEqual({ kind: "never" });
  });
});

describe("users of an identity provider", () => {
  const user = { subject: "u", name: "ann", claimed: ["a", "b"] };
  const groups = [
    { name: "none" },
    { name: "one", oidcMappings: ["a", "x"] },
    { name: "two", oidcMappings: ["b"], role: "editor" as const },
    { name: "three", oidcMappings: ["c"], role: "admin" as const },
  ];

  test("are members of the groups that name theirs, with the greatest role of these", () => {
    const { role, groups: own, tokenId } = callerOfUser(user, groups);
    expect([role, own, tokenId]).toEqual(["editor", ["one", "two"], null]);
    expect(callerOfUser({ ...user, claimed: ["c", "a"] }, groups).role).toBe("admin");
    expect(() => callerOfUser({ ...user, claimed: ["one", "none"] }, groups)).toThrow(
      "no group here takes you in",
    );
  });

  test("lose what groups no longer give also where they are remembered, and bearers of tokens do not", () => {
    const saver = callerOfUser(user, groups);
    expect(withCurrentGroups(saver, () => groups.slice(0, 2))).toMatchObject({
      role: "viewer",
      groups: ["one"],
    });
    expect(withCurrentGroups(saver, () => [])).toMatchObject({ role: "viewer", groups: [] });
    const bearer = member(["gone"], "editor");
    expect(withCurrentGroups(bearer, () => [])).toBe(bearer);
  });
});

describe("resource rules", () => {
  const place = { cluster: "prod", namespace: "shop" };
  const rule = (changes: object, grant: object = {}): ResourceRule[] => [
    {
      type: "cluster",
      groups: ["red"],
      cluster: "prod",
      rules: [{ resources: ["dashboards"], verbs: ["read"], ...grant }],
      ...changes,
    } as ResourceRule,
  ];
  const may = (rules: ResourceRule[], verb: "read" | "update" = "read", groups: string[] | null = ["red"]) =>
    canUseManaged(member(groups), rules, "dashboards", verb, place);

  test.each([
    ["the whole cluster", {}, {}, true],
    ["another cluster", { cluster: "test" }, {}, false],
    ["another group", { groups: ["green"] }, {}, false],
    ["its namespace", { type: "namespace", namespace: "shop" }, {}, true],
    ["another namespace", { type: "namespace", namespace: "pay" }, {}, false],
    ["another resource", {}, { resources: ["alerts"] }, false],
    ["its folder", {}, { path: "/shop/" }, true],
    ["its folder, written whole", {}, { path: "/dashboards/kubernetes-managed/prod/shop/" }, true],
    ["a folder whose name begins alike", {}, { path: "sho" }, false],
    ["another cluster's folder", {}, { path: "/dashboards/kubernetes-managed/test/" }, false],
    ["the root", {}, { path: "/" }, true],
  ])("grant %s: %#", (_name, changes, grant, expected) => {
    expect(may(rule(changes, grant))).toBe(expected);
  });

  test("grant the verbs that they name, to members alone; others have their role", () => {
    expect(may(rule({}), "update")).toBe(false);
    expect(may([...rule({}), ...rule({}, { verbs: ["update"] })], "update")).toBe(true);
    expect(may([], "read", [])).toBe(false);
    expect(may([], "update", null)).toBe(true);
  });
});
