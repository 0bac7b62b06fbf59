/** Nobody changes what happens to rows that they may not read: each way to try it over HTTP. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask } from "../control/asking.ts";
import { call } from "../running.ts";
import {
  alertOf,
  dropping,
  everything,
  expression,
  ofPay,
  ofShop,
  openScene,
  type Person,
  type Scene,
  secrets,
} from "./other-namespaces.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.stop());

const endsAt = 4_102_444_800_000;
const hook = { url: "https://mine.example.com/" };
const byNamespace = (namespace: string) => ({
  matchExpressions: [expression("k8s.namespace.name", namespace)],
});

type Attempt = readonly [what: string, method: string, path: string, body?: object];

const update = (alert: object) => ["POST", "/alerts/update", { alert }] as const;
const silence = (id: string, more: object) =>
  ["PUT", `/silences/${id}`, { silence: { endsAt, ...more } }] as const;
const exclude = (id: string, ingestionRule: object) =>
  ["PUT", `/ingestion-rules/${id}`, { ingestionRule }] as const;

const allOwned = "reads rows that you may not: save one of your own";
const allSilenced = "silence.alertIds[0]: the alert reads rows that you may not: match labels by In";
const silenceKept = "the silence may cover alerts over rows that you may not read";
const excluded = "ingestionRule.rules[0] may leave out rows that you may not read";
const ruleKept = "the ingestion rule is about rows that you may not read";
const usedBy = (alerts: string) => `the webhook is used by ${alerts} over rows that you may not read`;

const renamed = alertOf("all", everything, "ops", "ops-ends");
const [firstRule] = renamed.timeseries.evaluationRules;
const changes: [string, object][] = [
  ["its name", { ...renamed, metadata: { ...renamed.metadata, name: "quiet" } }],
  ["its query", alertOf("all", "count(logs)", "ops", "ops-ends")],
  ["its actions", alertOf("all", everything)],
  [
    "its rules",
    {
      ...renamed,
      timeseries: { ...renamed.timeseries, evaluationRules: [{ ...firstRule, name: "other" }] },
    },
  ],
  ["whether its fires are investigated", { ...renamed, investigateOnFire: true }],
  ["nothing but who saved it last", renamed],
];

/** What is refused with which sentence. */
type Refused = readonly [sentence: string, what: string, method: string, path: string, body?: object];

const attempts: Refused[] = [
  ...changes.map(
    ([what, alert]): Refused => [allOwned, `changes ${what} in an admin's alert`, ...update(alert)],
  ),
  [allOwned, "deletes an admin's alert", "DELETE", "/alerts/all"],
  [
    allOwned,
    "takes an admin's alert over, though its query is of his rows",
    ...update(alertOf("all-of-shop", ofShop)),
  ],
  [allOwned, "takes over an alert of another group", ...update(alertOf("pays", "count(logs)"))],
  [allOwned, "deletes an alert of another group", "DELETE", "/alerts/pays"],
  [
    allOwned,
    "takes over an alert of somebody who is in one group more",
    ...update(alertOf("both-again", "count(logs)")),
  ],
  [usedBy("an alert"), "redirects an admin's webhook", "PUT", "/webhooks/ops", { webhook: hook }],
  [
    usedBy("an alert"),
    "redirects the ends of an admin's alert",
    "PUT",
    "/webhooks/ops-ends",
    { webhook: hook },
  ],
  ...[
    { url: secrets.url, method: "GET" },
    { url: "[hidden]", headers: {} },
    { url: "[hidden]", body: "x" },
  ].map(
    (webhook): Refused => [
      usedBy("an alert"),
      `changes ${Object.keys(webhook)[1]} of an admin's webhook`,
      ...(["PUT", "/webhooks/ops", { webhook }] as const),
    ],
  ),
  [
    usedBy("an alert"),
    "takes the secret from an admin's webhook",
    ...(["PUT", "/webhooks/ops", { webhook: { url: "[hidden]", secret: null } }] as const),
  ],
  [usedBy("an alert"), "deletes an admin's webhook", "DELETE", "/webhooks/ops"],
  [
    usedBy("2 alerts"),
    "redirects the webhook of another group",
    "PUT",
    "/webhooks/pay-hook",
    { webhook: hook },
  ],
  [
    usedBy("an alert"),
    "redirects a webhook of an alert that Kubernetes manages and that reads other rows",
    ...(["PUT", "/webhooks/managed-hook", { webhook: hook }] as const),
  ],
  [allSilenced, "silences an admin's alert", ...silence("mine", { alertIds: ["all"] })],
  [
    allSilenced,
    "silences instances of an admin's alert by a label that others have, too",
    ...silence("mine", { alertIds: ["all"], match: { matchExpressions: [expression("team", "a")] } }),
  ],
  [
    allSilenced,
    "silences instances of another namespace in an admin's alert",
    ...silence("mine", { alertIds: ["all"], match: byNamespace("pay") }),
  ],
  [
    allSilenced,
    "silences what is not in his namespace",
    ...silence("mine", {
      alertIds: ["all"],
      match: { matchExpressions: [{ key: "k8s.namespace.name", operator: "NotIn", values: ["pay"] }] },
    }),
  ],
  [allSilenced, "silences an alert of another group", ...silence("mine", { alertIds: ["pays"] })],
  [
    allSilenced,
    "silences a managed alert that he may update, over other rows",
    ...silence("mine", { alertIds: ["kubernetes-managed.prod.shop.wide"] }),
  ],
  [
    silenceKept,
    "narrows an admin's silence",
    ...silence("all", { alertIds: ["all"], match: byNamespace("shop") }),
  ],
  [silenceKept, "ends an admin's silence", "DELETE", "/silences/all"],
  [silenceKept, "ends an admin's silence by labels", "DELETE", "/silences/payments"],
  [silenceKept, "ends a silence of another group", "DELETE", "/silences/pays"],
  [
    excluded,
    "drops the rows of another namespace",
    ...exclude("mine", dropping(["logs"], "k8s.namespace.name", "pay")),
  ],
  [
    excluded,
    "drops the rows of his namespace and another",
    ...exclude("mine", dropping(["logs"], "k8s.namespace.name", "shop", "pay")),
  ],
  [
    excluded,
    "drops rows by an attribute that rows of others have",
    ...exclude("mine", dropping(["logs"], "team", "a")),
  ],
  [
    excluded,
    "drops rows by the name of a service, which rows of others may have",
    ...exclude("mine", dropping(["traces"], "service.name", "/k8s/shop/cart")),
  ],
  [excluded, "drops every row", ...exclude("mine", { rules: [{ signals: ["logs"], action: "Exclude" }] })],
  [
    excluded,
    "drops every row of an environment",
    ...exclude("mine", { cluster: "prod", rules: [{ signals: ["logs"], action: "Exclude" }] }),
  ],
  [
    excluded,
    "drops rows by a pattern",
    ...exclude("mine", {
      rules: [
        {
          ...{ signals: ["metrics"], action: "Exclude" },
          match: { matchExpressions: [{ key: "k8s.namespace.name", operator: "RegexIn", values: ["shop"] }] },
        },
      ],
    }),
  ],
  [
    "ingestionRule.rules[1] may leave out",
    "hides what he drops behind what he may drop",
    ...exclude("mine", {
      rules: [
        ...dropping(["logs"], "k8s.namespace.name", "shop").rules,
        ...dropping(["logs"], "k8s.namespace.name", "pay").rules,
      ],
    }),
  ],
  [ruleKept, "keeps rows that an admin drops", "DELETE", "/ingestion-rules/drop-pay"],
  [
    ruleKept,
    "keeps rows that an admin drops, by a change",
    ...exclude("drop-pay", dropping(["logs"], "k8s.namespace.name", "shop")),
  ],
  [ruleKept, "keeps rows of which some are his", "DELETE", "/ingestion-rules/drop-both"],
];

const restricted: Person[] = ["shop", "user of shop"];

describe.each(restricted)("an editor who reads one namespace (%s)", (person) => {
  const named = attempts.map(([sentence, what, ...request]) => [what, sentence, request] as const);
  test.each(named)("is refused where he %s: %s", async (_what, sentence, [method, path, body]) => {
    const before = await configuration();
    const got = await ask<{ error: string }>(scene.server, method, path, body, {
      token: scene.tokens[person],
    });
    expect([got.status, got.json.error]).toEqual([403, expect.stringContaining(sentence)]);
    expect(await configuration()).toEqual(before);
  });

  test("makes no access of their own", async () => {
    const token = scene.tokens[person];
    const tried = [
      ["POST", "/tokens", { role: "editor", groups: ["pay"] }],
      ["POST", "/tokens", { role: "editor" }],
      ["PUT", "/groups/shop", { group: { name: "shop", role: "admin" } }],
      [
        "PUT",
        "/telemetry-rules/x",
        { telemetryRule: { type: "cluster", groups: ["shop"], rules: [{ signals: ["logs"] }] } },
      ],
      ["DELETE", "/telemetry-rules/pay"],
      ["DELETE", "/resource-rules/shop"],
      ["POST", "/environments/create", { environment: { name: "other" } }],
      ["DELETE", "/environments/prod"],
      ["POST", "/query/visible", { groups: ["pay"], startTime: 0, endTime: 1 }],
      ["POST", "/backup"],
    ] as const;
    for (const [method, path, body] of tried) {
      const got = await ask(scene.server, method, path, body, { token });
      expect([method, path, got.status]).toEqual([method, path, 403]);
    }
  });

  test("reads neither the secrets nor the instances of others", async () => {
    const token = scene.tokens[person];
    const read = async (path: string) => (await ask(scene.server, "GET", path, undefined, { token })).text;
    for (const path of ["/webhooks", "/webhooks/ops", "/webhooks/managed-hook", "/alerts", "/alerts/all"]) {
      const text = await read(path);
      expect([path, text.includes("[hidden]")]).toEqual([path, true]);
      for (const secret of path === "/webhooks" ? [] : [...Object.values(secrets), "of-ops"])
        expect([path, secret, text.includes(secret)]).toEqual([path, secret, false]);
    }
    // Used by alerts of their own, or by none.
    for (const id of ["shop-hook", "unused", "shared"])
      expect(await read(`/webhooks/${id}`)).toContain(secrets.url);
  });
});

const allowed: Attempt[] = [
  ["saves an alert of their own, whatever its query", ...update(alertOf("new", ofPay, "ops"))],
  ["changes it", ...update(alertOf("new", everything, "ops"))],
  ["deletes it", "DELETE", "/alerts/new"],
  ["changes an alert of the same group", ...update(alertOf("shops", "count(logs)", "shop-hook"))],
  [
    "changes the webhook of alerts over their rows",
    "PUT",
    "/webhooks/shop-hook",
    { webhook: { ...hook, url: secrets.url } },
  ],
  [
    "changes a webhook of an admin's alert over their rows",
    "PUT",
    "/webhooks/shared",
    { webhook: { ...hook, url: secrets.url } },
  ],
  [
    "changes a webhook that no alert names",
    "PUT",
    "/webhooks/unused",
    { webhook: { ...hook, url: secrets.url } },
  ],
  [
    "silences their instances of an admin's alert",
    ...silence("mine", { alertIds: ["all"], match: byNamespace("shop") }),
  ],
  ["silences an admin's alert over their rows", ...silence("mine", { alertIds: ["all-of-shop"] })],
  ["silences by labels alone, as far as they read", ...silence("mine", { match: byNamespace("pay") })],
  [
    "silences a managed alert over their rows",
    ...silence("mine", { alertIds: ["kubernetes-managed.prod.shop.own"] }),
  ],
  ["silences an alert that does not exist", ...silence("mine", { alertIds: ["nowhere"] })],
  ["ends a silence of their own", "DELETE", "/silences/mine"],
  ["changes an admin's silence of their rows", ...silence("of-shop", { alertIds: ["all-of-shop"] })],
  [
    "drops rows of their namespace",
    ...exclude("mine", dropping(["logs", "metrics"], "k8s.namespace.name", "shop")),
  ],
  ["keeps them again", "DELETE", "/ingestion-rules/mine"],
  [
    "changes an admin's rule about their rows",
    ...exclude("drop-shop", dropping(["logs"], "k8s.namespace.name", "shop")),
  ],
];

describe.each(restricted)("an editor who reads one namespace (%s)", (person) => {
  test.each(allowed.map(([what, ...request]) => [what, request] as const))(
    "%s",
    async (_what, [method, path, body]) => {
      const got = await ask(scene.server, method, path, body, { token: scene.tokens[person] });
      expect([got.status, got.text]).toEqual([200, got.text]);
    },
  );
});

test("an editor whom no groups bind, and an admin, do all of this", async () => {
  for (const token of [scene.tokens.editor, scene.server.adminToken]) {
    for (const [, what, ...request] of attempts) {
      const [method, path, body] = request;
      if (method === "DELETE") continue;
      const got = await ask(scene.server, method, path, body, { token });
      // A placeholder of a header, or of a body, that an earlier attempt removed.
      expect([what, [200, 400].includes(got.status)]).toEqual([what, true]);
    }
  }
});

/** Everything that is configured, as an admin reads it. */
async function configuration(): Promise<unknown> {
  const kinds = ["alerts", "webhooks", "silences", "ingestion-rules"];
  const lists = await Promise.all(
    kinds.map((kind) => call(scene.server, `/api/v1/${kind}`, { token: scene.server.adminToken })),
  );
  return lists.map(({ text }) => text);
}
