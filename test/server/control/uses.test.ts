/** What others use is not deleted, and the refusal names who; lists are paged and refuse what they do not know. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { alertOf, ofShop } from "../access/other-namespaces.ts";
import { call, type Running, startServer } from "../running.ts";
import { ask } from "./asking.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const make = async (method: string, path: string, body: object, token?: string) => {
  const got = await ask<{ id: string; token: string }>(
    server,
    method,
    path,
    body,
    token === undefined ? {} : { token },
  );
  expect([path, got.status, got.text]).toEqual([path, 200, got.text]);
  return got.json;
};
const refusal = async (path: string, token?: string) => {
  const { status, json } = await ask(server, "DELETE", path, undefined, token === undefined ? {} : { token });
  return [status, json.error];
};
const reading = { rules: [{ signals: ["logs"] }] };
const managing = { rules: [{ resources: ["alerts"], verbs: ["read"] }] };

describe("is not deleted:", () => {
  test("a group that rules and tokens name", async () => {
    await make("POST", "/groups", { group: { name: "ops" } });
    const rule = { type: "cluster", groups: ["ops"] };
    await make("PUT", "/telemetry-rules/reads", { telemetryRule: { ...rule, ...reading } });
    await make("PUT", "/resource-rules/manages", { resourceRule: { ...rule, ...managing } });
    const { id } = await make("POST", "/tokens", { role: "viewer", groups: ["ops"], name: "ann" });
    expect(await refusal("/groups/ops")).toEqual([
      409,
      `the group is used by the telemetry rule "reads", the resource rule "manages", the token "ann" (${id}): change that first`,
    ]);
    const made: string[] = [];
    for (let i = 0; i < 4; i++)
      made.push((await make("POST", "/tokens", { role: "viewer", groups: ["ops"] })).id);
    expect((await refusal("/groups/ops"))[1]).toContain(" and 2 more: change that first");
    for (const each of [id, ...made]) await ask(server, "DELETE", `/tokens/${each}`);
    for (const path of ["/telemetry-rules/reads", "/resource-rules/manages", "/groups/ops"])
      expect(await refusal(path)).toEqual([200, undefined]);
  });

  test("an environment that rules name as their cluster", async () => {
    const { token } = await make("POST", "/environments/create", { environment: { name: "prod" } });
    const drop = { cluster: "prod", rules: [{ signals: ["logs"], action: "Exclude" }] };
    await make("PUT", "/ingestion-rules/drop", { ingestionRule: drop });
    expect(await refusal("/environments/prod")).toEqual([
      409,
      'the environment is used by the ingestion rule "drop": change that first',
    ]);
    // Nothing was revoked.
    const headers = { "Content-Type": "application/x-ndjson" };
    const sent = await call(server, "/api/v1/ingest/spans", { token, headers, body: "" });
    expect(sent.status).not.toBe(401);
    await ask(server, "DELETE", "/ingestion-rules/drop");
    expect(await refusal("/environments/prod")).toEqual([200, undefined]);
    expect(await refusal("/environments/prod")).toEqual([404, 'there is no environment of id "prod"']);
  });

  test("a webhook that alerts notify; those that the caller may not see are not named", async () => {
    const { token: exporter } = await make("POST", "/environments/create", { environment: { name: "test" } });
    await make("PUT", "/webhooks/hook", { webhook: { url: "https://x.example/" } });
    await make("POST", "/alerts/update", { alert: alertOf("mine", ofShop, "hook") });
    const { timeseries } = alertOf("theirs", ofShop, "hook");
    const object = {
      kind: "SvcAlert",
      metadata: { name: "theirs", namespace: "shop", uid: "1" },
      spec: { timeseries },
    };
    await make("POST", "/kubernetes/objects", { objects: [object] }, exporter);
    const rule = { type: "namespace", namespace: "shop", groups: ["shop"], ...reading };
    await make("PUT", "/telemetry-rules/shop", { telemetryRule: rule });
    const { token } = await make("POST", "/tokens", { role: "editor", groups: ["shop"] });
    expect(await refusal("/webhooks/hook", token)).toEqual([
      409,
      'the webhook is used by an alert that you may not see, the alert "mine": change that first',
    ]);
    expect(await refusal("/webhooks/hook")).toEqual([
      409,
      'the webhook is used by the alert "kubernetes-managed.test.shop.theirs", the alert "mine": change that first',
    ]);
  });
});

describe("lists", () => {
  const lists = [
    ...["alerts", "dashboards", "environments", "webhooks", "silences", "saved-searches", "ingestion-rules"],
    ...["groups", "telemetry-rules", "resource-rules", "tokens", "notifications", "alerts/states"],
  ];

  test.each(lists)("/%s refuses a parameter that it does not know, by name", async (path) => {
    const got = await ask(server, "GET", `/${path}?limt=1`);
    expect([got.status, got.json.error]).toEqual([400, 'unknown parameter "limt"; did you mean limit?']);
    expect((await ask(server, "GET", `/${path}?limit=0`)).status).toBe(400);
    expect((await ask(server, "GET", `/${path}?limit=1`)).status).toBe(200);
  });

  test.each(["state", "fires", "history", "evaluations"])("/alerts/{id}/%s does, too", async (part) => {
    const got = await ask(server, "GET", `/alerts/mine/${part}?colour=1`);
    expect([got.status, got.json.error]).toEqual([400, 'unknown parameter "colour"']);
  });

  test("of tokens are paged, the oldest first, also where some go meanwhile", async () => {
    for (let i = 0; i < 7; i++) await make("POST", "/tokens", { role: "viewer", name: `t${i}` });
    type Page = { tokens: { id: string; name: string }[]; cursor?: string };
    const all = (await ask<Page>(server, "GET", "/tokens")).json;
    expect(all.cursor).toBeUndefined();
    const found: string[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const from = cursor === "" ? "" : `&cursor=${cursor}`;
      const page: Page = (await ask<Page>(server, "GET", `/tokens?limit=3${from}`)).json;
      found.push(...page.tokens.map(({ id }) => id));
      const last = page.tokens.at(-1)!;
      if (last.name.startsWith("t")) await ask(server, "DELETE", `/tokens/${last.id}`);
      cursor = page.cursor;
    }
    expect(found).toEqual(all.tokens.map(({ id }) => id));
  });
});
