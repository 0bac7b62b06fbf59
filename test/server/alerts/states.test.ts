/** The list of the states of alerts, against what the rows, the silences and the callers' groups say. */

import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../control/asking.ts";
import { oneOf, randomOf } from "../control/random.ts";
import { ingest, lines, type Running, startServer } from "../running.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const random = randomOf(seed);
const minute = 60_000;

interface Listed {
  id: string;
  name: string;
  folderPath: string;
  managed?: object;
  state: "firing" | "noData" | "ok";
  since: number | null;
  firingRules: string[];
  firingInstances: number | null;
  silencedInstances: number | null;
  silenced: boolean | null;
  silences: { id: string; endsAt: number }[];
  health: "ok" | "error" | "unknown";
  error: string | null;
  evaluatedThrough: number | null;
  evaluatedAt: number | null;
}
interface States {
  states: Listed[];
  counts: { state: Record<Listed["state"], number>; health: Record<Listed["health"], number> };
  cursor?: string;
}

/** Rows of each service in one minute. */
const rowsOf: Record<string, number> = { s0: 1, s1: 2, s2: 4, s3: 6, s4: 8, s5: 9 };
const services = Object.keys(rowsOf);
const thresholds = new Map<string, { low: number; high: number }>();
const farMs = 4_102_444_800_000;
let server: Running;
let member: string;
let beganMs: number;

const ruleOf = (name: string, threshold: number, missingDatapointBehavior = "notBreaching") => ({
  name,
  static: {
    operators: [{ operator: "greaterThan", threshold }],
    persistenceSettings: {
      ...{ datapointsToAlarm: 1, datapointsInEvaluationWindow: 6 },
      missingDatapointBehavior,
    },
  },
});

function alertOf(id: string, query: string, rules: object[]) {
  return {
    metadata: { id, name: `name of ${id}` },
    timeseries: {
      expression: { svcQLTimeseries: { query, bucketSize: 60 } },
      evaluationRules: rules,
    },
  };
}

async function save(id: string, query: string, rules: object[]): Promise<void> {
  const saved = await ask(server, "POST", "/alerts/update", { alert: alertOf(id, query, rules) });
  expect([id, saved.status]).toEqual([id, 200]);
}

async function list(parameters: Record<string, string> = {}, token?: string): Promise<States> {
  const path = `/alerts/states?${new URLSearchParams(parameters)}`;
  const got = await ask<States>(server, "GET", path, undefined, token === undefined ? {} : { token });
  expect([path, got.status, got.text]).toEqual([path, 200, got.text]);
  return got.json;
}

beforeAll(async () => {
  server = await startServer();
  beganMs = Date.now();
  // A minute that is complete, and in the window of every alert for some minutes more.
  const startMs = Math.floor((beganMs - minute) / minute) * minute - 2 * minute;
  const rows = services.flatMap((service) =>
    Array.from({ length: rowsOf[service]! }, (_, i) => ({
      ...{ timestamp: startMs + i, log_level: "error", message: "x" },
      attributes: { "service.name": service },
    })),
  );
  expect((await ingest(server, lines(rows))).status).toBe(200);
  const byService = 'count(logs{log_level="error"}) by (service.name)';
  for (let i = 0; i < 30; i++) {
    const id = `a${String(i).padStart(2, "0")}`;
    const low = Math.floor(random() * 11);
    thresholds.set(id, { low, high: low + Math.floor(random() * 4) });
    await save(id, byService, [ruleOf("low", low), ruleOf("high", thresholds.get(id)!.high)]);
  }
  await save("empty", "sum(nothing_of_that_name)", [ruleOf("any", 0, "missing")]);
  await save(
    "broken",
    "count(logs) by (service.name, log_level) / on (log_level) count(logs) by (log_level, message, service.name)",
    [ruleOf("any", 0)],
  );
  await ask(server, "PUT", "/groups/red", { group: { name: "red" } });
  const made = { role: "viewer", groups: ["red"] };
  member = (await ask<{ token: string }>(server, "POST", "/tokens", made)).json.token;
  const environment = { name: "prod" };
  const sender = await ask<{ token: string }>(server, "POST", "/environments/create", { environment });
  const { timeseries } = alertOf("", byService, [ruleOf("low", 0)]);
  const objects = ["shop", "shopping"].map((namespace) => {
    return { kind: "SvcAlert", spec: { timeseries }, metadata: { name: "x", uid: namespace, namespace } };
  });
  const { token } = sender.json;
  expect((await ask(server, "POST", "/kubernetes/objects", { objects }, { token })).status).toBe(200);
  while ((await list()).counts.health.unknown > 0) await setTimeout(50);
}, 30_000);
afterAll(() => server.stop());

const silences: Record<
  string,
  { alertIds?: string[]; services?: string[]; startsAt?: number; endsAt: number }
> = {
  whole: { alertIds: ["a00", "a07"], endsAt: farMs },
  some: { services: ["s4", "s5"], endsAt: farMs + 1 },
  one: { alertIds: ["a00", "a01", "a02", "a03"], services: ["s3"], endsAt: farMs + 2 },
  over: { alertIds: ["a04", "a05"], endsAt: 1 },
  later: { alertIds: ["a06"], startsAt: farMs, endsAt: farMs + 3 },
};

/** The naive way: what rows and silences say of one of the alerts by service. */
function expectedOf(id: string) {
  const { low, high } = thresholds.get(id)!;
  const firing = services.filter((service) => rowsOf[service]! > Math.min(low, high));
  const inForce = Object.entries(silences).filter(([, { alertIds = [id], startsAt = 0, endsAt }]) => {
    return alertIds.includes(id) && startsAt <= beganMs && endsAt > beganMs;
  });
  const covers = ([, silence]: (typeof inForce)[number]) =>
    firing.filter((service) => (silence.services ?? services).includes(service));
  const shown = inForce.filter((each) => each[1].services === undefined || covers(each).length > 0);
  const silenced = new Set(shown.flatMap(covers));
  const isWhole = shown.some(([, silence]) => silence.services === undefined);
  return {
    state: firing.length > 0 ? "firing" : "ok",
    firingRules: Object.entries({ high, low }).flatMap(([name, threshold]) =>
      services.some((service) => rowsOf[service]! > threshold) ? [name] : [],
    ),
    firingInstances: firing.length,
    silencedInstances: silenced.size,
    silenced: isWhole || (firing.length > 0 && silenced.size === firing.length),
    silences: shown
      .map(([name, { endsAt }]) => ({ id: name, endsAt }))
      .sort((a, b) => (a.id < b.id ? -1 : 1)),
  };
}

test(`states, rules, instances and silences are those of the rows (SVC_SEED=${seed})`, async () => {
  for (const [id, { alertIds, services: values, startsAt, endsAt }] of Object.entries(silences)) {
    const match = values && { matchExpressions: [{ key: "service.name", operator: "In", values }] };
    const silence = { id, alertIds, startsAt, endsAt, match };
    const got = await ask(server, "PUT", `/silences/${id}`, { silence: JSON.parse(JSON.stringify(silence)) });
    expect([id, got.text, got.status]).toEqual([id, got.text, 200]);
  }
  const { states, counts, cursor } = await list();
  expect(cursor).toBeUndefined();
  const found = new Map(states.map((each) => [each.id, each]));
  expect([...found.keys()]).toEqual([...found.keys()].sort());
  for (const id of thresholds.keys()) {
    const { evaluatedAt, evaluatedThrough, since, ...rest } = found.get(id)!;
    expect(rest).toEqual({
      ...{ id, name: `name of ${id}`, folderPath: "/alerts/", health: "ok", error: null },
      ...expectedOf(id),
    });
    // It was evaluated once or twice, after the begin of this test.
    expect(evaluatedAt! - beganMs).toBeGreaterThanOrEqual(0);
    expect(evaluatedThrough! % minute).toBe(0);
    expect([since! % minute, since! <= evaluatedThrough!]).toEqual([0, true]);
    const alone = await ask<{ state: string }>(server, "GET", `/alerts/${id}/state`);
    expect([id, alone.json.state]).toEqual([id, rest.state]);
  }
  expect(found.get("empty")).toMatchObject({
    state: "noData",
    health: "ok",
    firingInstances: 0,
    silenced: false,
  });
  expect(found.get("broken")).toMatchObject({ state: "noData", health: "error", since: null });
  expect(found.get("broken")!.error).toMatch(/6 series on the left side/);
  const count = (is: (each: Listed) => boolean) => states.filter(is).length;
  expect(counts).toEqual({
    state: {
      firing: count(({ state }) => state === "firing"),
      unhealthy: 0,
      noData: 2,
      ok: count(({ state }) => state === "ok"),
    },
    health: { ok: states.length - 1, error: 1, unknown: 0 },
  });
});

test("filters by state, health and folder, a page at a time", async () => {
  const all = (await list()).states;
  const filters: [Record<string, string>, (each: Listed) => boolean][] = [
    [{}, () => true],
    [{ state: "firing" }, ({ state }) => state === "firing"],
    [{ state: "ok" }, ({ state }) => state === "ok"],
    [{ state: "noData", health: "ok" }, ({ id }) => id === "empty"],
    [{ health: "error" }, ({ id }) => id === "broken"],
    [{ folder: "/alerts/" }, () => true],
    [{ folder: "/alerts/kubernetes-managed/prod" }, ({ managed }) => managed !== undefined],
    [{ folder: "/alerts/kubernetes-managed/prod/shop" }, ({ id }) => id.includes(".shop.")],
    [{ folder: "/alerts/kubernetes-managed/prod/shop/", state: "ok" }, ({ id }) => id.includes(".shop.")],
    [{ folder: "/alerts/kubernetes-managed/", state: "firing" }, () => false],
    [{ folder: "/alerts/nowhere/" }, () => false],
  ];
  for (const [filter, isWanted] of filters) {
    const wanted = all.filter(isWanted).map(({ id }) => id);
    const limit = String(1 + Math.floor(random() * 12));
    const ids: string[] = [];
    const inFolder = new Set<number>();
    let page: States | undefined;
    do {
      const cursor = page?.cursor;
      page = await list({ ...filter, limit, ...(cursor === undefined ? {} : { cursor }) });
      expect(page.states.length).toBeLessThanOrEqual(Number(limit));
      ids.push(...page.states.map(({ id }) => id));
      const { firing, noData, ok } = page.counts.state;
      inFolder.add(firing + noData + ok);
    } while (page.cursor !== undefined);
    expect([filter, limit, ids]).toEqual([filter, limit, wanted]);
    const { folder } = filter;
    const size = folder === undefined ? all.length : (await list({ folder })).states.length;
    expect([filter, [...inFolder]]).toEqual([filter, [size]]);
  }
  const shop = all.find(({ id }) => id.includes(".shop."))!;
  const folderPath = "/alerts/kubernetes-managed/prod/shop/";
  expect(shop).toMatchObject({
    folderPath,
    managed: { cluster: "prod", namespace: "shop", kind: "SvcAlert", name: "x", folderPath },
  });
});

test("who does not read all rows of an alert learns its state alone", async () => {
  const seen = await list({}, member);
  // No rule lets the member see what Kubernetes manages.
  const own = (await list()).states.filter(({ managed }) => managed === undefined);
  expect(seen.states).toEqual(
    own.map((each) => ({
      ...each,
      ...{ firingInstances: null, silencedInstances: null, silenced: null, silences: [] },
      error: each.error === null ? null : "the query failed",
    })),
  );
  expect(seen.counts.health).toEqual({ ok: own.length - 1, error: 1, unknown: 0 });
});

test.each([
  [{ state: "off" }, 'state must be one of firing, unhealthy, noData, ok, got "off"'],
  [{ health: "bad" }, 'health must be one of ok, error, unknown, got "bad"'],
  [{ folder: "alerts" }, "folder must be a folder such as /alerts/kubernetes-managed/prod/"],
  [{ limit: "1001" }, "limit must be an integer from 1 to 1000"],
  [{ states: "ok" }, "did you mean state?"],
])("%j is refused", async (parameters, problem) => {
  const got = await ask<{ error: string }>(
    server,
    "GET",
    `/alerts/states?${new URLSearchParams(parameters as Record<string, string>)}`,
  );
  expect([got.status, got.json.error]).toEqual([400, expect.stringContaining(problem)]);
});

test("a fire that ends leaves the list of what fires", async () => {
  const id = oneOf(
    [...thresholds.keys()].filter((each) => expectedOf(each).state === "firing"),
    random,
  );
  await save(id, "count(logs{log_level=`none`})", [ruleOf("low", 0)]);
  const stateOf = async () => (await list()).states.find((each) => each.id === id)!;
  await expect.poll(async () => (await stateOf()).state, { timeout: 10_000 }).toBe("ok");
  expect(await stateOf()).toMatchObject({ firingRules: [], firingInstances: 0 });
});
