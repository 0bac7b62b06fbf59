/** Every kind of resource comes back as it was sent. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { call, startServer } from "../running.ts";
import { ask } from "./asking.ts";
import { alert, dashboard, kinds, webhook } from "./samples.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

type Kind = (typeof kinds)[number];

function write(
  { name, path, style, id, sample }: Kind,
  changes: object = {},
  headers: Record<string, string> = {},
) {
  const body = { [name]: { ...sample, ...changes } };
  if (style === "upsert") return ask(server, "POST", `${path}/update`, body, { headers });
  return ask(server, "PUT", `${path}/${id}`, body, { headers });
}

/** A sample as answers show it. */
function answerOf({ name, sample }: Kind): object {
  if (name !== "webhook") return sample;
  const { secret: _, ...rest } = webhook;
  return rest;
}

describe.each(kinds)("$name", (kind) => {
  const { name, path, plural, id, style, sample } = kind;
  const one = `${path}/${encodeURIComponent(id)}`;

  test("is stored, comes back as it was sent, is listed and deleted", async () => {
    const written = await write(kind);
    expect([written.status, written.json.error]).toEqual([200, undefined]);
    expect(written.json.id).toBe(id);
    const read = await ask(server, "GET", one);
    expect(read.status).toBe(200);
    expect(read.json[name]).toEqual(answerOf(kind));
    expect(read.json).toMatchObject({ updatedBy: "admin-token file" });
    expect(read.headers.get("etag")).toBe(written.headers.get("etag"));
    const listed = await ask<Record<string, unknown[]>>(server, "GET", path);
    const summary =
      name === "dashboard" ? { metadata: dashboard.metadata, settings: dashboard.settings } : answerOf(kind);
    expect(listed.json[plural]).toContainEqual(summary);
    expect((await ask(server, "DELETE", one)).json).toEqual({ id });
    expect((await ask(server, "GET", one)).status).toBe(404);
    expect((await ask(server, "DELETE", one)).status).toBe(404);
    expect((await ask<Record<string, unknown[]>>(server, "GET", path)).json[plural]).toEqual([]);
  });

  test("If-Match prevents overwriting a concurrent change", async () => {
    const first = (await write(kind)).headers.get("etag")!;
    const second = (await write(kind, {}, { "If-Match": first })).headers.get("etag")!;
    expect(second).not.toBe(first);
    const late = await write(kind, {}, { "If-Match": first });
    expect([late.status, late.json.error]).toEqual([
      412,
      "If-Match does not hold: it was changed meanwhile: read it again",
    ]);
    expect((await ask(server, "DELETE", one, undefined, { headers: { "If-Match": first } })).status).toBe(
      412,
    );
    expect((await write(kind, {}, { "If-Match": "*" })).status).toBe(200);
    expect((await ask(server, "DELETE", one, undefined, { headers: { "If-Match": "*" } })).status).toBe(200);
    expect((await write(kind, {}, { "If-Match": "*" })).status).toBe(412);
  });

  test("unknown fields are refused with a suggestion, except in dashboards", async () => {
    const got = await write(kind, { idd: 1, metadataa: 2 });
    if (name === "dashboard") expect(got.status).toBe(200);
    else expect(got.json.error).toContain(`unknown field "${name}.idd"`);
    const body = { [name]: sample, [`${name}s`]: sample };
    const outside =
      style === "upsert"
        ? await ask(server, "POST", `${path}/update`, body)
        : await ask(server, "POST", path, body);
    expect(outside.json.error).toBe(`unknown field "${name}s"; did you mean ${name}?`);
    await ask(server, "DELETE", one);
  });

  test("ids of managed resources are refused", async () => {
    const managed = "kubernetes-managed.prod.shop.x";
    const deleted = await ask(server, "DELETE", `${path}/${managed}`);
    expect(deleted.status).toBe(409);
    const changes = name === "alert" || name === "dashboard" ? { metadata: { ...sample, id: managed } } : {};
    if (name === "alert") Object.assign(changes, { metadata: { ...alert.metadata, id: managed } });
    if (name === "dashboard") Object.assign(changes, { metadata: { ...dashboard.metadata, id: managed } });
    const put =
      style === "upsert"
        ? await write(kind, changes)
        : await ask(server, "PUT", `${path}/${managed}`, {
            [name]: { ...sample, ...(name === "group" ? { name: managed } : { id: managed }) },
          });
    expect([put.status, put.json.error]).toEqual([
      409,
      `the ${name} "${managed}" is managed by Kubernetes: change it by its custom resource`,
    ]);
  });

  if (style === "create") {
    test("is created once", async () => {
      expect((await ask(server, "POST", path, { [name]: sample })).json.id).toBe(id);
      const again = await ask(server, "POST", path, { [name]: sample });
      expect(again.status).toBe(409);
      expect(again.json.error).toContain("already");
      const other = await ask(server, "PUT", `${path}/another`, { [name]: sample });
      expect(other.status).toBe(400);
      expect(other.json.error).toContain("must be the id in the path");
      await ask(server, "DELETE", one);
    });
  }
});

describe("ids", () => {
  const named = (id: unknown) => ({ alert: { ...alert, metadata: { name: "n", id } } });

  test("are generated where none is sent", async () => {
    const { id: _, ...metadata } = alert.metadata;
    for (const body of [{ alert: { ...alert, metadata } }, named("")]) {
      const got = await ask<{ id: string }>(server, "POST", "/alerts/update", body);
      expect(got.json.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      const read = await ask<{ alert: typeof alert }>(server, "GET", `/alerts/${got.json.id}`);
      expect(read.json.alert.metadata.id).toBe(got.json.id);
      await ask(server, "DELETE", `/alerts/${got.json.id}`);
    }
  });

  test.each(["a/b c", "ünïcode %41", "..a", "x".repeat(900), "update", "\u{1f600}"])(
    "%j will do",
    async (id) => {
      expect((await ask(server, "POST", "/alerts/update", named(id))).json).toMatchObject({ id });
      const path = `/alerts/${encodeURIComponent(id).replace("update", "%75pdate")}`;
      expect((await ask<{ alert: typeof alert }>(server, "GET", path)).json.alert.metadata.id).toBe(id);
      expect((await ask(server, "DELETE", path)).json).toEqual({ id });
    },
  );

  test.each([
    [5, "alert.metadata.id must be a string, got 5"],
    ["x".repeat(901), "alert.metadata.id must have at most 900 characters"],
    ["ü".repeat(500), "alert.metadata.id must have at most 900 bytes, got 1000"],
    ["\ud800", "alert.metadata.id must be valid Unicode"],
  ])("%j will not", async (id, error) => {
    const got = await ask(server, "POST", "/alerts/update", named(id));
    expect([got.status, got.json]).toMatchObject([400, { error }]);
  });
});

describe("lists", () => {
  test("are paged: every resource once, in the order of ids", async () => {
    const ids = Array.from({ length: 25 }, (_, i) => `page-${String(i).padStart(2, "0")}`);
    await Promise.all(
      ids.map((id) => ask(server, "PUT", `/webhooks/${id}`, { webhook: { url: "http://x/" } })),
    );
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const more: string = cursor === undefined ? "" : `&cursor=${cursor}`;
      const got = await ask<{ webhooks: { id: string }[]; cursor?: string }>(
        server,
        "GET",
        `/webhooks?limit=10${more}`,
      );
      expect(got.json.webhooks.length).toBeLessThanOrEqual(10);
      found.push(...got.json.webhooks.map(({ id }) => id));
      cursor = got.json.cursor;
    } while (cursor !== undefined);
    expect(found).toEqual(ids);
    await Promise.all(ids.map((id) => ask(server, "DELETE", `/webhooks/${id}`)));
  });

  test("end a page early where resources are large", async () => {
    const ids = Array.from({ length: 12 }, (_, i) => `large-${String(i).padStart(2, "0")}`);
    const values = Array.from({ length: 30 }, (_, i) => `${i}`.padEnd(60_000, "x"));
    const match = { matchExpressions: [{ key: "a", operator: "In", values }] };
    for (const id of ids) {
      expect((await ask(server, "PUT", `/silences/${id}`, { silence: { endsAt: 1, match } })).status).toBe(
        200,
      );
    }
    const page = async (cursor: string) =>
      (await ask<{ silences: { id: string }[]; cursor?: string }>(server, "GET", `/silences${cursor}`)).json;
    const found: string[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const { silences, cursor: next } = await page(cursor);
      expect(silences.length).toBeLessThan(10);
      found.push(...silences.map(({ id }) => id));
      cursor = next === undefined ? undefined : `?cursor=${next}`;
    }
    expect(found).toEqual(ids);
    for (const id of ids) await ask(server, "DELETE", `/silences/${id}`);
  });

  test.each([
    ["limit=0", 'limit must be an integer from 1 to 1000, got "0"'],
    ["limit=x", 'limit must be an integer from 1 to 1000, got "x"'],
    ["limt=5", 'unknown parameter "limt"; did you mean limit?'],
  ])("?%s is refused", async (query, error) => {
    expect((await ask(server, "GET", `/alerts?${query}`)).json).toMatchObject({ error });
  });
});

describe("webhooks", () => {
  test("never show their secret", async () => {
    const path = `/webhooks/${webhook.id}`;
    await ask(server, "PUT", path, { webhook });
    const { secret, ...rest } = webhook;
    const read = await ask(server, "GET", path);
    expect(read.json).toMatchObject({ webhook: rest, hasSecret: true });
    const listed = await ask(server, "GET", "/webhooks");
    for (const { text } of [read, listed, await call(server, "/metrics")]) expect(text).not.toContain(secret);
    await ask(server, "PUT", path, { webhook: rest });
    expect((await ask(server, "GET", path)).json.hasSecret).toBe(true);
    await ask(server, "PUT", path, { webhook: { ...rest, secret: null } });
    expect((await ask(server, "GET", path)).json.hasSecret).toBe(false);
    await ask(server, "DELETE", path);
  });

  test("that an alert notifies cannot be deleted until the alert is changed", async () => {
    await ask(server, "PUT", "/webhooks/used", { webhook: { url: "http://x/" } });
    const [rule] = alert.timeseries.evaluationRules;
    const notifying = (uuid: string) => {
      const actions = [{ type: "webhook", webhookDestination: { uuid } }];
      return {
        alert: { ...alert, timeseries: { ...alert.timeseries, evaluationRules: [{ ...rule, actions }] } },
      };
    };
    expect((await ask(server, "POST", "/alerts/update", notifying("used"))).status).toBe(200);
    const refused = await ask(server, "DELETE", "/webhooks/used");
    expect(refused.status).toBe(409);
    expect(refused.json.error).toContain(alert.metadata.id);
    const where = "alert.timeseries.evaluationRules[0].actions[0].webhookDestination.uuid";
    const none = await ask(server, "POST", "/alerts/update", notifying("nowhere"));
    expect([none.status, none.json.error]).toEqual([
      400,
      `${where} names the webhook "nowhere", which does not exist`,
    ]);
    const managed = "kubernetes-managed.prod.shop.hook";
    const later = await ask(server, "POST", "/alerts/update", notifying(managed));
    expect(later.json).toEqual({
      id: alert.metadata.id,
      warnings: [`${where} names the webhook "${managed}", which does not exist yet`],
    });
    expect((await ask(server, "DELETE", "/webhooks/used")).status).toBe(200);
    await ask(server, "DELETE", `/alerts/${alert.metadata.id}`);
  });
});

test("a resource rule whose path can grant nothing is answered with a warning", async () => {
  await ask(server, "POST", "/groups", { group: { name: "paths" } });
  const warningsFor = async (path: string, cluster?: string) => {
    const rules = [{ resources: ["alerts"], verbs: ["read"], path }];
    const { json } = await ask(server, "POST", "/resource-rules", {
      resourceRule: {
        type: "cluster",
        groups: ["paths"],
        rules,
        ...(cluster === undefined ? {} : { cluster }),
      },
    });
    return String(json.warnings ?? "");
  };
  const well = ["/", "shop", "/shop/", "alerts/kubernetes-managed", "/alerts/kubernetes-managed/prod/shop"];
  for (const path of well) expect([path, await warningsFor(path)]).toEqual([path, ""]);
  const field = "resourceRule.rules[0].path grants nothing";
  expect(await warningsFor("/dashboards/kubernetes-managed/prod/")).toContain(
    `${field}: it lies in "dashboards"`,
  );
  expect(await warningsFor("/alerts/kubernetes-managed/prod/", "test")).toContain(
    `${field}: it lies in the cluster`,
  );
  expect(await warningsFor("/shop/deeper/")).toContain(`${field}: it must end with a namespace`);
  expect(await warningsFor("/alerts/kubernetes-managed/prod/shop/deeper")).toContain(field);
});
