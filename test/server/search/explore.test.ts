/** POST /api/v1/query/histogram, /fields and /values against loops over the same rows. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Entry, Got, Running } from "../running.ts";
import { ingest, lines, post, startServer } from "../running.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

interface Answer {
  series: {
    level?: string;
    status_code?: string;
    value?: string;
    other?: boolean;
    points: [number, number][];
  }[];
  bucketSize: number;
  partial: number[];
  count: number;
  fields: { name: string; rows: number }[];
  values: { value: string; count: number }[];
  isWhole: boolean;
  countedFrom?: number;
  warnings?: string[];
  error: string;
}

const start = Date.UTC(2026, 0, 29);
const levels = ["info", "WARN", "error", ""];
const rows = Array.from(
  { length: 2_000 },
  (_, i): Entry => ({
    timestamp: start + ((i * 7919) % 600_000),
    log_level: levels[(i * i) % 4]!,
    message: i % 3 === 0 ? `{"user":"u${i % 7}","took":${i}}` : `row ${i} of the flock`,
    attributes: {
      "service.name": `/k8s/shop/${i % 5}`,
      ...(i % 4 === 0 ? { "http.status": String(200 + (i % 3)) } : {}),
      ...(i % 10 === 0 ? { message: "an attribute", note: "" } : {}),
      id: `id-${i}`,
    },
  }),
);

let server: Running;
beforeAll(async () => {
  server = await startServer();
  // Some in chunks, the rest in memory.
  await ingest(server, lines(rows.slice(0, 1_500)));
  await server.service.store.seal();
  await ingest(server, lines(rows.slice(1_500)));
});
afterAll(() => server.stop());

function ask(path: "histogram" | "fields" | "values", body: Record<string, unknown>): Promise<Got<Answer>> {
  return post(server, path, { startTime: start, endTime: start + 599_999, ...body });
}

const range = fc
  .tuple(fc.integer({ min: -5_000, max: 605_000 }), fc.integer({ min: -5_000, max: 605_000 }))
  .map(([a, b]) => ({ startTime: start + Math.min(a, b), endTime: start + Math.max(a, b) }));
/** Queries and what they select. */
const selections: [query: string, test: (row: Entry) => boolean][] = [
  ["", () => true],
  ["flock", ({ message }) => message.includes("flock")],
  ['{service.name="/k8s/shop/3"}', ({ attributes }) => attributes["service.name"] === "/k8s/shop/3"],
  [
    '{http.status="200", log_level!="warn"}',
    ({ attributes, log_level }) => attributes["http.status"] === "200" && log_level !== "WARN",
  ],
  [
    "logs | json | took > 900",
    ({ message }) => message.startsWith("{") && Number(JSON.parse(message).took) > 900,
  ],
];
const within = (list: readonly Entry[], { startTime, endTime }: { startTime: number; endTime: number }) =>
  list.filter(({ timestamp }) => timestamp >= startTime && timestamp <= endTime);

describe(`random ranges (SVC_SEED=${seed})`, () => {
  const asked = fc.tuple(range, fc.constantFrom(...selections));

  test("histograms count rows by bucket and level", async () => {
    await fc.assert(
      fc.asyncProperty(
        asked,
        fc.constantFrom(1, 7, 60, 3_600),
        async ([times, [query, passes]], bucketSize) => {
          const { json } = await ask("histogram", { query, ...times, bucketSize });
          const found = within(rows, times).filter(passes);
          const counts = new Map<string, number>();
          for (const { timestamp, log_level } of found) {
            const key = `${log_level.toLowerCase()} ${Math.floor(timestamp / bucketSize / 1000) * bucketSize * 1000}`;
            counts.set(key, (counts.get(key) ?? 0) + 1);
          }
          const answered = json.series.flatMap(({ level, points }) =>
            points.map(([ms, n]): [string, number] => [`${level} ${ms}`, n]),
          );
          expect(new Map(answered)).toEqual(counts);
          expect(answered.length).toBe(counts.size);
          expect(json.count).toBe(found.length);
        },
      ),
      { seed, numRuns: 60 },
    );
  });

  test("fields are counted exactly", async () => {
    await fc.assert(
      fc.asyncProperty(
        asked,
        fc.constantFrom("", "s", "attributes."),
        async ([times, [query, passes]], prefix) => {
          const { json } = await ask("fields", { signal: "logs", query, prefix, ...times });
          const found = within(rows, times).filter(passes);
          const counts = new Map<string, number>();
          const add = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
          for (const { log_level, message, attributes } of found) {
            for (const name of ["timestamp", "message", "template"]) add(name);
            if (log_level !== "") add("log_level");
            for (const name of Object.keys(attributes)) add(name === "message" ? "attributes.message" : name);
            if (query.includes("json")) for (const name of Object.keys(JSON.parse(message))) add(name);
          }
          const expected = [...counts]
            .filter(([name]) => name.startsWith(prefix))
            .sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
            .map(([name, rows]) => ({ name, rows }));
          expect(json).toEqual({ fields: expected, count: found.length, isWhole: true });
        },
      ),
      { seed, numRuns: 60 },
    );
  });

  test("values are counted exactly", async () => {
    const fields: [string, (row: Entry) => string | undefined][] = [
      ["service.name", ({ attributes }) => attributes["service.name"]],
      ["http.status", ({ attributes }) => attributes["http.status"]],
      ["log_level", ({ log_level }) => log_level.toLowerCase()],
      ["attributes.message", ({ attributes }) => attributes.message],
      ["message", ({ message }) => message],
      ["note", ({ attributes }) => attributes.note],
      ["id", ({ attributes }) => attributes.id],
    ];
    await fc.assert(
      fc.asyncProperty(
        asked,
        fc.constantFrom(...fields),
        fc.constantFrom("", "/k8s/shop", "id-1", "2", "Inf", "row 1"),
        fc.integer({ min: 1, max: 1_000 }),
        async ([times, [query, passes]], [field, textOf], prefix, limit) => {
          const { json } = await ask("values", { signal: "logs", field, query, prefix, limit, ...times });
          const counts = new Map<string, number>();
          for (const row of within(rows, times).filter(passes)) {
            const text = textOf(row) ?? "";
            const begins = text.startsWith(field === "log_level" ? prefix.toLowerCase() : prefix);
            if (text !== "" && begins) counts.set(text, (counts.get(text) ?? 0) + 1);
          }
          const expected = [...counts]
            .sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
            .map(([value, count]) => ({ value, count }));
          expect(json).toEqual({ values: expected.slice(0, limit), isWhole: expected.length <= limit });
        },
      ),
      { seed, numRuns: 120 },
    );
  });
});

test.each(["service.name", "http.status", "id", "log_level", "template", "user"])(
  "histograms by %s count the values of most rows, and the others together",
  async (by) => {
    const [query, select] = selections[by === "user" ? 4 : 0]!;
    const valueIn = (row: Entry): string => {
      if (by === "log_level") return row.log_level.toLowerCase();
      return by === "user" ? JSON.parse(row.message).user : (row.attributes[by] ?? "");
    };
    const { json } = await ask("histogram", {
      query: by === "user" ? "logs | json | took > 900" : query,
      bucketSize: 60,
      by,
      top: 3,
    });
    const found = rows.filter(select);
    expect(json.count).toBe(found.length);
    const bucketOf = ({ timestamp }: Entry) => start + Math.floor((timestamp - start) / 60_000) * 60_000;
    const tally = (some: readonly Entry[]) =>
      [...Map.groupBy(some, bucketOf)].map(([ms, each]) => [ms, each.length]).sort(([a], [b]) => a! - b!);
    if (by !== "template") {
      const byValue = Map.groupBy(found, valueIn);
      const own = json.series.filter(({ other }) => other !== true);
      expect(own.length).toBe(Math.min(3, byValue.size));
      const sizes = [...byValue.values()].map(({ length }) => length).sort((a, b) => b - a);
      expect(own.map(({ value }) => byValue.get(value!)!.length)).toEqual(sizes.slice(0, 3));
      for (const { value, points } of own) expect(points).toEqual(tally(byValue.get(value!)!));
      const shown = new Set(own.map(({ value }) => value));
      const rest = found.filter((row) => !shown.has(valueIn(row)));
      expect(json.series.find(({ other }) => other === true)?.points ?? []).toEqual(tally(rest));
    }
    const total = json.series.flatMap(({ points }) => points).reduce((sum, [, count]) => sum + count, 0);
    expect(total).toBe(found.length);
  },
);

test("a histogram chooses its buckets, and names those that the range cuts", async () => {
  const { json } = await ask("histogram", { query: "", startTime: start + 500 });
  expect(json).toMatchObject({ bucketSize: 5, partial: [start] });
});

test("a limit on fields says that there are more", async () => {
  const { json } = await ask("fields", { signal: "logs", limit: 2 });
  expect([json.fields.length, json.isWhole]).toEqual([2, false]);
});

test("names that nothing bears are warned of", async () => {
  const asked = [
    await ask("histogram", { query: '{servce.name="x"}' }),
    await ask("fields", { signal: "logs", query: '{servce.name="x"}' }),
    await ask("values", { signal: "logs", field: "servce.name" }),
  ];
  for (const { json } of asked) {
    expect(json.warnings).toEqual(['no row has the attribute "servce.name"; did you mean "service.name"?']);
  }
});

test("values that are too many are counted in the newest rows, and the answer says since when", async () => {
  const own = await startServer();
  const many = 130_000;
  for (let at = 0; at < many; at += 65_000) {
    const part = Array.from({ length: 65_000 }, (_, i) => ({ timestamp: start + at + i, id: `n${at + i}` }));
    await ingest(own, lines(part));
  }
  const times = { startTime: start, endTime: start + many - 1 };
  // The range goes on long after the last row.
  const { json } = await post<Answer>(own, "values", {
    signal: "logs",
    field: "id",
    limit: 1_000,
    startTime: 0,
  });
  expect(json.isWhole).toBe(false);
  expect(json.countedFrom).toBeGreaterThan(start);
  expect(json.values).toHaveLength(1_000);
  for (const { value, count } of json.values) {
    expect(count).toBe(1);
    expect(Number(value.slice(1))).toBeGreaterThanOrEqual(json.countedFrom! - start);
  }
  const narrow = await post<Answer>(own, "values", {
    signal: "logs",
    field: "id",
    prefix: "n12999",
    ...times,
  });
  expect([narrow.json.values.length, narrow.json.isWhole]).toEqual([11, true]);
  await own.stop();
}, 60_000);

describe("other signals", () => {
  const resource = (i: number) => ({
    timestamp: start + i,
    body: { kind: i % 2 === 0 ? "Pod" : "Node", spec: { replicas: i } },
    attributes: { "k8s.resource.kind": i % 2 === 0 ? "Pod" : "Node", "k8s.namespace.name": `ns${i % 3}` },
    note: i,
  });
  beforeAll(async () => {
    const resources = Array.from({ length: 30 }, (_, i) => resource(i));
    expect((await ingest(server, lines(resources), {}, "kubernetes_resources")).json.accepted).toBe(30);
    await ingest(
      server,
      lines([{ timestamp: start, body: "a profile", attributes: { "profile.type": "cpu" } }]),
      {},
      "profiles",
    );
    const id = (i: number) => (i + 1).toString(16).padStart(16, "0");
    const span = (i: number) => ({
      traceId: id(i).repeat(2),
      spanId: id(i),
      startTimeUnixNano: `${start + i}000000`,
      name: `n${i}`,
      ...(i % 3 === 0 ? {} : { statusCode: i % 3 === 1 ? "ok" : "error" }),
    });
    await ingest(server, lines(Array.from({ length: 9 }, (_, i) => span(i))), {}, "spans");
  });

  test("Kubernetes resources have a body, which is the message", async () => {
    const signal = "kubernetes_resources";
    const { json } = await ask("fields", { signal });
    expect(json.fields).toEqual(
      ["body", "k8s.namespace.name", "k8s.resource.kind", "message", "note", "timestamp"].map((name) => ({
        name,
        rows: 30,
      })),
    );
    const values = await ask("values", {
      signal,
      field: "k8s.namespace.name",
      query: '{k8s.resource.kind="Pod"}',
    });
    expect(values.json.values).toEqual(["ns0", "ns1", "ns2"].map((value) => ({ value, count: 5 })));
    const bodies = await ask("values", {
      signal,
      field: "body",
      prefix: '{"kind":"Node","spec":{"replicas":7',
    });
    expect(bodies.json.values).toEqual([{ value: '{"kind":"Node","spec":{"replicas":7}}', count: 1 }]);
    const counted = await ask("histogram", {
      signal,
      query: "kubernetes_resources | json | spec.replicas >= 20",
      bucketSize: 3_600,
    });
    expect(counted.json).toEqual({
      bucketSize: 3_600,
      partial: [start],
      series: [{ points: [[start, 10]] }],
      count: 10,
    });
  });

  test("profiles too", async () => {
    const { json } = await ask("values", {
      signal: "profiles",
      field: "profile.type",
      query: 'profiles |= "a pro"',
    });
    expect(json).toEqual({ values: [{ value: "cpu", count: 1 }], isWhole: true });
  });

  test("spans are told apart by their status", async () => {
    const { json } = await ask("histogram", { signal: "traces", query: "", bucketSize: 3_600 });
    expect(json.series).toEqual(
      ["", "error", "ok"].map((status_code) => ({ status_code, points: [[start, 3]] })),
    );
    const fields = await ask("fields", { signal: "traces" });
    expect(fields.json.fields.map(({ name, rows }) => `${name} ${rows}`)).toEqual([
      "name 9",
      "span_id 9",
      "timestamp 9",
      "trace_id 9",
      "status_code 6",
    ]);
  });
});

const rowSignals = "one of logs, traces, profiles, kubernetes_resources";
const signals = "one of logs, traces, metrics, profiles, kubernetes_resources";
const good = { signal: "logs", field: "x", query: "" };
describe("bad bodies", () => {
  test.each<["histogram" | "fields" | "values", Record<string, unknown>, string]>([
    [
      "histogram",
      { query: undefined, signal: undefined },
      "query is required: a string, svcQL that selects rows (of logs, or search terms)",
    ],
    ["histogram", { signal: "spans" }, `signal must be ${rowSignals}, got "spans"`],
    [
      "histogram",
      { bucketSize: -1 },
      "bucketSize must be an integer from 0 to 3155760000, the seconds of a bucket (0: chosen by the range), got -1",
    ],
    ["histogram", { startTime: "x" }, 'startTime must be an integer, Unix time in milliseconds, got "x"'],
    ["histogram", { limit: 5 }, 'unknown field "limit"'],
    [
      "histogram",
      { query: "logs{" },
      'expected a label such as `service.name="cart"`, or `}`, found the end of the query; the { of line 1, column 5 is not closed (line 1, column 6)\n  logs{\n       ^',
    ],
    ["fields", { signal: undefined }, `signal is required: ${signals}`],
    ["fields", { limit: 0 }, "limit must be an integer from 1 to 10000, got 0"],
    ["fields", { prefix: 5 }, "prefix must be a string, got 5"],
    ["fields", { prefix: "x".repeat(1_025) }, "prefix must have 1024 characters at most, got 1025"],
    ["fields", { query: 5 }, "query must be a string, got 5"],
    ["fields", { startTime: 7, endTime: 5 }, "startTime must not be after endTime, got 7 and 5"],
    ["fields", { bucketSize: 5 }, 'unknown field "bucketSize"'],
    ["values", { field: undefined }, "field is required: a string, the name of a field"],
    ["values", { field: "" }, 'field must be a string, the name of a field, got ""'],
    ["values", { limit: 1_001 }, "limit must be an integer from 1 to 1000, got 1001"],
    ["values", { feild: "x" }, 'unknown field "feild"; did you mean field?'],
    [
      "values",
      { signal: "traces", query: "logs" },
      "a search for traces selects `traces{…}`, not `logs` (line 1, column 1)\n  logs\n  ^^^^",
    ],
  ])("%s with %j", async (path, changes, error) => {
    const { field, ...bare } = good;
    const base = path === "values" ? { ...bare, field } : bare;
    const got = await ask(path, { ...base, ...changes });
    expect([got.status, got.json]).toMatchObject([400, { error }]);
  });
});
