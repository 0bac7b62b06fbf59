/** Settings: tokens, webhooks, groups, rules and the health of the server, and what a viewer may not do. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask } from "../server/control/asking.ts";
import { openReceiver } from "../server/notify/receiver.ts";
import { call, ingest, lines } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";

const rowOf = (service: string, level: string) => ({
  ...{ timestamp: Date.now() - 60_000, message: "hello", log_level: level },
  attributes: { "service.name": service },
});

describe.skipIf(noBrowser !== undefined)("settings", () => {
  let site: PageTest;
  beforeAll(async () => {
    site = await PageTest.start({ notify: { allowedNetworks: ["127.0.0.0/8"] } });
    const rows = [..."aaaab"].map((name) => rowOf(`/k8s/shop/${name}`, "info"));
    expect((await ingest(site.server, lines(rows))).json.accepted).toBe(5);
  });
  afterAll(() => site.stop());

  test("a token is shown once, works, and works no more when it is revoked", async () => {
    const page = await site.openAs(site.server.adminToken, "/settings/tokens");
    await page.getByRole("button", { name: "New token" }).click();
    await page.getByLabel("Name").fill("from the page");
    await page.getByLabel("Role").selectOption("editor");
    await page.getByRole("button", { name: "Make" }).click();
    const token = (await page.locator("pre.token").textContent())!;
    expect((await call(site.server, "/api/v1/tokens", { token })).status).toBe(403);
    expect((await call(site.server, "/api/v1/alerts", { token })).status).toBe(200);
    await page.getByRole("button", { name: "I have it" }).click();
    const line = page.getByRole("row", { name: "from the page" });
    await line.waitFor();
    expect(await page.content()).not.toContain(token);
    await page.reload();
    await line.waitFor();
    expect(await page.content()).not.toContain(token);
    await line.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await line.waitFor({ state: "detached" });
    expect((await call(site.server, "/api/v1/alerts", { token })).status).toBe(401);
  });

  test("an environment brings a token that stamps its name", async () => {
    const page = await site.openAs(site.server.adminToken, "/settings/environments");
    await page.getByRole("button", { name: "New environment" }).click();
    const name = page.getByLabel("Name");
    await name.fill("x".repeat(2_000));
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".field", { has: name }).getByRole("alert").waitFor();
    await name.fill("stage");
    await page.getByRole("button", { name: "Save" }).click();
    const token = (await page.locator("pre.token").textContent())!;
    const body = lines([{ timestamp: Date.now(), message: "stamped" }]);
    const sent = await call(site.server, "/api/v1/ingest/logs", {
      ...{ token, body, headers: { "Content-Type": "application/x-ndjson" } },
    });
    expect(sent.status).toBe(200);
    await page.goto(`${site.server.url}/?q=stamped`);
    await page.getByRole("button", { name: "Details" }).first().click();
    await page.locator(".row-detail").getByText("stage", { exact: true }).first().waitFor();
  });

  test("a webhook is tested, and what became of it stands below", async () => {
    const receiver = await openReceiver(200);
    const page = await site.openAs(site.server.adminToken, "/integrations");
    await page.getByRole("button", { name: "New webhook" }).click();
    await page.getByLabel("Name").fill("Pager");
    await page.getByLabel("Address").fill("ftp://nowhere");
    await page.getByRole("button", { name: "Save" }).click();
    await page
      .locator(".field", { has: page.getByLabel("Address") })
      .getByRole("alert")
      .waitFor();
    await page.getByLabel("Address").fill(`${receiver.url}/hook`);
    await page.getByLabel("Headers").fill("X-Team: shop");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row", { name: "Pager" }).getByRole("button", { name: "Send a test" }).click();
    await page.getByText("the test was delivered").waitFor();
    expect(receiver.received.map(({ path, headers }) => [path, headers["x-team"]])).toEqual([
      ["/hook", "shop"],
    ]);
    await site.picture(page, "webhooks");
  });

  test("rules say what a group sees", async () => {
    const page = await site.openAs(site.server.adminToken, "/settings/groups");
    await page.getByRole("button", { name: "New group" }).click();
    await page.getByLabel("Name").fill("team-b");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("cell", { name: "team-b" }).waitFor();
    await page.getByRole("link", { name: "Who sees what" }).click();
    await page.getByRole("button", { name: "New telemetry rule" }).click();
    await page.getByLabel("Name").fill("b reads b");
    await page.getByRole("textbox", { name: "Groups" }).fill("team-b");
    const rules = page.getByRole("textbox", { name: "Rules" });
    await rules.fill('[{"signals": ["logs"], "match": ');
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".field", { has: rules }).getByRole("alert").waitFor();
    const values = ["/k8s/shop/b"];
    await rules.fill(
      JSON.stringify([
        {
          signals: ["logs"],
          match: { matchExpressions: [{ key: "service.name", operator: "In", values }] },
        },
      ]),
    );
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("cell", { name: "logs where service.name In /k8s/shop/b" }).waitFor();
    await page.getByRole("link", { name: "Groups" }).click();
    await page.getByLabel("Groups of a member").fill("team-b");
    await page.getByRole("button", { name: "Look at the last day" }).click();
    await page.getByText("1 row: /k8s/shop/b", { exact: true }).waitFor();
    await site.picture(page, "what-a-group-sees");
  });

  test("a rule that somebody else changes meanwhile is not overwritten; one of a namespace becomes one of a cluster", async () => {
    const rule = {
      ...{ displayName: "shop", type: "namespace", cluster: "prod", namespace: "shop", groups: ["team-c"] },
      rules: [{ signals: ["logs", "traces"] }],
    };
    const made = await ask<{ id: string }>(site.server, "POST", "/telemetry-rules", { telemetryRule: rule });
    const path = `/telemetry-rules/${made.json.id}`;
    const change = async (changes: object) => {
      const { status } = await ask(site.server, "PUT", path, { telemetryRule: { ...rule, ...changes } });
      expect(status).toBe(200);
    };
    const page = await site.openAs(site.server.adminToken, "/settings/rules");
    const row = page.getByRole("row", { name: /^shop/ });
    await row.waitFor();
    // What was changed since the list was read is in the form.
    await change({ groups: ["team-d"] });
    await row.getByRole("button", { name: "Edit" }).click();
    const form = page.getByRole("dialog");
    await expect.poll(() => form.getByLabel("Groups").inputValue()).toBe("team-d");
    await form.getByLabel("Name", { exact: true }).fill("shop renamed");
    await change({ groups: ["team-d"], rules: [{ signals: ["logs"] }] });
    await form.getByRole("button", { name: "Save" }).click();
    await form.getByRole("alert").getByText("Somebody else has changed this telemetry rule").waitFor();
    await form.getByRole("button", { name: "Load what is there now" }).click();
    await form.getByRole("alert").waitFor({ state: "detached" });
    expect(await form.getByLabel("Name", { exact: true }).inputValue()).toBe("shop");
    await form.getByLabel("Name", { exact: true }).fill("shop renamed");
    await form.getByLabel("Holds for").selectOption("cluster");
    await form.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row", { name: /^shop renamed/ }).waitFor();
    const { json } = await ask<{ telemetryRule: object }>(site.server, "GET", path);
    expect(json.telemetryRule).toEqual({
      ...{ id: made.json.id, displayName: "shop renamed", type: "cluster", cluster: "prod" },
      ...{ groups: ["team-d"], rules: [{ signals: ["logs"] }] },
    });
    await ask(site.server, "DELETE", path);
  });

  test("an ingestion rule counts what it left out", async () => {
    const page = await site.openAs(site.server.adminToken, "/settings/ingestion");
    await page.getByRole("button", { name: "New ingestion rule" }).click();
    await page.getByLabel("Name").fill("no debug");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row", { name: "no debug" }).waitFor();
    const rows = ["debug", "info", "debug", "debug"].map((level) => rowOf("/k8s/shop/a", level));
    await ingest(site.server, lines(rows));
    await page.reload();
    await page.getByRole("row", { name: "no debug" }).getByRole("cell", { name: "3", exact: true }).waitFor();
    await page.getByRole("row", { name: "no debug" }).getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("every row that is sent is stored").waitFor();
  });

  test("health shows what is stored", async () => {
    const countRows = async () => {
      const { text } = await call(site.server, "/metrics", { token: site.server.adminToken });
      return Number(/^svc_store_rows\{signal="logs"\} (\d+)$/m.exec(text)![1]);
    };
    const page = await site.openAs(site.server.adminToken, "/settings/health");
    const cells = page.getByRole("row", { name: "logs" }).getByRole("cell");
    await cells.first().waitFor();
    // The server stores its own logs too, so that the count grows while it is read.
    const readShown = async () => Number((await cells.nth(2).textContent())!.replaceAll(",", ""));
    const before = await countRows();
    expect(before).toBeGreaterThanOrEqual(5);
    await expect.poll(readShown, { timeout: 15_000, interval: 100 }).toBeGreaterThanOrEqual(before);
    expect(await readShown()).toBeLessThanOrEqual(await countRows());
    await page.getByText("Damaged places quarantined").waitFor();
  });

  test("what Kubernetes manages names its object and cannot be changed", async () => {
    const { json } = await ask<{ token: string }>(site.server, "POST", "/environments/create", {
      environment: { name: "prod" },
    });
    const object = {
      kind: "SvcClusterIngestionRule",
      metadata: { name: "quiet", uid: "u1" },
      spec: {
        rules: [
          {
            ...{ signals: ["logs"], action: "Exclude" },
            match: { matchExpressions: [{ key: "log_level", operator: "In", values: ["trace"] }] },
          },
        ],
      },
    };
    const applied = await ask(site.server, "POST", "/kubernetes/objects", { objects: [object] }, json);
    expect([applied.status, applied.text]).toEqual([200, expect.stringContaining("Synced")]);
    const page = await site.openAs(site.server.adminToken, "/settings/ingestion");
    const line = page.getByRole("row").filter({ has: page.getByText("k8s-managed") });
    await line.waitFor();
    for (const name of ["Edit", "Delete"]) expect(await line.getByRole("button", { name }).count()).toBe(0);
  });

  test("a viewer is offered nothing, and refused where it asks anyway", async () => {
    const { json } = await ask<{ token: string }>(site.server, "POST", "/tokens", {
      ...{ role: "viewer", name: "eve" },
    });
    const page = await site.openAs(json.token, "/settings/environments");
    await page.getByRole("heading", { name: "Environments" }).waitFor();
    for (const name of ["Tokens", "Groups", "Who sees what"])
      expect(await page.getByRole("link", { name, exact: true }).count()).toBe(0);
    expect(await page.getByRole("button", { name: /^New|Delete|Edit/ }).count()).toBe(0);
    await page.goto(`${site.server.url}/settings/tokens`);
    await page.getByText("Your role may not see this").waitFor();
    const status = await page.evaluate(
      `fetch("/api/v1/tokens", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"role":"admin"}' }).then(({ status }) => status)`,
    );
    expect(status).toBe(403);
  });
});
