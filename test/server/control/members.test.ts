/** Row-level filters in every search: members see no row, name, value, count or pattern that no rule grants them. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { audience, type Issuer, startIssuer } from "../access/issuer.ts";
import type { Running } from "../running.ts";
import { call, lines, startServer } from "../running.ts";
import { openTail } from "../search/tail-reader.ts";
import { ask } from "./asking.ts";
import type { Random } from "./random.ts";
import { oneOf, randomOf } from "./random.ts";
import {
  groupNames,
  isVisible,
  type Row,
  type Rule,
  randomGroups,
  randomRow,
  randomRule,
  signals,
} from "./visible.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const rounds = process.env.SVC_SOAK === "1" ? 250 : 12;
const rowsOfSignal = 40;
const startMs = 1_750_000_000_000;

/** A row and a mark: a text in its message, and in the name and value of an attribute, that no other row holds. */
interface Marked {
  row: Row;
  mark: string;
}

let server: Running;
let issuer: Issuer;
let rows: Marked[];
const random = randomOf(seed);
beforeAll(async () => {
  issuer = await startIssuer();
  const identity = { issuer: issuer.url, audiences: [audience], groupsClaim: "groups" };
  server = await startServer({ identity });
  rows = signals.flatMap((signal) => generateRows(signal, random));
  for (const [signal, lineOf] of Object.entries(forms)) {
    const path = signal === "traces" ? "spans" : signal;
    const body = lines(rows.filter(({ row }) => row.signal === signal).map(lineOf));
    const got = await call(server, `/api/v1/ingest/${path}`, {
      token: server.adminToken,
      headers: { "Content-Type": "application/x-ndjson" },
      body,
    });
    expect(got.json).toMatchObject({ accepted: rowsOfSignal, refused: 0 });
  }
  for (const name of groupNames) {
    await ask(server, "PUT", `/groups/${name}`, { group: { name, oidcMappings: [`idp-${name}`] } });
  }
});
afterAll(async () => {
  await server.stop();
  await issuer.stop();
});

/** The body of a row, by signal. */
const forms: Record<string, (marked: Marked, i: number) => object> = {
  logs: ({ row, mark }, i) => {
    const message = `${mark} happened`;
    return { timestamp: startMs + i, log_level: row.level, message, attributes: marked(row, mark) };
  },
  traces: ({ row, mark }, i) => {
    const startTimeUnixNano = `${startMs + i}000000`;
    const ids = { traceId: traceIdOf(i), spanId: `${i + 1}`.padStart(16, "0") };
    const times = { startTimeUnixNano, endTimeUnixNano: startTimeUnixNano };
    return { ...ids, name: mark, ...times, attributes: marked(row, mark) };
  },
  metrics: ({ row, mark }, i) => {
    const labels = marked(row, mark);
    return { timestamp: startMs + i, name: `metric_${mark}`, type: "gauge", value: 1, labels };
  },
  profiles: ({ row, mark }, i) => {
    return { timestamp: startMs + i, body: `${mark} happened`, attributes: marked(row, mark) };
  },
  kubernetes_resources: ({ row, mark }, i) => {
    const named = { "k8s.resource.kind": "Deployment", "k8s.resource.name": mark };
    const body = { kind: "Deployment", name: mark, spec: { replicas: 1 } };
    return { timestamp: startMs + i, body, attributes: { ...marked(row, mark), ...named } };
  },
};

function generateRows(signal: string, from: Random): Marked[] {
  return Array.from({ length: rowsOfSignal }, (_, i) => {
    // With fixed first and last letters, no mark is part of another.
    return { row: randomRow(from, signal), mark: `${signal[0]}m${letters(i)}z` };
  });
}

function letters(i: number): string {
  return `${String.fromCharCode(97 + Math.floor(i / 20))}${String.fromCharCode(97 + (i % 20))}`;
}

function marked({ attributes }: Row, mark: string): Record<string, string> {
  return { ...attributes, [`key_${mark}`]: `value_${mark}`, all: "same" };
}

function traceIdOf(i: number): string {
  return `${i + 1}`.padStart(32, "a");
}

const range = { startTime: startMs - 1_000, endTime: startMs + 60_000 };

const rowSignals = signals.filter((signal) => signal !== "metrics");

/** Searches that are sent. Checks of counts find them by their text. */
const searches: [path: string, body: object][] = [
  ["/query/logs", { query: "", limit: 1_000, explain: true }],
  ["/query/logs", { query: "happened", limit: 1_000 }],
  ["/query/logs", { query: "logs{nobody=`x`}" }],
  ["/query/logs", { query: "logs | json | logfmt | seat > 5" }],
  ["/query/patterns", { query: "" }],
  ["/query/timeseries", { query: "count(logs) by (service.name)", explain: true }],
  ["/query/timeseries", { query: "count(logs) by (template)" }],
  ["/query/timeseries", { query: "count(logs) by (key_lmaa)" }],
  ["/query/timeseries", { query: "count_distinct(service.name, logs)" }],
  ["/query/timeseries", { query: "count(logs) by (team) / on (team) count(logs) by (team, all)" }],
  ["/query/timeseries", { query: "count(logs) by (team) / count(logs) by (team, service.name)" }],
  ["/query/timeseries", { query: "topk(3, count(logs) by (service.name))" }],
  ["/query/timeseries", { query: "count(traces) by (name)" }],
  ["/query/timeseries", { query: "trace_duration_quantile(0.5, traces) by (name)" }],
  ["/query/timeseries", { query: "sum(metric_nobody)" }],
  ["/query/timeseries", { query: "sum(metric_mmaa)" }],
  [
    "/query/timeseries",
    { query: 'sum(json_path("spec.replicas", kubernetes_resources)) by (k8s.resource.name)' },
  ],
  ["/query/traces", { query: "", limit: 1_000 }],
  ["/query/traces", { query: "traces{nobody=`x`}" }],
  ["/query/profiles", { query: "", limit: 1_000 }],
  ["/query/kubernetes_resources", { query: "", limit: 1_000 }],
  ["/query/kubernetes_resources", { query: "kubernetes_resources | json | spec.replicas > 0" }],
  ...signals.map((signal): [string, object] => ["/query/fields", { signal }]),
  ...signals.map((signal): [string, object] => ["/query/values", { signal, field: "team" }]),
  ...rowSignals.map((signal): [string, object] => ["/query/histogram", { query: "", signal }]),
  ...rowSignals.map((signal): [string, object] => [
    "/query/timeseries",
    { query: `count(${signal}) by (all)` },
  ]),
  ["/query/values", { signal: "logs", field: "service.name" }],
  ["/query/values", { signal: "logs", field: "key_lmaaz" }],
  ["/query/values", { signal: "traces", field: "name" }],
  ["/query/values", { signal: "kubernetes_resources", field: "k8s.resource.name" }],
  ["/query/values", { signal: "metrics", field: "__name__", limit: 1_000 }],
];

/** Kinds of callers: bearers of a token of a role, or users of the identity provider. */
const callerKinds = ["viewer", "viewer", "editor", "admin", "ingest", "user", "user"] as const;

test(`no search shows a member a row that no rule grants (SVC_SEED=${seed})`, async () => {
  let seen = 0;
  let pairs = 0;
  for (let round = 0; round < rounds; round++) {
    const rules = Array.from({ length: 1 + Math.floor(random() * 3) }, () => randomRule(random));
    const groups = randomGroups(random);
    const callerKind = oneOf(callerKinds, random);
    await withRules(rules, async () => {
      const token =
        callerKind === "user"
          ? await issuer.token({ groups: groups.map((name) => `idp-${name}`) })
          : await tokenOf({ role: callerKind, groups });
      const status = callerKind === "ingest" || (callerKind === "user" && groups.length === 0) ? 403 : 200;
      if (status === 403) pairs += await checkRefused(token);
      else pairs += await checkMember(token, groups, rules, callerKind === "admin");
      seen += status === 200 ? 1 : 0;
    });
  }
  expect(seen).toBeGreaterThan(rounds / 3);
  expect(pairs).toBeGreaterThan(rounds * 20);
  if (process.env.SVC_SOAK === "1")
    process.stdout.write(`${pairs} questions under ${rounds} sets of rules\n`);
});

async function checkRefused(token: string): Promise<number> {
  for (const [path, body] of searches) {
    const got = await ask(server, "POST", path, { ...range, ...body }, { token });
    expect([path, got.status]).toEqual([path, 403]);
  }
  return searches.length;
}

async function withRules(rules: readonly Rule[], run: () => Promise<void>): Promise<void> {
  for (const [i, rule] of rules.entries()) {
    const got = await ask(server, "PUT", `/telemetry-rules/r${i}`, { telemetryRule: rule });
    expect([rule, got.status]).toEqual([rule, 200]);
  }
  await run();
  for (const i of rules.keys()) await ask(server, "DELETE", `/telemetry-rules/r${i}`);
}

async function tokenOf(settings: object): Promise<string> {
  return (await ask<{ token: string }>(server, "POST", "/tokens", settings)).json.token;
}

/** Returns how many searches were sent. */
async function checkMember(token: string, groups: string[], rules: Rule[], all: boolean): Promise<number> {
  const isSeen = ({ row }: Marked) => all || isVisible(row, groups, rules);
  const visible = new Set(rows.filter(isSeen).map(({ mark }) => mark));
  const hidden = rows.filter(({ mark }) => !visible.has(mark));
  const answers = new Map<string, string>();
  for (const [path, body] of searches) {
    const got = await ask(server, "POST", path, { ...range, ...body }, { token });
    const what = `${path} ${JSON.stringify(body)} for ${groups} by ${JSON.stringify(rules)}: ${got.text}`;
    // Some series cannot be combined where several match.
    expect([what, got.status === 200 || got.text.includes("many-to-many")]).toEqual([what, true]);
    const bodyText = JSON.stringify(body);
    for (const { mark } of hidden) {
      if (!bodyText.includes(mark))
        expect([what, mark, got.text.includes(mark)]).toEqual([what, mark, false]);
    }
    answers.set(`${path} ${bodyText}`, got.text);
  }
  checkWhole(answers, (signal) =>
    rows.filter((each) => each.row.signal === signal && visible.has(each.mark)),
  );
  const traces = await checkTraces(token, visible);
  if (!all) await checkElsewhere(token);
  return searches.length + traces;
}

/** Every visible row is shown and counted. */
function checkWhole(answers: Map<string, string>, of: (signal: string) => Marked[]): void {
  expectMarks(answers, '/query/logs {"query":"happened","limit":1000}', of("logs"));
  for (const signal of ["traces", "profiles", "kubernetes_resources"])
    expectMarks(answers, `/query/${signal} {"query":"","limit":1000}`, of(signal));
  expectMarks(answers, '/query/values {"signal":"metrics","field":"__name__","limit":1000}', of("metrics"));
  for (const signal of signals) expectMarks(answers, `/query/fields {"signal":"${signal}"}`, of(signal));
  const counted = [
    ["logs", '/query/patterns {"query":""}'],
    ...rowSignals.map((signal) => [signal, `/query/histogram {"query":"","signal":"${signal}"}`] as const),
    ...rowSignals.map((signal) => [signal, `/query/fields {"signal":"${signal}"}`] as const),
  ] as const;
  for (const [signal, question] of counted) {
    expect([question, JSON.parse(answers.get(question)!).count]).toEqual([question, of(signal).length]);
  }
  for (const signal of rowSignals) {
    const question = `/query/timeseries {"query":"count(${signal}) by (all)"}`;
    const { series } = JSON.parse(answers.get(question)!) as { series: { points: [number, number][] }[] };
    const sum = series.flatMap(({ points }) => points).reduce((total, [, count]) => total + count, 0);
    expect([question, sum]).toEqual([question, of(signal).length]);
  }
}

function expectMarks(answers: Map<string, string>, question: string, expected: readonly Marked[]): void {
  const text = answers.get(question)!;
  for (const { mark } of expected)
    expect([question, text, text.includes(mark)]).toEqual([question, text, true]);
}

async function checkTraces(token: string, visible: ReadonlySet<string>): Promise<number> {
  const spans = rows.filter(({ row }) => row.signal === "traces");
  for (const [i, { mark }] of spans.entries()) {
    if (i % 8 > 0) continue;
    const got = await ask(server, "GET", `/traces/${traceIdOf(i)}`, undefined, { token });
    expect([mark, got.status]).toEqual([mark, visible.has(mark) ? 200 : 404]);
  }
  return Math.ceil(spans.length / 8);
}

/** Members cannot read /metrics, which counts all rows, and searches need a token. */
async function checkElsewhere(token: string): Promise<void> {
  expect((await call(server, "/metrics", { token })).status).toBe(403);
  expect((await ask(server, "POST", "/query/logs", { query: "", ...range }, { token: null })).status).toBe(
    401,
  );
}

test(`a tail shows members and users exactly the rows that rules grant (SVC_SEED=${seed})`, async () => {
  const token = server.adminToken;
  const tailed = generateRows("logs", random);
  const send = async (message: (mark: string) => string) => {
    const sent = tailed.map(({ row, mark }) => ({
      ...{ timestamp: Date.now(), log_level: row.level, message: message(mark) },
      attributes: row.attributes,
    }));
    const headers = { "Content-Type": "application/x-ndjson" };
    const got = await call(server, "/api/v1/ingest/logs", { token, headers, body: lines(sent) });
    expect(got.json).toMatchObject({ accepted: tailed.length });
  };
  // Leaves out the audit log, which the server writes to the same signal.
  const query = "logs |~ `(once|again)`";
  let shown = 0;
  for (let round = 0; round < rounds; round++) {
    const groups = [oneOf(groupNames, random), ...randomGroups(random)];
    const rules = Array.from({ length: 3 }, () => randomRule(random));
    await withRules(rules, async () => {
      const marks = tailed.filter(({ row }) => isVisible(row, groups, rules)).map(({ mark }) => mark);
      const user = await issuer.token({ groups: groups.map((name) => `idp-${name}`) });
      const bearer = await tokenOf({ role: "viewer", groups });
      const readers = await Promise.all(
        [token, user, bearer].map((each) => openTail(server, { query, token: each })),
      );
      expect(readers.map(({ status }) => status)).toEqual([200, 200, 200]);
      await send((mark) => `${mark} once ${round}`);
      await send((mark) => `${mark} again ${round}`);
      for (const [i, reader] of readers.entries()) {
        const expected = i === 0 ? tailed.map(({ mark }) => mark) : marks;
        // A tail sends rows in the order of their arrival: after the last row none of the earlier ones follows.
        await reader.until((each) => each.entries().length >= 2 * expected.length);
        const texts = reader.entries().map(({ message }) => message);
        const expectedTexts = ["once", "again"].flatMap((when) =>
          expected.map((mark) => `${mark} ${when} ${round}`),
        );
        expect([groups, rules, texts.sort()]).toEqual([groups, rules, expectedTexts.sort()]);
        reader.leave();
      }
      shown += marks.length;
    });
  }
  expect(shown).toBeGreaterThan(0);
}, 120_000);

test("without any rule a member sees no row, others see all", async () => {
  const [member, viewer] = await Promise.all([
    tokenOf({ role: "viewer", groups: ["red"] }),
    tokenOf({ role: "viewer" }),
  ]);
  const count = async (token: string | null) =>
    (await ask(server, "POST", "/query/logs", { query: "happened", ...range, limit: 1_000 }, { token })).json
      .count;
  expect([await count(member), await count(viewer), await count(null)]).toEqual([
    0,
    rowsOfSignal,
    rowsOfSignal,
  ]);
});
