import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { utc } from "../../../server/command/flags/zone.ts";
import { formatLogLine } from "../../../server/command/output/log-line.ts";
import { escapeJson, escapeText } from "../../../server/command/output/terminal.ts";
import { ingest, lines, type Running, startServer } from "../running.ts";

const start = Date.UTC(2026, 0, 29);

test("no text, however hostile, leaves a character that drives a terminal", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(escapeText(text)).toMatch(/^[^\p{Cc}\u202a-\u202e\u2066-\u2069]*$|[\n\t]/u);
      expect(escapeText(text).replace(/[\n\t]/g, "")).not.toMatch(/\p{Cc}/u);
    }),
  );
});

test("JSON that is made safe is the same JSON", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value);
      expect(JSON.parse(escapeJson(json))).toEqual(JSON.parse(json));
      expect(escapeJson(json)).not.toMatch(/\p{Cc}/u);
    }),
  );
});

test.each([
  ["error", "\u001b[31m"],
  ["ERR", "\u001b[31m"],
  ["Warning", "\u001b[33m"],
  ["info", "\u001b[32m"],
  ["debug", "\u001b[90m"],
  ["FATAL", "\u001b[35m"],
])("%s has a colour of its own", (level, colour) => {
  const entry = { timestamp: start, log_level: level, message: "m", attributes: {} };
  const line = formatLogLine(entry, { inColour: true, zone: utc });
  expect(line).toContain(`${colour}${level}`);
});

/** Of util-linux: gives a program a terminal. */
const terminalMaker = "script";
const hasScript = process.platform === "linux" && spawnSync(terminalMaker, ["--version"]).status === 0;

describe.runIf(hasScript)("on a terminal", () => {
  let server: Running;
  beforeAll(async () => {
    server = await startServer();
    await ingest(server, lines([{ timestamp: start, log_level: "error", message: "boom" }]));
  });
  afterAll(() => server.stop());

  const program = join(import.meta.dirname, "../../../server/svc.js");
  const run = (words: string, env: Record<string, string> = {}) => {
    const command = `'${process.execPath}' '${program}' ${words} --url ${server.url} --data '${server.dir}'`;
    const { PATH } = process.env;
    const given = { ...(PATH && { PATH }), TERM: "xterm", ...env };
    return new Promise<string>((resolve) => {
      execFile(terminalMaker, ["-qec", command, "/dev/null"], { env: given }, (_error, out) => resolve(out));
    });
  };

  test("levels have colours, unless NO_COLOR is set", async () => {
    expect(await run("query --from 2026-01-01")).toContain("\u001b[31merror\u001b[0m");
    expect(await run("query --from 2026-01-01", { NO_COLOR: "1" })).toBe(
      "2026-01-29T00:00:00.000Z error - boom\r\n",
    );
  });

  test("svc ingest shows a bar with rows/s, MB/s and the time left, which is gone at the end", async () => {
    const file = join(server.dir, "rows.jsonl");
    const rows = Array.from({ length: 300_000 }, (_, i) => ({
      timestamp: start + i,
      message: `${i} ${"x".repeat(300)}`,
    }));
    writeFileSync(file, lines(rows));
    const out = await run(`ingest ${file}`);
    expect(out).toMatch(/\r\[[#-]{12}\] \d+ %, [\d,]+ rows, [\d,]+ rows\/s, [\d.]+ MB\/s, \d+ s left/);
    expect(out).toContain(`\r\u001b[K${file}: 300,000 rows taken, 0 refused`);
  });
});
