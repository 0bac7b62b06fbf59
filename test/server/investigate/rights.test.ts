/** An investigation sees what its owner may see, and is seen by those who may see all of that. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { present } from "../../../server/investigate/presentation.ts";
import type { Caller } from "../../../server/model/caller.ts";
import type { StoredInvestigation } from "../../../server/model/investigation.ts";
import { type Asking, ask } from "../control/asking.ts";
import { type Running, startServer } from "../running.ts";
import { loadShop, nameOf, startOf, windowMs } from "./shop.ts";

const name = "errors in stock";
const range = { startTime: startOf(name), endTime: startOf(name) + windowMs - 1 };
let server: Running;
/** May read what web and cart send, and change alerts. */
let token: string;

beforeAll(async () => {
  server = await startServer();
  await loadShop(server, [name]);
  const admin = <T>(path: string, body: object) => ask<T>(server, "POST", path, body);
  expect((await admin("/groups", { group: { name: "front" } })).status).toBe(200);
  const match = {
    matchExpressions: [{ key: "service.name", operator: "In", values: [nameOf("web"), nameOf("cart")] }],
  };
  const rules = ["logs", "traces", "metrics"].map((signal) => ({ signals: [signal], match }));
  const telemetryRule = { type: "cluster", groups: ["front"], rules };
  expect((await admin("/telemetry-rules", { telemetryRule })).status).toBe(200);
  const made = await admin<{ token: string }>("/tokens", { role: "editor", groups: ["front"] });
  token = made.json.token;
}, 60_000);
afterAll(() => server.stop());

test("whoever may not read a service gets nothing of it", async () => {
  const whole = await ask<StoredInvestigation>(server, "POST", "/investigations", range);
  const part = await ask<StoredInvestigation>(server, "POST", "/investigations", range, { token });
  expect([whole.status, part.status]).toEqual([200, 200]);
  expect(whole.json.answer!.suspects[0]!.service).toBe(nameOf("stock"));
  expect(whole.text).toContain("stock cannot do it");
  expect(part.text).not.toContain("stock cannot do it");
  expect(part.json.answer!.suspects.map(({ service }) => service)).not.toContain(nameOf("stock"));
  const [read, seen] = [whole.json.answer!.read, part.json.answer!.read];
  expect([seen.spans > 0, seen.spans < read.spans, seen.logs < read.logs]).toEqual([true, true, true]);
  expect(seen.series).toBeLessThan(read.series);

  const path = `/investigations/${whole.json.id}`;
  expect((await ask(server, "GET", path, undefined, { token })).status).toBe(404);
  expect((await ask(server, "POST", `${path}/feedback`, { verdict: "wrong" }, { token })).status).toBe(404);
  const own = `/investigations/${part.json.id}`;
  expect((await ask(server, "GET", own)).status).toBe(200);
  const judged = await ask<StoredInvestigation>(
    server,
    "POST",
    `${own}/feedback`,
    { verdict: "right" },
    { token },
  );
  expect([judged.status, judged.json.feedback!.verdict]).toEqual([200, "right"]);

  const listed = async (by?: Asking) => {
    const { json } = await ask<{ investigations: { id: string }[] }>(
      server,
      "GET",
      "/investigations",
      undefined,
      by,
    );
    return json.investigations.map(({ id }) => id).sort();
  };
  expect(await listed()).toEqual([whole.json.id, part.json.id].sort());
  expect(await listed({ token })).toEqual([part.json.id]);
});

test("traces are chosen among those that one may read", async () => {
  const query = 'logs{log_level="error"}';
  expect((await ask(server, "POST", "/investigations", { ...range, query })).status).toBe(200);
  const { status, json } = await ask<{ field: string }>(
    ...([server, "POST", "/investigations", { ...range, query }, { token }] as const),
  );
  expect([status, json.field]).toEqual([400, "query"]);
});

test("alerts that fire in the window stand in the timeline of those who see them", async () => {
  const { json } = await ask<StoredInvestigation>(server, "POST", "/investigations", range);
  const begins = [
    { alertId: "b", alertName: "slow", firedAtMs: range.startTime + 60_000 },
    { alertId: "a", alertName: "errors", firedAtMs: range.startTime + 30_000 },
    { alertId: "a", alertName: "errors", firedAtMs: range.startTime + 90_000 },
  ];
  const owner = { name: "cid" } as Caller;
  const alerts = {
    seesAlert: () => true,
    firesIn: (_: object, by: Caller) => (by.name === "ann" ? begins : []),
  };
  const timelineFor = (name: string) =>
    present(alerts, { investigation: json, owner }, { ...owner, name }).answer!.timeline;
  const fired = timelineFor("ann").filter(({ sentence }) => sentence.startsWith("the alert"));
  expect(fired).toEqual([
    { at: range.startTime + 30_000, sentence: "the alert “errors” fired" },
    { at: range.startTime + 60_000, sentence: "the alert “slow” fired" },
  ]);
  expect(timelineFor("bob")).toEqual(json.answer!.timeline);
});
