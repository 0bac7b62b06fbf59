/** `svc query`, `token` and `verify` against a running server. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import type { Entry } from "../running.ts";
import { call, ingest, lines } from "../running.ts";
import { dir, rows, server, start, svc } from "./command-setting.ts";
import { runSvc } from "./program.ts";

describe("svc query", () => {
  const entry = (changes: Partial<Entry>): Entry => ({
    timestamp: start,
    log_level: "info",
    message: "m",
    attributes: { "service.name": "/k8s/shop/cart" },
    ...changes,
  });
  const from = ["--from", "2026-01-01"];

  test("prints time, level, service and message, newest first, further lines indented", async () => {
    await ingest(
      server,
      lines([
        entry({ message: "first" }),
        entry({ timestamp: start + 1, log_level: "ERROR", message: "boom\n  at a\r\n  at b\n" }),
      ]),
    );
    const { code, out, err } = await svc("query", ...from);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toBe(
      "2026-01-29T08:42:00.001Z ERROR /k8s/shop/cart boom\n      at a\n      at b\n" +
        "2026-01-29T08:42:00.000Z info  /k8s/shop/cart first\n",
    );
  });

  test("a server that stays silent is given up after --timeout", async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const { code, err } = await runSvc(["query", "--url", url, "--timeout", "300ms"]);
    silent.closeAllConnections();
    silent.close();
    const problem = `svc: cannot talk to ${url}: no answer for 0.3 s (--timeout lets it take longer)\n`;
    expect([code, err]).toEqual([1, problem]);
  });

  test("a row without level and service has dashes", async () => {
    await ingest(server, lines([{ timestamp: start, message: "bare" }]));
    expect((await svc("query", ...from)).out).toBe("2026-01-29T08:42:00.000Z -     - bare\n");
  });

  test("--json prints what the API gives, one object a line", async () => {
    const row = entry({
      message: "a\tb\n\u001b[31m\u009b\u202e",
      attributes: { "service.name": "s", k: "\u0000" },
    });
    await ingest(server, lines([row]));
    const { out } = await svc("query", ...from, "--json");
    expect(JSON.parse(out)).toEqual(row);
    expect(out).toMatch(/^[\x20-\x7e]+\n$/);
  });

  test("control characters of a log do not reach the terminal", async () => {
    const hostile = "\u001b]0;title\u0007\u001b[2J\u009b31m\r\u0008\u202eback\u2066 \u007f\u0000";
    await ingest(
      server,
      lines([
        entry({ message: hostile, log_level: "\u001b[1m", attributes: { "service.name": "\u001b[5mx\n" } }),
      ]),
    );
    const { out } = await svc("query", ...from);
    expect(out).toBe(
      "2026-01-29T08:42:00.000Z \\x1b[1m \\x1b[5mx\\x0a \\x1b]0;title\\x07\\x1b[2J\\x9b31m\\x0d\\x08\\u202eback\\u2066 \\x7f\\x00\n",
    );
  });

  test("--limit beyond a page goes on after it", async () => {
    await ingest(server, lines(rows(2_500)));
    const { out } = await svc("query", ...from, "--limit", "2222");
    const printed = out.trim().split("\n");
    expect(printed).toHaveLength(2_222);
    expect(new Set(printed).size).toBe(2_222);
    expect(printed[0]).toContain("row 2499");
  });

  test.each([
    [
      ["--from", "2026-01-29T08:42:00.001Z", "--to", "2026-01-29T08:42:00.002Z"],
      ["row 2", "row 1"],
    ],
    [["--from", "2026-01-29T09:42:00.001+01:00", "--to", "2026-01-29 08:42:00.001"], ["row 1"]],
    [
      ["--from", String(start + 2), "--to", "2026-01-30"],
      ["row 3", "row 2"],
    ],
    [["--from", "-1h"], []],
    [["--from=-40y", "--to=-1m", "--limit=1"], ["row 3"]],
  ])("times: %j", async (words, messages) => {
    await ingest(server, lines(rows(4)));
    const { out } = await svc("query", "row", ...words);
    expect(
      out
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => line.split(" - ")[1]),
    ).toEqual(messages);
  });

  test("a time zone is that of the printed times, and of those in flags", async () => {
    await ingest(server, lines(rows(3)));
    const range = ["--from", "2026-01-29 09:42:00.001", "--to", "2026-01-29T09:42:00.001"];
    const { out, err } = await svc("query", ...range, "--zone", "Europe/Berlin");
    expect([out, err]).toEqual(["2026-01-29T09:42:00.001+01:00 info  - row 1\n", ""]);
    const inUtc = await svc("query", "--to", "2026-01-29T08:42", "--zone", "Europe/Berlin", "--utc");
    expect([inUtc.out, inUtc.err]).toEqual(["2026-01-29T08:42:00.000Z info  - row 0\n", ""]);
  });

  test("where nothing is found, it says from when to when there is something", async () => {
    await ingest(server, lines(rows(3)));
    const elsewhere = await svc("query", "--to", "2026-01-29T08:00", "row -0");
    expect([elsewhere.code, elsewhere.out, elsewhere.err]).toEqual([
      0,
      "",
      "svc: found nothing from 2026-01-29T07:00:00.000Z to 2026-01-29T08:00:00.000Z, but there is from 2026-01-29T08:42:00.001Z to 2026-01-29T08:42:00.002Z\n",
    ]);
    const nowhere = await svc("query", ...from, "column");
    expect(nowhere.err).toMatch(
      /^svc: found nothing from 2026-01-01T.*, nor at any other time; what is stored is from 2026-01-29T08:42:00.000Z to 2026-01-29T08:42:00.002Z\n$/,
    );
  });

  test("the error of a query is printed with its caret", async () => {
    const { code, out, err } = await svc("query", "{service.name=}");
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^svc: expected .*\n {2}\{service\.name=\}\n {16}\^\n$/);
  });

  test("warnings go to standard error", async () => {
    await ingest(server, lines([entry({ timestamp: Date.now() })]));
    const { code, out, err } = await svc("query", '{servce.name="x"}');
    expect([code, out]).toEqual([0, ""]);
    expect(err).toMatch(/^warning: .*service\.name/);
  });

  test.each([
    [["a", "b"], "query takes one query, got 2: put it in single quotes"],
    [
      ["--from", "yesterday"],
      '--from must be a time such as -1h, now, 2026-01-29, 2026-01-29T08:42:00Z or Unix milliseconds, got "yesterday"',
    ],
    [["--from", "2026-13-01"], "--from must be a time such as"],
    [
      ["--from", "2026-01-30", "--to", "2026-01-29"],
      "--from must not be after --to, got 2026-01-30T00:00:00.000Z and 2026-01-29T00:00:00.000Z",
    ],
    [
      ["--zone", "Mars"],
      '--zone must be the IANA name of a time zone such as Europe/Berlin, UTC or local, got "Mars"',
    ],
    [["--limit", "0"], '--limit must be an integer from 1 to 10000000, got "0"'],
    [["--form", "-1h"], "unknown flag --form; did you mean --from?"],
  ])("%j is refused", async (words, error) => {
    const { code, err } = await svc("query", ...words);
    expect(code).toBe(2);
    expect(err).toContain(error);
  });
});

describe("svc query of spans and series", () => {
  const span = (number: number, changes: object = {}) => ({
    traceId: `${number + 1}`.padStart(32, "0"),
    spanId: `${number + 1}`.padStart(16, "0"),
    name: "GET /cart",
    startTimeUnixNano: `${start + number * 1000}000000`,
    endTimeUnixNano: `${start + number * 1000 + 12}500000`,
    attributes: { "service.name": "/k8s/shop/web" },
    ...changes,
  });
  const ingestSpans = (spans: object[]) =>
    call(server, "/api/v1/ingest/spans", {
      token: server.adminToken,
      headers: { "Content-Type": "application/x-ndjson" },
      body: lines(spans),
    });
  const range = ["--from", "2026-01-29T08:42:00Z", "--to", "2026-01-29T08:42:07Z"];

  test("prints a span's start, duration, service, name, status and trace", async () => {
    const failed = span(1, { name: "pay\n", statusCode: "error", statusMessage: "no \u001b[31mmoney" });
    await ingestSpans([span(0), failed]);
    const { code, out } = await svc("query", ...range, "traces");
    expect(code).toBe(0);
    expect(out).toBe(
      "2026-01-29T08:42:01.000Z    12.5 ms /k8s/shop/web pay\\x0a error: no \\x1b[31mmoney 00000000000000000000000000000002\n" +
        "2026-01-29T08:42:00.000Z    12.5 ms /k8s/shop/web GET /cart 00000000000000000000000000000001\n",
    );
    const listed = await svc("query", ...range, "--json", 'count(traces{status_code="error"})');
    expect(JSON.parse(listed.out)).toMatchObject({ name: "pay\n", statusCode: "error", durationMs: 12.5 });
  });

  test("draws a line for each series, blank where it has no point", async () => {
    const seconds = [0, 0, 0, 0, 2, 2, 7];
    await ingestSpans(
      seconds.map((second, i) => span(i, { ...span(second), spanId: `${i + 1}`.padStart(16, "0") })),
    );
    const { code, out, err } = await svc("query", ...range, "--bucket", "1s", "count(traces) by (name)");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toBe("          min  max  last\n█ ▅    ▃    1    4     1  name=GET /cart\n╵08:42:00\n");
    const none = await svc(
      "query",
      "--from=-1m",
      "--zone",
      "Asia/Kolkata",
      'count(traces{name="GET /cart"}) by (name)',
    );
    expect([none.code, none.out]).toEqual([0, ""]);
    expect(none.err).toMatch(
      /^svc: found no points from .*\+05:30 to .*\+05:30, but there is from 2026-01-29T14:12:00.* to 2026-01-29T14:12:0/,
    );
    const asJson = await svc("query", ...range, "--bucket", "1s", "--json", "count(traces)");
    expect(JSON.parse(asJson.out)).toEqual({
      labels: {},
      points: [
        [start, 4],
        [start + 2000, 2],
        [start + 7000, 1],
      ],
    });
  });

  test("--explain prints the plan and what it read, of rows and of series", async () => {
    await ingestSpans([span(0), span(1)]);
    const series = await svc("query", ...range, "--explain", 'count(traces{a!="b"}) by (name) / 2');
    expect(series.out.replace(/[\d.]+ ms/g, "N ms").replace(/[\d,]+ bytes that/, "N bytes that")).toBe(
      [
        "series",
        "└─ /                   2 points of 1 series, N ms",
        "   ├─ count of scan 0  2 points of 1 series, N ms",
        "   └─ 2",
        "scan 0  traces by (name)",
        '   where    a != "b"',
        "   read     2 rows in 1 chunk, N bytes that were not at hand; skipped 0 rows in 0 chunks, 0 bytes; N ms",
        "",
      ].join("\n"),
    );
    const logs = await svc("query", ...range, "--explain", "refused -debug");
    expect(logs.out).toMatch(
      /^scan 0 {2}logs\n {3}where {4}message has "refused" in any case and message lacks "debug" in any case\n {3}read/,
    );
  });

  test("a bucket that is no whole seconds is refused", async () => {
    const { code, err } = await svc("query", "--bucket", "1500ms", "count(logs)");
    expect([code, err]).toEqual([2, expect.stringContaining("whole seconds, such as 30s or 5m")]);
  });
});

describe("svc token", () => {
  test("create prints the token alone, list shows it, revoke ends it", async () => {
    const made = await svc("token", "create", "--role", "viewer", "--name", "ops", "--expires", "30d");
    expect(made.code).toBe(0);
    const token = made.out.trim();
    expect(token).toMatch(/^svc_[0-9a-f]{12}_[\w-]{43}$/);
    expect((await call(server, "/metrics", { token })).status).toBe(200);
    const id = token.slice(4, 16);
    expect((await svc("token", "list")).out).toMatch(
      new RegExp(`^${id} {2}viewer {2}made .* {2}expires .* {2}ops$`, "m"),
    );
    expect((await svc("token", "revoke", id)).code).toBe(0);
    expect((await call(server, "/metrics", { token })).status).toBe(401);
    const again = await svc("token", "revoke", id);
    expect([again.code, again.err]).toEqual([1, `svc: there is no token of id "${id}"\n`]);
  });

  test("create bounds what a token may send, list shows the bounds", async () => {
    const bounds = ["--rows-per-second", "5000", "--bytes-per-second", "none"];
    const made = await svc("token", "create", "--role", "ingest", "--name", "shop", ...bounds, "--json");
    expect(JSON.parse(made.out)).toMatchObject({ rowsPerSecond: 5000, bytesPerSecond: null });
    expect((await svc("token", "list")).out).toMatch(/never expires, 5,000 rows\/s, any bytes\/s {2}shop$/m);
  });

  test.each([
    [["create", "--role", "ingest", "--rows-per-second", "0"], 2, "--rows-per-second must be"],
    [["create"], 2, "--role is required: one of admin, editor, viewer, ingest"],
    [
      ["create", "--role", "viewr"],
      2,
      '--role must be one of admin, editor, viewer, ingest; did you mean viewer?, got "viewr"',
    ],
    [["creat"], 2, "token takes create, list or revoke; did you mean create?"],
    [[], 2, "token takes create, list or revoke"],
    [["revoke"], 2, "revoke takes the id of a token"],
    [["list", "--token", "x"], 1, "the token is unknown, expired or revoked"],
  ])("%j is refused", async (words, code, error) => {
    const got = await runSvc(["token", "--url", server.url, "--data", server.dir, ...words]);
    expect(got.code).toBe(code);
    expect(got.err).toContain(error);
    expect(got.err).not.toContain('"x"');
  });

  test("the admin-token file is not sent to other machines", async () => {
    const seen: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(401).end('{"error":"a token is needed"}');
    });
    await new Promise<void>((resolve) => other.listen(0, "0.0.0.0", resolve));
    const { port } = other.address() as AddressInfo;
    const ownAddress = `http://0.0.0.0:${port}`;
    const got = await runSvc(["token", "list", "--url", ownAddress, "--data", server.dir]);
    expect(seen).toEqual([undefined]);
    expect(got.err).toContain(
      "give one with --token or SVC_TOKEN, or name the server's data folder with --data",
    );
    other.close();
  });
});

describe("svc verify", () => {
  test("reads a folder that a server has open, and says what it found", async () => {
    await ingest(server, lines(rows(5_000)));
    await server.service.store.seal();
    const { code, out } = await runSvc(["verify", "--data", server.dir]);
    expect(out).toMatch(/^5000 rows in \d+ chunks, 0 not sealed yet, \d+ bytes read: no damage\n$/);
    expect(code).toBe(0);
  });

  test("a folder that is none is said to be none", async () => {
    const { code, err } = await runSvc(["verify", "--data", dir]);
    expect(code).toBe(1);
    expect(err).toContain("is no data folder of svc");
  });
});

describe("svc stats", () => {
  test("counts rows and bytes of each column of a folder that a server has open", async () => {
    const sent = rows(3_000).map((row, i) => ({
      ...row,
      attributes: { "service.name": `s${i % 3}`, ...(i % 2 === 0 ? { even: String(i) } : {}) },
    }));
    await ingest(server, lines(sent));
    await server.service.store.seal();
    const { code, out } = await runSvc(["stats", "--data", server.dir]);
    expect(code).toBe(0);
    expect(out).toMatch(/^3,000 rows in 1 chunks of 1 days, 0 not sealed yet: /);
    expect(out).toMatch(/^service\.name +dictionary +3,000 /m);
    expect(out).toMatch(/^even +integer +1,500 /m);

    const [json] = JSON.parse((await runSvc(["stats", "--data", server.dir, "--json"])).out);
    expect(json.signal).toBe("logs");
    const stored = json.columns.reduce(
      (sum: number, column: { storedBytes: number }) => sum + column.storedBytes,
      0,
    );
    expect(stored).toBeGreaterThan(3_000);
    expect(stored).toBeLessThan(server.service.store.stats().bytes);
    expect(json.allocatedBytes).toBeGreaterThanOrEqual(server.service.store.stats().bytes);
  });

  test("has a section for each signal that rows were sealed of", async () => {
    const { store } = server.service;
    const spans = Array.from({ length: 40 }, (_, i) => ({
      timeNs: BigInt(start + i) * 1_000_000n,
      level: "",
      message: "",
      attributes: { name: `GET /cart/${i}`, duration_ms: String(i / 8) },
    }));
    await ingest(server, lines(rows(30)));
    await store.append("traces", spans);
    await store.seal();
    const { code, out } = await runSvc(["stats", "--data", server.dir]);
    expect(code).toBe(0);
    const [logs, traces, ...others] = out.split(/^(?=\w+: )/m);
    expect(others).toEqual([]);
    expect(logs).toMatch(/^logs: 30 rows in 1 chunks of 1 days, 0 not sealed yet: /);
    expect(logs).not.toMatch(/^duration_ms /m);
    expect(traces).toMatch(/^traces: 40 rows in 1 chunks of 1 days, 0 not sealed yet: /);
    expect(traces).toMatch(/^duration_ms +float +40 /m);
    // The gauges are counted anew after a second.
    for (const [signal, stored] of Object.entries({ logs: 30, traces: 40, profiles: 0 })) {
      await expect
        .poll(async () => (await call(server, "/metrics")).text, { timeout: 10_000 })
        .toContain(`svc_store_rows{signal="${signal}"} ${stored}\n`);
    }
  });
});
