/** Members of groups see what rules grant them, in every search: no row, name, value, count or pattern of another. */

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { call, lines, startServer } from "../running.ts";
import { ask } from "./asking.ts";
import type { Random } from "./random.ts";
import { randomOf } from "./random.ts";
import { isVisible, type Row, type Rule, randomGroups, randomRow, randomRule } from "./visible.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const rounds = process.env.SVC_SOAK === "1" ? 500 : 25;
const rowsOfSignal = 40;
const startMs = 1_750_000_000_000;

/** A row and a mark that stands in its text, in the name and the value of an attribute, and nowhere else. */
interface Marked {
  row: Row;
  mark: string;
}

let server: Running;
let rows: Marked[];
const random = randomOf(seed);
beforeAll(async () => {
  server = await startServer();
  rows = ["logs", "traces", "metrics"].flatMap((signal) => madeUp(signal, random));
  const send = async (path: string, of: string, lineOf: (marked: Marked, i: number) => object) => {
    const body = lines(rows.filter(({ row }) => row.signal === of).map(lineOf));
    const got = await call(server, `/api/v1/ingest/${path}`, {
      token: server.adminToken,
      headers: { "Content-Type": "application/x-ndjson" },
      body,
    });
    expect(got.json).toMatchObject({ accepted: rowsOfSignal, refused: 0 });
  };
  await send("logs", "logs", ({ row, mark }, i) => {
    return {
      timestamp: startMs + i,
      log_level: row.level,
      message: `${mark} happened`,
      attributes: marked(row, mark),
    };
  });
  await send("spans", "traces", ({ row, mark }, i) => {
    const startTimeUnixNano = `${startMs + i}000000`;
    const ids = { traceId: traceIdOf(i), spanId: `${i + 1}`.padStart(16, "0") };
    return {
      ...ids,
      name: mark,
      startTimeUnixNano,
      endTimeUnixNano: startTimeUnixNano,
      attributes: marked(row, mark),
    };
  });
  await send("metrics", "metrics", ({ row, mark }, i) => {
    return {
      timestamp: startMs + i,
      name: `metric_${mark}`,
      type: "gauge",
      value: 1,
      labels: marked(row, mark),
    };
  });
});
afterAll(() => server.stop());

function madeUp(signal: string, from: Random): Marked[] {
  return Array.from({ length: rowsOfSignal }, (_, i) => {
    // A letter first and last: no mark is a part of another.
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

const questions: [path: string, body: object][] = [
  ["/query/logs", { query: "", limit: 1_000, explain: true }],
  ["/query/logs", { query: "happened", limit: 1_000 }],
  ["/query/logs", { query: "logs{nobody=`x`}" }],
  ["/query/patterns", { query: "" }],
  ["/query/timeseries", { query: "count(logs) by (service.name)", explain: true }],
  ["/query/timeseries", { query: "count_distinct(service.name, logs)" }],
  ["/query/timeseries", { query: "count(traces) by (name)" }],
  ["/query/timeseries", { query: "sum(metric_nobody)" }],
  ["/query/traces", { query: "", limit: 1_000 }],
  ["/query/histogram", { query: "" }],
  ["/query/histogram", { query: "", signal: "traces" }],
  ["/query/fields", { signal: "logs" }],
  ["/query/fields", { signal: "traces" }],
  ["/query/fields", { signal: "metrics" }],
  ["/query/values", { signal: "logs", field: "service.name" }],
  ["/query/values", { signal: "traces", field: "name" }],
  ["/query/values", { signal: "metrics", field: "__name__", limit: 1_000 }],
  ["/query/values", { signal: "metrics", field: "team" }],
];

test(`no search shows a member what no rule grants (SVC_SEED=${seed})`, async () => {
  let seen = 0;
  for (let round = 0; round < rounds; round++) {
    const rules = Array.from({ length: 1 + Math.floor(random() * 3) }, () => randomRule(random));
    const groups = randomGroups(random);
    await withRules(rules, async () => {
      const token = await tokenOf({ role: "viewer", groups });
      seen += await checkMember(token, groups, rules);
    });
  }
  expect(seen).toBeGreaterThan(rounds);
});

async function withRules(rules: readonly Rule[], run: () => Promise<void>): Promise<void> {
  for (const [i, rule] of rules.entries()) {
    const got = await ask(server, "PUT", `/telemetry-rules/r${i}`, { telemetryRule: rule });
    expect([rule, got.status]).toEqual([rule, 200]);
  }
  await run();
  for (const i of rules.keys()) await ask(server, "DELETE", `/telemetry-rules/r${i}`);
}

async function tokenOf(wanted: object): Promise<string> {
  return (await ask<{ token: string }>(server, "POST", "/tokens", wanted)).json.token;
}

/** Answers with how many rows the member saw. */
async function checkMember(token: string, groups: string[], rules: Rule[]): Promise<number> {
  const visible = new Set(rows.filter(({ row }) => isVisible(row, groups, rules)).map(({ mark }) => mark));
  const hidden = rows.filter(({ mark }) => !visible.has(mark));
  const answers = new Map<string, string>();
  for (const [path, body] of questions) {
    const got = await ask(server, "POST", path, { ...range, ...body }, { token });
    const what = `${path} ${JSON.stringify(body)} for ${groups} by ${JSON.stringify(rules)}: ${got.text}`;
    expect([what, got.status]).toEqual([what, 200]);
    for (const { mark } of hidden) expect([what, mark, got.text.includes(mark)]).toEqual([what, mark, false]);
    answers.set(`${path} ${JSON.stringify(body)}`, got.text);
  }
  const of = (signal: string) => rows.filter(({ row, mark }) => row.signal === signal && visible.has(mark));
  expectMarks(answers, '/query/logs {"query":"happened","limit":1000}', of("logs"));
  expectMarks(answers, '/query/traces {"query":"","limit":1000}', of("traces"));
  expectMarks(answers, '/query/values {"signal":"metrics","field":"__name__","limit":1000}', of("metrics"));
  expectMarks(answers, '/query/fields {"signal":"logs"}', of("logs"));
  expectMarks(answers, '/query/fields {"signal":"metrics"}', of("metrics"));
  for (const [signal, question] of [
    ["logs", '/query/histogram {"query":""}'],
    ["logs", '/query/patterns {"query":""}'],
    ["logs", '/query/fields {"signal":"logs"}'],
    ["traces", '/query/histogram {"query":"","signal":"traces"}'],
  ] as const) {
    expect([question, JSON.parse(answers.get(question)!).count]).toEqual([question, of(signal).length]);
  }
  await checkTraces(token, visible);
  await checkElsewhere(token);
  return visible.size;
}

function expectMarks(answers: Map<string, string>, question: string, expected: readonly Marked[]): void {
  const text = answers.get(question)!;
  for (const { mark } of expected)
    expect([question, text, text.includes(mark)]).toEqual([question, text, true]);
}

async function checkTraces(token: string, visible: ReadonlySet<string>): Promise<void> {
  const spans = rows.filter(({ row }) => row.signal === "traces");
  for (const [i, { mark }] of spans.entries()) {
    if (i % 8 > 0) continue;
    const got = await ask(server, "GET", `/traces/${traceIdOf(i)}`, undefined, { token });
    expect([mark, got.status]).toEqual([mark, visible.has(mark) ? 200 : 404]);
  }
}

/** What counts everybody's rows is not for members; and nobody reads without saying who asks. */
async function checkElsewhere(token: string): Promise<void> {
  expect((await call(server, "/metrics", { token })).status).toBe(403);
  expect((await ask(server, "POST", "/query/logs", { query: "", ...range }, { token: null })).status).toBe(
    401,
  );
}

test("without any rule a member sees nothing, others see all", async () => {
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
