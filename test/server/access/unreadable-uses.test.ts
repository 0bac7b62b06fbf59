/** What holds between a change and its effect: silences, messages, and rights that change in between. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openState, type State } from "../../../engine/index.ts";
import { labelValues } from "../../../server/access/row-selection.ts";
import { Tokens } from "../../../server/access/tokens.ts";
import { type Control, openControl } from "../../../server/control/control-plane.ts";
import { Metrics } from "../../../server/metrics/metrics.ts";
import type { Alert } from "../../../server/model/alert.ts";
import type { Caller } from "../../../server/model/caller.ts";
import { Notifier } from "../../../server/notify/notifier.ts";
import { alertOf, everything, expression, ofShop } from "./other-namespaces.ts";

const endsAt = 4_102_444_800_000;
const dir = mkdtempSync(join(tmpdir(), "svc-test-"));
let nowMs = 1_750_000_000_000;
let state: State;
let tokens: Tokens;
let control: Control;
let notifier: Notifier;

const admin: Caller = { tokenId: "a", name: "admin", role: "admin", groups: null, environment: null };
const shop: Caller = { ...admin, tokenId: "s", name: "shop", role: "editor", groups: ["shop"] };
const pay: Caller = { ...shop, tokenId: "p", name: "pay", groups: ["pay"] };
const shopUser: Caller = {
  ...{ tokenId: null, name: "ann", role: "viewer", groups: [], environment: null },
  user: { subject: "ann", claimed: ["idp-shop"] },
};

beforeAll(async () => {
  state = await openState(dir);
  tokens = new Tokens(state, () => nowMs);
  const store = { append: async () => undefined };
  control = openControl({
    ...{ state, tokens, append: store.append, now: () => nowMs, log: () => undefined },
    delivery: { undeliverable: () => [], isWebhookOff: () => false },
  });
  const { collections, scope } = control;
  notifier = new Notifier({
    store: store as never,
    ...{ state, metrics: new Metrics(), now: () => nowMs, elapsed: () => nowMs, log: () => undefined },
    sources: {
      webhook: (id) => collections.webhooks.get(id),
      mayReceive: control.mayReceive,
      silences: () => collections.silences.list(),
      secret: async () => ({ problem: "none" }),
      routes: () => collections.routes.list(),
      route: (id) => collections.routes.get(id)?.value,
      inhibitions: () => collections.inhibitions.list(),
      openFires: () => [],
    },
    notify: { publicUrl: "http://x", allowedNetworks: [], pagerDutyKeys: {} },
    canSilence: (caller, id, labels = {}) => scope.canSilence(caller, id, labelValues(labels)),
    holdsNotifications: true,
  });
  const group = { name: "shop", role: "editor" as const, oidcMappings: ["idp-shop"] };
  await put("groups", "shop", group, admin);
  for (const namespace of ["shop", "pay"]) {
    const rules = [{ signals: ["logs"] }];
    await put(
      "telemetryRules",
      namespace,
      { type: "namespace", groups: [namespace], namespace, rules },
      admin,
    );
  }
  await put("alerts", "all", alertOf("all", everything, "ops"), admin);
  await put("alerts", "json", alertOf("json", "count(logs | json) by (k8s.namespace.name)"), admin);
  await put("alerts", "share", alertOf("share", `${ofShop} / count(logs) by (team)`), admin);
  const joined = (selector: string) =>
    `count(logs{k8s.namespace.name="shop"} | join (${selector}) on (trace_id) within 1m offset 1m) by (team)`;
  await put("alerts", "joined", alertOf("joined", joined("logs")), admin);
  await put("alerts", "joined own", alertOf("joined own", joined('logs{k8s.namespace.name="shop"}')), admin);
  await put("alerts", "shops", alertOf("shops", "count(logs) by (team)", "own"), shop);
});
afterAll(async () => {
  await control.close();
  await state.close();
  rmSync(dir, { recursive: true });
});

function put(kind: keyof Control["collections"], id: string, value: object, by: Caller) {
  return control.collections[kind].put(id, () => value as never, { by, ifMatch: null });
}

const silenceBy = async (by: Caller, silence: object) => {
  await put("silences", "s", { id: "s", endsAt, ...silence }, by);
  return (alertId: string, labels: Record<string, string>) =>
    notifier.silencedBy({ alertId, labels }) !== undefined;
};
const teamOne = { matchExpressions: [expression("team", "one")] };

test.each([
  ["a token", shop],
  ["a user", shopUser],
])(
  "a silence by labels of %s's holds for the instances whose rows they read, and no others",
  async (_, by) => {
    const isSilenced = await silenceBy(by, { match: teamOne });
    expect(isSilenced("all", { "k8s.namespace.name": "shop", team: "one" })).toBe(true);
    expect(isSilenced("all", { "k8s.namespace.name": "shop", team: "two" })).toBe(false);
    expect(isSilenced("all", { "k8s.namespace.name": "pay", team: "one" })).toBe(false);
    expect(isSilenced("all", { team: "one" })).toBe(false);
    expect(isSilenced("shops", { team: "one" })).toBe(true);
    // A message may say so of itself, and the labels of a calculation are of one operand only.
    expect(isSilenced("json", { "k8s.namespace.name": "shop", team: "one" })).toBe(false);
    expect(isSilenced("share", { team: "one" })).toBe(false);
    // Rows that are joined decide on the instance, too.
    expect(isSilenced("joined", { team: "one" })).toBe(false);
    expect(isSilenced("joined own", { team: "one" })).toBe(true);
    const instances = ["shop", "pay"].map((name) => ({ "k8s.namespace.name": name, team: "one" }));
    expect(notifier.coverOf("all", instances)).toEqual({
      ...{ silences: [{ id: "s", endsAt }], isWhole: false, instances: 1 },
    });
  },
);

test("a silence without labels covers an alert as a whole only if its saver reads all of it", async () => {
  await silenceBy(shop, { alertIds: ["all"] });
  expect(notifier.coverOf("all", [{ "k8s.namespace.name": "pay" }])).toEqual({
    ...{ silences: [], isWhole: false, instances: 0 },
  });
  await silenceBy(admin, { alertIds: ["all"] });
  expect(notifier.coverOf("all", [])).toMatchObject({ isWhole: true });
});

test("a silence goes with the groups and rules of its saver", async () => {
  const record = { id: "s", name: "shop", role: "editor" as const, secretHash: "", createdAtMs: 0 };
  const isSilenced = await silenceBy(shop, { match: teamOne });
  const mine = { "k8s.namespace.name": "shop", team: "one" };
  await tokens.add({ ...record, expiresAtMs: null, groups: ["pay"] });
  expect([isSilenced("all", mine), isSilenced("shops", mine)]).toEqual([false, true]);
  await tokens.add({ ...record, expiresAtMs: null, groups: ["shop"] });
  expect(isSilenced("all", mine)).toBe(true);
  const { value } = control.collections.telemetryRules.get("shop")!;
  await control.collections.telemetryRules.remove("shop", { by: admin, ifMatch: null });
  expect(isSilenced("all", mine)).toBe(false);
  await put("telemetryRules", "shop", value, admin);
});

test("an alert belongs to the groups that its saver's token has now, not to those it had", async () => {
  const record = {
    id: "g",
    name: "g",
    role: "editor" as const,
    secretHash: "",
    createdAtMs: 0,
    expiresAtMs: null,
  };
  const saver: Caller = { ...shop, tokenId: "g" };
  await put("alerts", "grown", alertOf("grown", "count(logs) by (k8s.namespace.name)"), saver);
  const isShown = () => control.visibility.alertOf("grown", shop)!.isWhole;
  await tokens.add({ ...record, groups: ["shop"] });
  expect(isShown()).toBe(true);
  await tokens.add({ ...record, groups: ["shop", "pay"] });
  expect(isShown()).toBe(false);
  await tokens.add(record);
  expect(isShown()).toBe(false);
});

test("notifications are sent again by whoever reads the rows behind them", () => {
  const canResend = (id: string, by: Caller) => control.visibility.alertOf(id, by)!.canResend;
  expect(["all", "shops"].map((id) => canResend(id, shop))).toEqual([false, true]);
  expect(["all", "shops"].map((id) => canResend(id, pay))).toEqual([false, false]);
  expect(["all", "shops"].map((id) => canResend(id, { ...shop, groups: null, tokenId: "e" }))).toEqual([
    true,
    true,
  ]);
});

test("a webhook that an alert does not name any more gets nothing of it once others have changed it", async () => {
  const hook = { id: "ops", url: "https://ops.example.com/" };
  const began = { alertId: "all", firedAtMs: nowMs };
  await put("webhooks", "ops", hook, admin);
  nowMs += 1_000;
  await put("webhooks", "ops", { ...hook, url: "https://elsewhere.example.com/" }, admin);
  expect(control.mayReceive("ops", began)).toBe(true);
  const { value, updatedBy } = control.collections.alerts.get("all")!;
  await put("alerts", "all", alertOf("all", everything), updatedBy);
  await put("webhooks", "ops", { ...hook, url: "https://shop.example.com/" }, shop);
  expect(control.mayReceive("ops", began)).toBe(false);
  expect(control.mayReceive("ops", { ...began, alertId: "deleted" })).toBe(false);
  expect(control.mayReceive("ops", { ...began, alertId: "shops" })).toBe(true);
  // A fire that begins afterwards, and an alert that names it again, by whoever saves the alert.
  expect(control.mayReceive("ops", { ...began, firedAtMs: nowMs })).toBe(true);
  await put("alerts", "all", value as Alert, updatedBy);
  expect(control.mayReceive("ops", began)).toBe(true);
});
