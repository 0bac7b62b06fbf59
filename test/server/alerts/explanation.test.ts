/** Why fires began: from what was stored with them, read again where nothing was, and nothing where neither is possible. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { openState } from "../../../engine/index.ts";
import type { EvaluationRule } from "../../../server/model/alert.ts";
import { ask } from "../control/asking.ts";
import { oneOf, randomOf } from "../control/random.ts";
import { ingest, lines, type Running, startServer } from "../running.ts";
import { type Cell, windowOf } from "./naive.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const random = randomOf(seed);
const bucketMs = 10_000;
const startMs = Math.floor((Date.now() - 2 * 86_400_000) / bucketMs) * bucketMs;
const bucketCount = 90;
const pointsStoredMax = 60;

interface Explanation {
  fireId: string;
  labels: Record<string, string>;
  source: string;
  operators: object[];
  persistenceSettings: object | null;
  points: [number, Cell][];
  breaching: (boolean | null)[];
  more: number;
  verdict: string | null;
  why: string | null;
  warnings?: string[];
}
interface Fire {
  fireId: string;
  rule: string;
  labels: Record<string, string>;
  firedAt: number;
}

const services = ["cart", "mail", "shop"];
const cells = new Map(
  services.map((service): [string, Cell[]] => [
    service,
    Array.from({ length: bucketCount }, () => (random() < 0.3 ? null : 1 + Math.floor(random() * 5))),
  ]),
);

function ruleOf(name: string, m: number, n: number): EvaluationRule {
  const missingDatapointBehavior = oneOf(["notBreaching", "breaching", "ignore", "missing"] as const, random);
  return {
    name,
    static: {
      operators: [{ operator: oneOf(["greaterThan", "lessThanOrEqual"], random), threshold: 2 }],
      persistenceSettings: {
        datapointsToAlarm: m,
        datapointsInEvaluationWindow: n,
        missingDatapointBehavior,
      },
    },
  };
}

const query = 'count(logs{team="test"}) by (service.name)';
const rules = new Map<string, EvaluationRule[]>([
  ["short", [ruleOf("a", 1, 1), ruleOf("b", 2, 3)]],
  ["middle", [ruleOf("a", 2, 5)]],
  ["long", [ruleOf("a", 20, 70)]],
]);
let server: Running;
let dataDir: string;
let nowMs: number | undefined;
/** By the fire's id. */
const stored = new Map<string, Explanation>();
const fires: (Fire & { alertId: string })[] = [];

function alertOf(name: string, evaluationRules: EvaluationRule[]) {
  const timeseries = {
    expression: { svcQLTimeseries: { query, bucketSize: bucketMs / 1000 } },
    evaluationRules,
  };
  return { metadata: { name, id: name }, timeseries };
}

async function explain({ alertId, fireId }: { alertId: string; fireId: string }, token?: string) {
  const path = `/alerts/${alertId}/fires/${fireId}/explanation`;
  return ask<Explanation>(server, "GET", path, undefined, token === undefined ? {} : { token });
}

/** Waits until all alerts have judged the buckets that end by `untilMs`. */
async function judged(untilMs: number): Promise<void> {
  const isBehind = (through: number | null) => (through ?? 0) < Math.floor(untilMs / bucketMs) * bucketMs;
  for (;;) {
    const got = await ask<{ states: { evaluatedThrough: number | null }[] }>(server, "GET", "/alerts/states");
    if (!got.json.states.some((each) => isBehind(each.evaluatedThrough))) return;
    await setTimeout(20);
  }
}

beforeAll(async () => {
  const real = Date.now;
  vi.spyOn(Date, "now").mockImplementation(() => nowMs ?? real());
  dataDir = mkdtempSync(join(tmpdir(), "svc-test-"));
  server = await startServer({ dataDir });
  const rows = [...cells].flatMap(([service, of]) =>
    of.flatMap((value, i) =>
      Array.from({ length: value ?? 0 }, (_, row) => ({
        ...{ timestamp: startMs + i * bucketMs + row, message: "x" },
        attributes: { "service.name": service, team: "test" },
      })),
    ),
  );
  expect((await ingest(server, lines(rows))).json).toMatchObject({ accepted: rows.length });
  nowMs = startMs + 76 * bucketMs + 40_000;
  for (const [name, each] of rules) {
    const { status } = await ask(server, "POST", "/alerts/update", { alert: alertOf(name, each) });
    expect(status).toBe(200);
  }
  await judged(nowMs - 40_000);
  for (let step = 0; step < 3; step++) {
    nowMs += 40_000;
    await judged(nowMs - 40_000);
  }
  for (const alertId of rules.keys()) {
    const got = await ask<{ fires: Fire[] }>(server, "GET", `/alerts/${alertId}/fires`);
    fires.push(...got.json.fires.map((fire) => ({ ...fire, alertId })));
  }
}, 30_000);
afterAll(async () => {
  await server.stop();
  vi.restoreAllMocks();
  rmSync(dataDir, { recursive: true });
});

test(`what a rule saw is stored with the fire (SVC_SEED=${seed})`, async () => {
  expect(fires.length).toBeGreaterThan(3);
  for (const fire of fires) {
    const { status, json } = await explain(fire);
    expect(status).toBe(200);
    stored.set(fire.fireId, json);
    const rule = rules.get(fire.alertId)!.find(({ name }) => name === fire.rule)!;
    const { n, isBreach } = windowOf(rule);
    const end = (fire.firedAt - startMs) / bucketMs;
    const kept = Math.min(n + 2, pointsStoredMax);
    const points = Array.from({ length: kept }, (_, i): [number, Cell] => {
      const at = end - kept + i;
      return [startMs + at * bucketMs, cells.get(fire.labels["service.name"]!)![at]!];
    });
    const history = await ask<{ transitions: { fireId: string; to: string; why: string }[] }>(
      ...([server, "GET", `/alerts/${fire.alertId}/history`] as const),
    );
    const { why } = history.json.transitions.find(
      ({ fireId, to }) => fireId === fire.fireId && to === "firing",
    )!;
    expect(json).toEqual({
      ...{ fireId: fire.fireId, rule: fire.rule, labels: fire.labels, firedAt: fire.firedAt },
      ...{ query, bucketSize: 10, source: "stored", points, more: n + 2 - kept, verdict: "firing", why },
      operators: rule.static.operators,
      persistenceSettings: rule.static.persistenceSettings,
      breaching: points.map(([, value]) => (value === null ? null : isBreach(value))),
    });
  }
});

test("what was not stored is read again while the alert is as it was", async () => {
  await server.stop();
  const state = await openState(join(dataDir, "control"));
  const changes = state.list("alert-fires").map(({ id, value }) => {
    const { opening: _, ...rest } = value as Record<string, never>;
    return { table: "alert-fires", id, value: rest };
  });
  expect(changes).toHaveLength(fires.length);
  await state.write(changes);
  await state.close();
  server = await startServer({ dataDir });
  await judged(nowMs! - 40_000);
  for (const fire of fires) {
    const { json } = await explain(fire);
    expect(json).toEqual({ ...stored.get(fire.fireId), source: "replayed" });
  }
});

test("what was not stored is not guessed once the rule was changed", async () => {
  const [changed, kept] = rules.get("short")!;
  const { static: before } = changed!;
  const operators = [{ operator: "greaterThan" as const, threshold: 1_000 }];
  const evaluationRules = [{ ...changed!, static: { ...before, operators } }, kept!];
  await ask(server, "POST", "/alerts/update", { alert: alertOf("short", evaluationRules) });
  const ofRule = (name: string) => fires.filter(({ alertId, rule }) => alertId === "short" && rule === name);
  for (const fire of ofRule("a")) {
    await expect.poll(async () => (await explain(fire)).json.source).toBe("none");
    const { json } = await explain(fire);
    expect(json).toMatchObject({ labels: fire.labels, points: [], operators: [], verdict: null, why: null });
    expect(json.warnings).toEqual(["the rule was changed since, and what it saw then is not stored"]);
  }
  for (const fire of ofRule("b")) expect((await explain(fire)).json.source).toBe("replayed");
});

test("who does not read all rows of an alert does not learn what it saw", async () => {
  await ask(server, "PUT", "/groups/red", { group: { name: "red" } });
  const made = { role: "viewer", groups: ["red"] };
  const { token } = (await ask<{ token: string }>(server, "POST", "/tokens", made)).json;
  for (const fire of fires) {
    const { status, json } = await explain(fire, token);
    expect(status).toBe(200);
    expect(json).toMatchObject({ source: "none", labels: {}, points: [], breaching: [], why: null });
    expect(json.warnings).toEqual([expect.stringContaining("reads rows that you may not")]);
  }
});

test("a fire of another alert, and one that is not there, are not found", async () => {
  const [{ fireId, alertId }] = fires as [(typeof fires)[number]];
  const other = [...rules.keys()].find((each) => each !== alertId)!;
  for (const wrong of [
    { fireId, alertId: other },
    { fireId: "none", alertId },
    { fireId, alertId: "none" },
  ]) {
    expect((await explain(wrong)).status).toBe(404);
  }
});
