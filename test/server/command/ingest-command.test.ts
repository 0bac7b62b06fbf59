/** `svc ingest` against a running server. */

import { truncateSync } from "node:fs";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { call, lines, search } from "../running.ts";
import { countStored, dir, rows, server, svc, write } from "./command-setting.ts";
import { runSvc, startSvc } from "./program.ts";

describe("svc ingest", () => {
  const text = lines(rows(10_000));

  test.each([
    ["plain", "log.gz", text],
    ["gzip", "log.txt", gzipSync(text)],
    [
      "gzip in members",
      "log.members",
      Buffer.concat([gzipSync(text.slice(0, 5_000)), gzipSync(text.slice(5_000))]),
    ],
    ["zstd", "log", zstdCompressSync(text)],
    [
      "zstd in frames",
      "log.zst",
      Buffer.concat([zstdCompressSync(text.slice(0, 5_000)), zstdCompressSync(text.slice(5_000))]),
    ],
  ])("%s, whatever the file is called", async (_name, file, bytes) => {
    const { code, out, err } = await svc("ingest", write(file, bytes));
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(
      new RegExp(
        `^${file}: 10,000 rows taken, 0 refused in [\\d.]+ s \\([\\d,]+ rows/s, [\\d.]+ MB/s\\)\\n$`,
      ),
    );
    expect(countStored()).toBe(10_000);
  });

  test("what a file holds is recognised and said, and spans among logs are refused with the right command", async () => {
    const pino = { level: 50, time: 1_769_676_121_007, pid: 1, hostname: "h", msg: "boom" };
    const span = {
      traceId: "a".repeat(32),
      spanId: "b".repeat(16),
      startTimeUnixNano: "1769676121007000000",
    };
    const files = [
      write("pino.log", lines([pino])),
      write("app.log", "2026-01-29 08:42:01,100 ERROR [main] boom\n\tat a.b(C.java:1)\n"),
      write("spans.log", lines([span])),
    ];
    const { code, out } = await svc("ingest", ...files);
    expect(code).toBe(1);
    const said = out.split("\n").map((line) => line.replace(/ in [\d.]+ s .*/, ""));
    expect(said).toEqual([
      'pino.log: recognised as pino: time from "time" (ms), level from "level", message from "msg"',
      "pino.log: 1 rows taken, 0 refused",
      "app.log: recognised as text with dates",
      "app.log: 1 rows taken, 0 refused",
      "spans.log: 0 rows taken, 1 refused",
      "  line 1: startTimeUnixNano belongs to a span: spans go to POST /api/v1/ingest/spans (svc ingest --signal spans)",
      "",
    ]);
    const { json } = await search(server, {
      query: '{log_level="error"}',
      startTime: 1_769_676_121_000,
      endTime: 1_769_676_122_000,
    });
    expect(json.logs).toMatchObject([
      { timestamp: 1_769_676_121_100, log_level: "ERROR" },
      { timestamp: 1_769_676_121_007, log_level: "50", message: "boom" },
    ]);
  });

  test("fields that the user names", async () => {
    const row = { at: { when: 1_769_676_121 }, sev: "ERR", words: "named", msg: "another" };
    const file = write("own.log", lines([row]));
    const names = ["--time-field", "at.when", "--level-field", "sev", "--message-field", "words"];
    const { code, out } = await svc("ingest", ...names, file);
    expect([code, out]).toEqual([
      0,
      expect.stringContaining('time from "at.when" (s), level from "sev", message from "words"'),
    ]);
    const { json } = await search(server, { query: '"named"', startTime: 0, endTime: 1_769_676_122_000 });
    expect(json.logs).toMatchObject([
      { timestamp: 1_769_676_121_000, log_level: "ERR", message: "named", attributes: { msg: "another" } },
    ]);
    const wrong = await svc("ingest", "--signal", "spans", "--time-field", "x", file);
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining("--time-field")]);
  });

  test("rows of the signal that is named", async () => {
    const span = {
      traceId: "a".repeat(32),
      spanId: "b".repeat(16),
      startTimeUnixNano: "1769676121007000000",
    };
    const { code, out } = await svc("ingest", "--signal", "spans", write("spans.jsonl", lines([span])));
    expect([code, out]).toEqual([0, expect.stringMatching(/^spans\.jsonl: 1 rows taken, 0 refused/)]);
    expect(server.service.store.stats().signals.traces.rows).toBe(1);
    const wrong = await svc("ingest", "--signal", "span", "spans.jsonl");
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain("logs, spans, metrics, profiles, kubernetes_resources");
  });

  test("rows that rules leave out are counted", async () => {
    const matchExpressions = [{ key: "tier", operator: "In", values: ["noise"] }];
    const rules = [{ signals: ["logs"], action: "Exclude", match: { matchExpressions } }];
    const path = "/api/v1/ingestion-rules";
    const headers = { "Content-Type": "application/json" };
    const token = server.adminToken;
    const body = JSON.stringify({ ingestionRule: { id: "noise", rules } });
    expect((await call(server, path, { token, headers, body })).status).toBe(200);
    const tiers = ["noise", "shop", "noise"].map((tier) => ({
      timestamp: Date.now(),
      message: "x",
      attributes: { tier },
    }));
    const { code, out } = await svc("ingest", write("tiers.jsonl", lines(tiers)));
    expect((await call(server, `${path}/noise`, { method: "DELETE", token })).status).toBe(200);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^tiers\.jsonl: 1 rows taken, 2 left out by ingestion rules, 0 refused/),
    ]);
  });

  test("standard input", async () => {
    const { code, out } = await runSvc(["ingest", "-", "--url", server.url, "--data", server.dir], {
      input: gzipSync(text),
    });
    expect(code).toBe(0);
    expect(out).toContain("standard input: 10,000 rows taken, 0 refused");
    expect(countStored()).toBe(10_000);
  });

  test("standard input that trickles is sent on as it comes", async () => {
    const { child, ended } = startSvc(["ingest", "-", "--url", server.url, "--data", server.dir], {
      input: null,
    });
    child.stdin.write('{"message":"first"}\n{"message":"sec');
    await expect.poll(countStored, { timeout: 20_000 }).toBe(1);
    child.stdin.end('ond"}\n');
    expect(await ended).toMatchObject({ code: 0, out: expect.stringContaining("2 rows taken, 0 refused") });
    expect(countStored()).toBe(2);
  });

  test("a file that is sent again adds nothing, also where its rows have no time", async () => {
    const file = write("untimed", '{"message":"a"}\n{"message":"b"}\n');
    await svc("ingest", file);
    const { code, out } = await svc("ingest", file);
    expect(code).toBe(0);
    expect(out).toContain("0 rows taken, 2 were there already, 0 refused");
    expect(countStored()).toBe(2);
  });

  test.each([false, true])(
    "Ctrl-C ends it while standard input is silent, --direct: %s",
    async (isDirect) => {
      const to = isDirect
        ? ["--direct", "--data", join(dir, "silent")]
        : ["--url", server.url, "--data", server.dir];
      const { child, printed, ended } = startSvc(["ingest", "-", ...to], { cwd: dir, input: null });
      onTestFinished(() => void child.kill("SIGKILL"));
      const form = "standard input: recognised as";
      child.stdin.write('{"ts":1763000000,"level":"info","msg":"row"}\n');
      await printed(form);
      child.kill("SIGINT");
      const { code, out, err } = await ended;
      expect([code, err]).toEqual([130, ""]);
      expect(out).toMatch(/standard input: [01] rows taken, 0 refused/);
    },
  );

  test("standard input that is sent again is new", async () => {
    const send = () =>
      runSvc(["ingest", "-", "--url", server.url, "--data", server.dir], { input: '{"message":"a"}\n' });
    await send();
    await send();
    expect(countStored()).toBe(2);
  });

  test("refused rows are counted, the first named by the line of the file, and the exit code is 1", async () => {
    const bad = new Set([3, 9_999, 10_002]);
    const body = rows(10_005).map((row, i) =>
      bad.has(i + 1) ? "oops\n" : `${JSON.stringify({ ...row, pad: "x".repeat(500) })}\n`,
    );
    const { code, out } = await svc("ingest", write("bad", body.join("")));
    expect(code).toBe(1);
    expect(out).toContain("bad: 10,002 rows taken, 3 refused");
    const reason = `not JSON: Unexpected token 'o', "oops" is not valid JSON`;
    expect(out.split("\n").slice(1)).toEqual([...bad].map((line) => `  line ${line}: ${reason}`).concat(""));
  });

  test("a file in which nothing is good is told from a server that fails", async () => {
    const { code, out } = await svc("ingest", write("worse", "{a\n{b\n".repeat(20)));
    expect(code).toBe(1);
    expect(out).toContain("worse: 0 rows taken, 40 refused");
    expect(out).toMatch(/\n {2}line 10: .*\n {2}and 30 more\n$/);
  });

  test("a line that is too long is left out, the lines around it are taken with their numbers", async () => {
    const long = `{"message":"${"x".repeat(20_000_000)}"}\n`;
    const { out } = await svc("ingest", write("long", `${lines(rows(2))}${long}${lines(rows(2, 2))}oops\n`));
    expect(out).toContain("4 rows taken, 2 refused");
    expect(out).toContain("  line 3: longer than 16,777,216 bytes\n  line 6: not JSON");
  });

  test.each([
    ["gzip", gzipSync(lines(rows(50_000)))],
    ["zstd", zstdCompressSync(lines(rows(50_000)))],
  ])("%s that was cut short is an error, what came before is kept", async (name, bytes) => {
    const file = write(`cut.${name}`, bytes);
    truncateSync(join(dir, file), bytes.length - 10);
    const { code, err } = await svc("ingest", file);
    expect(code).toBe(1);
    expect(err).toMatch(
      /cut\.\w+: stopped after [\d,]+ rows: cut\.\w+ cannot be read to its end: unexpected end of file/,
    );
  });

  test("several files, one after the other", async () => {
    const { code, out } = await svc("ingest", write("one", lines(rows(5))), write("two", lines(rows(7, 5))));
    expect(code).toBe(0);
    expect(out).toMatch(/^one: 5 rows taken.*\ntwo: 7 rows taken.*\n$/);
    expect(countStored()).toBe(12);
  });

  test.each([
    ["no file", [], 2, "ingest takes one or more files, or - for standard input"],
    ["a missing file", ["none"], 1, "there is no file none"],
    ["a folder", ["."], 1, ". is a folder: name its files"],
    [
      "no server",
      ["one", "--url", "http://127.0.0.1:1"],
      1,
      "nothing listens on http://127.0.0.1:1: start the server with `svc serve`",
    ],
    ["a wrong token", ["one", "--token", "x"], 1, "the token is unknown, expired or revoked"],
  ])("%s is said in one sentence", async (_name, words, code, error) => {
    write("one", lines(rows(5)));
    const got = await runSvc(["ingest", "--url", server.url, "--data", server.dir, ...words], { cwd: dir });
    expect(got.code).toBe(code);
    expect(got.err).toContain(error);
    expect(got.err.trim().split("\n")).toHaveLength(1);
  });
});
