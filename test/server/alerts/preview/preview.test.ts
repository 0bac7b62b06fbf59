/** Previews of alerts: against a naive judge, and against what the same alerts did when they were evaluated live. */

import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Alert, EvaluationRule } from "../../../../server/model/alert.ts";
import { ask } from "../../control/asking.ts";
import { oneOf, randomOf } from "../../control/random.ts";
import { ingest, lines, type Running, startServer } from "../../running.ts";
import { type Cell, naiveState, windowOf } from "../naive.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const random = randomOf(seed);
const bucketMs = 10_000;
const day = 86_400_000;
/** Buckets with rows begin here, and live evaluation somewhat later. */
const startMs = Math.floor((Date.now() - 2 * day) / bucketMs) * bucketMs;
const bucketCount = 50;

interface Fire {
  fireId: string;
  rule: string;
  labels: Record<string, string>;
  firedAt: number;
  resolvedAt: number | null;
  reason: string | null;
  breachingDatapoint: { time: number; value: number | null };
}
interface Transition {
  rule: string;
  labels: Record<string, string>;
  atMs: number;
  fireId?: string;
}
interface Instance {
  labels: Record<string, string>;
  points: [number, Cell][];
  rules: { rule: string; breaching: (boolean | null)[]; verdicts: string[]; states: string[] }[];
}
interface Preview {
  evaluatedFrom: number | null;
  evaluatedThrough: number | null;
  fireCount: number;
  rules: { rule: string; fireCount: number }[];
  fires: Fire[];
  transitions: Transition[];
  instances: Instance[];
  more: number;
  warnings?: string[];
  error?: string;
}

const services = ["cart", "mail", "shop"];
/** Rows of each service in each bucket; null for none. */
const cells = new Map<string, Cell[]>(
  services.map((service, at) => [
    service,
    Array.from({ length: bucketCount }, () =>
      random() < 0.2 + at / 4 ? null : 1 + Math.floor(random() * 5),
    ),
  ]),
);
/** What each query gives: series by the text of their labels. */
const sources: Record<string, () => Map<string, Cell[]>> = {
  'count(logs{team="test"}) by (service.name)': () =>
    new Map([...cells].map(([service, of]) => [JSON.stringify({ "service.name": service }), of])),
  'count(logs{team="test"})': () =>
    new Map([
      ["{}", Array.from({ length: bucketCount }, (_, i) => sumOf([...cells.values()].map((of) => of[i]!)))],
    ]),
  'count(logs{service.name="shop"})': () => new Map([["{}", cells.get("shop")!]]),
  "sum(level_of_water) by (service.name)": () =>
    new Map([...cells].map(([service, of]) => [JSON.stringify({ "service.name": service }), of])),
};

function sumOf(of: Cell[]): Cell {
  const found = of.filter((each) => each !== null);
  return found.length === 0 ? null : found.reduce((sum, each) => sum + each, 0);
}

const operators = [
  ...(["greaterThan", "greaterThanOrEqual", "lessThan", "lessThanOrEqual", "equals", "notEquals"] as const),
];
const behaviors = ["notBreaching", "breaching", "ignore", "missing", undefined] as const;

function randomRule(name: string): EvaluationRule {
  const datapointsToAlarm = 1 + Math.floor(random() * 3);
  const behavior = oneOf(behaviors, random);
  return {
    name,
    type: "static",
    static: {
      operators: Array.from({ length: 1 + Math.floor(random() * 1.3) }, () => ({
        operator: oneOf(operators, random),
        threshold: 1 + Math.floor(random() * 6),
      })),
      persistenceSettings: {
        datapointsToAlarm,
        datapointsInEvaluationWindow: datapointsToAlarm + Math.floor(random() * 3),
        ...(behavior === undefined ? {} : { missingDatapointBehavior: behavior }),
      },
    },
  };
}

function alertOf(query: string, evaluationRules: EvaluationRule[], bucketSize = bucketMs / 1000): Alert {
  const timeseries = { expression: { svcQLTimeseries: { query, bucketSize } }, evaluationRules };
  return { metadata: { name: "draft" }, timeseries };
}

let server: Running;
/** The time that the server reads; without it, the real time. */
let nowMs: number | undefined;

beforeAll(async () => {
  const real = Date.now;
  vi.spyOn(Date, "now").mockImplementation(() => nowMs ?? real());
  server = await startServer();
  const rows = [...cells].flatMap(([service, of]) =>
    of.flatMap((value, i) =>
      Array.from({ length: value ?? 0 }, (_, row) => ({
        ...{ timestamp: startMs + i * bucketMs + row, message: "x" },
        // The server's own rows are of no team.
        attributes: { "service.name": service, team: "test" },
      })),
    ),
  );
  expect((await ingest(server, lines(rows))).json).toMatchObject({ accepted: rows.length });
  const samples = [...cells].flatMap(([service, of]) =>
    of.flatMap((value, i) => {
      if (value === null) return [];
      const timestamp = startMs + i * bucketMs + 1;
      return [
        { timestamp, name: "level_of_water", type: "gauge", value, labels: { "service.name": service } },
      ];
    }),
  );
  expect((await ingest(server, lines(samples), {}, "metrics")).json).toMatchObject({
    accepted: samples.length,
  });
});
afterAll(async () => {
  await server.stop();
  vi.restoreAllMocks();
});

async function preview(body: object, token?: string) {
  return ask<Preview>(server, "POST", "/alerts/preview", body, token === undefined ? {} : { token });
}

/** Judges one series bucket by bucket, each from the whole past. `from`: index of the first bucket that is judged. */
function judgeNaively(alert: Alert, of: Cell[], from: number, to: number, isUnlabelled: boolean) {
  const rules = alert.timeseries.evaluationRules;
  const longest = Math.max(...rules.map((rule) => windowOf(rule).n)) + 2;
  const points: [number, Cell][] = [];
  const judged = rules.map(
    (rule) => ({ rule: rule.name, breaching: [], verdicts: [], states: [] }) as Instance["rules"][0],
  );
  const fires: Pick<Fire, "rule" | "firedAt" | "resolvedAt">[] = [];
  for (let at = from; at <= to; at++) {
    const past = Array.from({ length: longest + at - from }, (_, i) => of[from - longest + 1 + i] ?? null);
    if (points.length === 0 && !isUnlabelled && past.every((value) => value === null)) continue;
    points.push([startMs + at * bucketMs, of[at]!]);
    for (const [i, rule] of rules.entries()) {
      const { breaching, verdicts, states } = judged[i]!;
      const endMs = startMs + (at + 1) * bucketMs;
      const before = states.at(-1) ?? "noData";
      const verdict = naiveState(past, windowOf(rule), "keep");
      const state = verdict === "keep" ? before : verdict;
      breaching.push(of[at] === null ? null : windowOf(rule).isBreach(of[at]!));
      verdicts.push(verdict);
      states.push(state);
      const open = fires.find((fire) => fire.rule === rule.name && fire.resolvedAt === null);
      if (state === "firing" && open === undefined)
        fires.push({ rule: rule.name, firedAt: endMs, resolvedAt: null });
      if (state === "ok" && open !== undefined) open.resolvedAt = endMs;
    }
  }
  return { points, rules: judged, fires };
}

const byBegin = (a: { firedAt: number; rule: string; labels: object }, b: typeof a) =>
  a.firedAt - b.firedAt || (JSON.stringify([a.rule, a.labels]) < JSON.stringify([b.rule, b.labels]) ? -1 : 1);

const startOf = (index: number) => startMs + index * bucketMs;
const endOf = (index: number) => startOf(index + 1) - 1;

/** Checks a preview of the buckets from `from` to `to` against the naive judge. Returns the number of fires. */
async function checkPreview(alert: Alert, from: number, to: number): Promise<Preview> {
  const inside = () => Math.floor(random() * bucketMs);
  const range = { startTime: startOf(from) + inside(), endTime: endOf(to) + inside() };
  const { status, json, text } = await preview({ alert, ...range });
  expect([status, text]).toEqual([200, text]);
  expect(json).toMatchObject({ evaluatedFrom: startOf(from), evaluatedThrough: endOf(to) + 1, more: 0 });
  const source = sources[alert.timeseries.expression.svcQLTimeseries.query]!();
  const isUnlabelled = source.has("{}");
  const expected = new Map(
    [...source].flatMap(([labels, of]) => {
      const judged = judgeNaively(alert, of, from, to, isUnlabelled);
      return judged.points.length === 0 ? [] : [[labels, judged] as const];
    }),
  );
  const instances = new Map(
    json.instances.map(({ labels, points, rules }) => [JSON.stringify(labels), { points, rules }]),
  );
  expect(instances).toEqual(
    new Map([...expected].map(([labels, { points, rules }]) => [labels, { points, rules }])),
  );
  const fires = [...expected].flatMap(([labels, judged]) =>
    judged.fires.map((fire) => ({ ...fire, labels: JSON.parse(labels) as Record<string, string> })),
  );
  const got = json.fires.map(({ rule, labels, firedAt, resolvedAt }) => ({
    rule,
    labels,
    firedAt,
    resolvedAt,
  }));
  expect(got.sort(byBegin)).toEqual(fires.sort(byBegin));
  expect(json.fireCount).toBe(fires.length);
  expect(json.rules.map(({ rule, fireCount }) => [rule, fireCount])).toEqual(
    alert.timeseries.evaluationRules.map(({ name }) => [
      name,
      fires.filter(({ rule }) => rule === name).length,
    ]),
  );
  for (const {
    reason,
    resolvedAt,
    breachingDatapoint: { time, value },
    labels,
  } of json.fires) {
    expect(reason).toBe(resolvedAt === null ? null : "recovered");
    if (value !== null) expect(source.get(JSON.stringify(labels))![(time - startMs) / bucketMs]).toBe(value);
  }
  expect(json.transitions.map(({ atMs }) => atMs)).toEqual(
    json.transitions.map(({ atMs }) => atMs).sort((a, b) => b - a),
  );
  return json;
}

describe(`random alerts (SVC_SEED=${seed})`, () => {
  test("every bucket is judged as the naive judge does", async () => {
    let fires = 0;
    for (let round = 0; round < 60; round++) {
      const rules = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, i) => randomRule(`r${i}`));
      const from = Math.floor(random() * 20);
      const to = from + Math.floor(random() * (bucketCount - from));
      fires += (await checkPreview(alertOf(oneOf(Object.keys(sources), random), rules), from, to)).fireCount;
    }
    expect(fires).toBeGreaterThan(30);
  });

  test("a preview gives the fires and transitions that live evaluation of the same alert had", async () => {
    // At first the tenth bucket is complete, whatever share of the spread an alert has.
    nowMs = startOf(12) + 40_000;
    const alerts = Object.keys(sources).flatMap((query) =>
      Array.from({ length: 4 }, (_, i) =>
        alertOf(query, [randomRule("one"), ...(i % 2 === 0 ? [] : [randomRule("two")])]),
      ),
    );
    const ids: string[] = [];
    for (const alert of alerts)
      ids.push((await ask<{ id: string }>(server, "POST", "/alerts/update", { alert })).json.id);
    const first = await evaluatedThrough(ids, startOf(12));
    // A longer step would count as a time in which the server was down.
    while (nowMs < startOf(bucketCount)) {
      nowMs += 40_000;
      await evaluatedThrough(ids, nowMs - 40_000);
    }
    const last = await evaluatedThrough(ids, nowMs - 40_000);
    let fires = 0;
    for (const [i, alert] of alerts.entries()) {
      const id = ids[i]!;
      const [from, to] = [first.get(id)! / bucketMs - 1, last.get(id)! / bucketMs - 1].map(
        (each) => each - startMs / bucketMs,
      );
      const seen = await checkPreview(alert, from!, Math.min(to!, bucketCount - 1));
      const live = (await ask<{ fires: Fire[] }>(server, "GET", `/alerts/${id}/fires`)).json.fires;
      const essence = ({ rule, labels, firedAt, resolvedAt, reason, breachingDatapoint }: Fire) => {
        return { rule, labels, firedAt, resolvedAt, reason, breachingDatapoint };
      };
      const endMs = Math.min(last.get(id)!, startOf(bucketCount));
      expect(live.every(({ firedAt }) => firedAt <= endMs)).toBe(true);
      expect(seen.fires.map(essence).sort(byBegin)).toEqual(live.map(essence).sort(byBegin));
      const { transitions } = (
        await ask<{ transitions: Transition[] }>(server, "GET", `/alerts/${id}/history`)
      ).json;
      // Fires have other ids, and transitions of one bucket no order.
      const sorted = (list: Transition[]) =>
        list.map(({ fireId: _, ...rest }) => JSON.stringify(rest)).sort();
      expect(sorted(seen.transitions)).toEqual(sorted(transitions));
      fires += live.length;
    }
    expect(fires).toBeGreaterThan(10);
    for (const id of ids) await ask(server, "DELETE", `/alerts/${id}`);
    nowMs = undefined;
  }, 60_000);
});

/** Waits until all alerts have judged the buckets that end by `untilMs`; returns up to when each has judged. */
async function evaluatedThrough(ids: readonly string[], untilMs: number): Promise<Map<string, number>> {
  const completeMs = Math.floor(untilMs / bucketMs) * bucketMs;
  for (;;) {
    const { states } = (
      await ask<{ states: { id: string; evaluatedThrough: number | null }[] }>(
        server,
        "GET",
        "/alerts/states?limit=1000",
      )
    ).json;
    const through = new Map(states.map((each) => [each.id, each.evaluatedThrough]));
    if (ids.every((id) => (through.get(id) ?? 0) >= completeMs)) return through as Map<string, number>;
    await setTimeout(20);
  }
}
