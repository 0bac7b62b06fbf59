/** Spans: what becomes of those that are sent, and how they are found again. */
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { call, ingest, lines, post, startServer } from "../running.ts";

interface SpanEntry {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  kind?: string;
  startTimeUnixNano: string;
  endTimeUnixNano?: string;
  durationMs?: number;
  statusCode?: string;
  statusMessage?: string;
  attributes: Record<string, string>;
}

interface SpansAnswer {
  spans: SpanEntry[];
  count: number;
  cursor?: string;
  warnings?: string[];
  error: string;
}

const start = Date.UTC(2026, 0, 29);
const hex = (number: number, digits: number) => number.toString(16).padStart(digits, "0");
/** A hundred traces of seven spans, many of which begin in the same millisecond. */
const spans: SpanEntry[] = Array.from({ length: 700 }, (_, i): SpanEntry => {
  const trace = Math.floor(i / 7) + 1;
  const ms = start + ((i * 7919) % 300);
  const durationMs = (i % 40) + 0.25;
  return {
    traceId: hex(trace, 32),
    spanId: hex(i + 1, 16),
    parentSpanId: i % 7 === 0 ? "" : hex(trace * 7 - 6, 16),
    name: i % 3 === 0 ? `GET /cart/${i}` : `query ${i % 5}`,
    kind: ["internal", "server", "client"][i % 3]!,
    startTimeUnixNano: `${ms}000000`,
    endTimeUnixNano: String(BigInt(ms) * 1_000_000n + BigInt(durationMs * 1e6)),
    durationMs,
    statusCode: i % 11 === 0 ? "error" : "ok",
    ...(i % 11 === 0 ? { statusMessage: "it broke" } : {}),
    attributes: { "service.name": `/k8s/shop/${i % 4}`, i: String(i) },
  };
});

let server: Running;
beforeAll(async () => {
  server = await startServer();
  const rows = spans.map(({ durationMs: _, ...row }) => row);
  const got = await ingest(server, gzipSync(lines(rows)), { "Content-Encoding": "gzip" }, "spans");
  expect(got.json).toEqual({ accepted: spans.length, refused: 0, errors: [], duplicate: false });
});
afterAll(() => server.stop());

/** Those that began last come first, ties in the order of arrival. */
const newestFirst = (list: readonly SpanEntry[]) =>
  [...list].sort((a, b) => Number(BigInt(b.startTimeUnixNano) - BigInt(a.startTimeUnixNano)));

const find = (query: string, more: Record<string, unknown> = {}) =>
  post<SpansAnswer>(server, "traces", { query, limit: 1_000, ...more });

describe("a search for spans", () => {
  test.each<[string, (span: SpanEntry) => boolean]>([
    ["", () => true],
    ["{}", () => true],
    ["traces", () => true],
    ['traces{service.name="/k8s/shop/1"}', ({ attributes }) => attributes["service.name"] === "/k8s/shop/1"],
    [
      '{status_code="error", kind="server"}',
      ({ statusCode, kind }) => statusCode === "error" && kind === "server",
    ],
    ["traces{duration_ms > 30}", ({ durationMs }) => durationMs! > 30],
    ['traces |= "/cart/1"', ({ name }) => name.includes("/cart/1")],
    [
      'count(traces{kind=~"c.*"} |~ "query [34]" != "4")',
      ({ kind, name }) => kind === "client" && name.includes("query 3"),
    ],
    [
      'traces | status_message != "" and i < 100',
      ({ statusMessage, attributes }) => statusMessage !== undefined && Number(attributes.i) < 100,
    ],
    ['{parent_span_id=""}', ({ parentSpanId }) => parentSpanId === ""],
    [`{trace_id="${hex(5, 32)}"}`, ({ traceId }) => traceId === hex(5, 32)],
    [`{timestamp="${start + 7}"}`, ({ startTimeUnixNano }) => startTimeUnixNano === `${start + 7}000000`],
  ])("%s", async (query, test) => {
    const { status, json } = await find(query);
    expect(status).toBe(200);
    const expected = newestFirst(spans.filter(test));
    expect(expected.length).toBeGreaterThan(0);
    expect(json.spans).toEqual(expected);
    expect(json.count).toBe(expected.length);
  });

  test("goes on after a cursor, and keeps to the range", async () => {
    const found: SpanEntry[] = [];
    let cursor: string | undefined;
    do {
      const more = {
        limit: 64,
        startTime: start + 10,
        endTime: start + 200,
        ...(cursor === undefined ? {} : { cursor }),
      };
      const { json } = await find("{}", more);
      found.push(...json.spans);
      cursor = json.cursor;
    } while (cursor !== undefined);
    const within = ({ startTimeUnixNano }: SpanEntry) => {
      const ms = Number(startTimeUnixNano.slice(0, -6));
      return ms >= start + 10 && ms <= start + 200;
    };
    expect(found).toEqual(newestFirst(spans.filter(within)));
  });

  test("warns of names that no span bears", async () => {
    const { json } = await find('{service.nam="x"}');
    expect(json).toEqual({
      spans: [],
      count: 0,
      warnings: ['no span has the attribute "service.nam"; did you mean "service.name"?'],
    });
  });

  test.each([
    ["logs", "a search for traces selects `traces{…}`, not `logs` (line 1, column 1)\n  logs\n  ^^^^"],
    ["http_requests_total", /^a search for traces selects `traces\{…\}`, not a metric/],
    ["count(traces) by (name)", /^a search for traces returns spans and cannot group/],
    [
      "sum(rate(traces))",
      /^a search for traces returns spans; of all aggregations it takes count\(traces\{…\}\) alone/,
    ],
    ["traces | json", /which spans do not have/],
    ["traces{", /expected a label/],
  ])("%s is refused", async (query, error) => {
    const { status, json } = await find(query);
    expect(status).toBe(400);
    expect(json.error).toEqual(typeof error === "string" ? error : expect.stringMatching(error));
  });

  test.each([
    [{ query: undefined }, "query is required: a string, svcQL that selects spans"],
    [{ limit: 1_001 }, "limit must be an integer from 1 to 1000, got 1001"],
    [{ curser: "x" }, 'unknown field "curser"; did you mean cursor?'],
    [
      { cursor: "x" },
      "cursor: expected the cursor of an earlier answer, unchanged, or none to begin with the first row",
    ],
    [{ startTime: 5, endTime: 4 }, "startTime must not be after endTime, got 5 and 4"],
  ])("with %j is refused", async (more, error) => {
    const { status, json } = await post<SpansAnswer>(server, "traces", { query: "", ...more });
    expect([status, json]).toMatchObject([400, { error }]);
  });
});

const ids = { traceId: "A".repeat(32), spanId: "b".repeat(16) };
const startTimeUnixNano = `${start}000000`;
const good = { ...ids, startTimeUnixNano };

describe("a span that is sent", () => {
  test.each([
    [{ ...ids }, "startTimeUnixNano is required: an integer, Unix time in nanoseconds"],
    [
      { ...good, startTimeUnixNano: "soon" },
      'startTimeUnixNano must be an integer, Unix time in nanoseconds, got "soon"',
    ],
    [{ spanId: ids.spanId, startTimeUnixNano }, "traceId is required: 32 hexadecimal digits"],
    [{ ...good, traceId: "abc" }, 'traceId must be 32 hexadecimal digits, got "abc"'],
    [{ ...good, traceId: "g".repeat(32) }, `traceId must be 32 hexadecimal digits, got "${"g".repeat(32)}"`],
    [{ ...good, traceId: "0".repeat(32) }, "traceId must not be all zeros"],
    [{ ...good, spanId: 5 }, "spanId must be 16 hexadecimal digits, got 5"],
    [{ ...good, spanId: "0".repeat(16) }, "spanId must not be all zeros"],
    [{ ...good, parentSpanId: "x" }, 'parentSpanId must be 16 hexadecimal digits, got "x"'],
    [
      { ...good, kind: "sever" },
      `kind must be one of internal, server, client, producer, consumer (or OpenTelemetry's name or number of it), got "sever"`,
    ],
    [
      { ...good, kind: 6 },
      "kind must be one of internal, server, client, producer, consumer (or OpenTelemetry's name or number of it), got 6",
    ],
    [
      { ...good, statusCode: {} },
      "statusCode must be one of unset, ok, error (or OpenTelemetry's name or number of it), got an object",
    ],
    [
      { ...good, endTimeUnixNano: "1" },
      `endTimeUnixNano "1" is before startTimeUnixNano "${startTimeUnixNano}"`,
    ],
    [
      { ...good, endTimeUnixNano: [] },
      "endTimeUnixNano must be an integer, Unix time in nanoseconds, got an array",
    ],
    [{ ...good, attributes: [] }, "attributes must be a JSON object, got an array"],
    [{ ...good, startTimeUnixNano: "-5" }, "the time is before 1970-01-01, the earliest that can be stored"],
    [5, "a row must be a JSON object, got 5"],
  ])("%j is refused", async (row, reason) => {
    const body = `\n${JSON.stringify(row)}\n`;
    const { status, json } = await ingest(server, body, {}, "spans");
    expect([status, json.errors]).toEqual([400, [{ line: 2, reason }]]);
  });

  test("has its ids in lower case, OpenTelemetry's words and numbers as words, and its own attributes under names of their own", async () => {
    const own = await startServer();
    const rows = [
      { ...good, kind: "SPAN_KIND_SERVER", statusCode: "STATUS_CODE_ERROR", parentSpanId: "0".repeat(16) },
      { ...good, kind: 3, statusCode: 1, endTimeUnixNano: Number(startTimeUnixNano) },
      {
        ...good,
        kind: "unspecified",
        attributes: { name: "mine", duration_ms: 5, http: { status: 200 } },
        name: "its",
        events: [{ a: 1 }],
        links: [],
      },
    ];
    await ingest(own, lines(rows), {}, "spans");
    const { json } = await post<SpansAnswer>(own, "traces", { query: "" });
    const bare = { traceId: "a".repeat(32), spanId: ids.spanId, parentSpanId: "", startTimeUnixNano };
    const ended = { endTimeUnixNano: startTimeUnixNano, durationMs: 0 };
    expect(json.spans).toEqual([
      { ...bare, name: "", kind: "server", statusCode: "error", attributes: {} },
      { ...bare, ...ended, name: "", kind: "client", statusCode: "ok", attributes: {} },
      {
        ...bare,
        name: "its",
        attributes: {
          "attributes.name": "mine",
          "attributes.duration_ms": "5",
          "http.status": "200",
          events: '[{"a":1}]',
          links: "[]",
        },
      },
    ]);
    const named = await post<SpansAnswer>(own, "traces", { query: '{attributes.name="mine", name="its"}' });
    expect(named.json.count).toBe(1);
    await own.stop();
  });

  test("is taken once under one key, which is another for logs, and counted by signal", async () => {
    const own = await startServer();
    const key = { "Idempotency-Key": "k" };
    const send = async (what: string, headers = key as Record<string, string>, row: object = good) =>
      (await ingest(own, lines([row]), headers, what)).json.duplicate;
    expect([
      await send("spans"),
      await send("spans"),
      await send("logs", key, { message: "a log" }),
      await send("spans", {}),
      await send("spans", {}),
    ]).toEqual([false, true, false, false, true]);
    const { text } = await call(own, "/metrics");
    expect(text).toContain('svc_ingest_rows_total{signal="traces"} 2\n');
    expect(text).toContain('svc_ingest_rows_total{signal="logs"} 1\n');
    await own.stop();
  });
});

describe("a trace", () => {
  test("comes whole, with its logs", async () => {
    const traceId = hex(5, 32);
    const own = spans.filter((span) => span.traceId === traceId);
    const log = (message: string, attributes: Record<string, string>) => ({
      timestamp: start,
      log_level: "info",
      message,
      attributes,
    });
    const logs = [
      log("of a span", { trace_id: traceId, span_id: own[2]!.spanId }),
      log("of none", { trace_id: traceId }),
      log("of another", { trace_id: hex(6, 32) }),
    ];
    await ingest(server, lines(logs));
    const { status, json } = await call(server, `/api/v1/traces/${traceId.toUpperCase()}`);
    expect(status).toBe(200);
    const inOrder = newestFirst([...own].reverse()).reverse();
    const [root] = own;
    const ends = own.map((span) => BigInt(span.endTimeUnixNano!));
    const first = BigInt(inOrder[0]!.startTimeUnixNano);
    const last = ends.reduce((a, b) => (a > b ? a : b));
    expect(json).toEqual({
      traceId,
      startTime: Number(first / 1_000_000n),
      durationMs: Number(last - first) / 1e6,
      spans: 7,
      services: [...new Set(inOrder.map(({ attributes }) => attributes["service.name"]))],
      roots: [
        {
          ...root,
          logs: [],
          children: inOrder
            .filter((span) => span !== root)
            .map((span) => ({ ...span, logs: span === own[2] ? [logs[0]] : [], children: [] })),
        },
      ],
      logs: [logs[1]],
    });
  });

  test("without some of its spans has orphans for roots", async () => {
    const orphan = { ...good, traceId: "c".repeat(32), parentSpanId: "d".repeat(16) };
    await ingest(server, lines([orphan]), {}, "spans");
    const { json } = await call<{ roots: unknown[] }>(server, `/api/v1/traces/${orphan.traceId}`);
    expect(json.roots).toMatchObject([{ spanId: good.spanId, orphan: true, children: [] }]);
  });

  const none = "e".repeat(32);
  test.each([
    [none, 404, `there is no trace ${none} in this range of time`],
    [`${hex(5, 32)}?startTime=0&endTime=5`, 404, `there is no trace ${hex(5, 32)} in this range of time`],
    ["xyz", 400, 'traceId must be 32 hexadecimal digits (or 16), got "xyz"'],
    [`${none}?startime=5`, 400, 'unknown query parameter "startime"; did you mean startTime?'],
    [`${none}?startTime=now`, 400, 'startTime must be an integer, Unix time in milliseconds, got "now"'],
    [
      `${none}?endTime=9999999999999999`,
      400,
      'endTime must be an integer, Unix time in milliseconds, got "9999999999999999"',
    ],
    [`${none}?startTime=5&endTime=4`, 400, "startTime must not be after endTime, got 5 and 4"],
  ])("%s: %i", async (address, status, error) => {
    const got = await call(server, `/api/v1/traces/${address}`);
    expect([got.status, got.json]).toMatchObject([status, { error }]);
  });
});
