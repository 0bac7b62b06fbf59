import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Report } from "../../bench/report.ts";

const main = new URL("../../bench/main.ts", import.meta.url).pathname;
const run = promisify(execFile);

describe("the benchmark, on a few rows", () => {
  let dir = "";
  let table = "";
  let report: Report;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "svc-bench-"));
    const json = join(dir, "report.json");
    const { stdout } = await run(process.execPath, [
      main,
      "--rows",
      "5_000",
      "--json",
      json,
      "--data",
      join(dir, "data"),
    ]);
    table = stdout;
    report = JSON.parse(await readFile(json, "utf8"));
  }, 120_000);
  afterAll(() => rm(dir, { recursive: true }));

  test("times five kinds of query and seven ways in", () => {
    expect(report.queries.map(({ kind }) => kind)).toEqual(["rare", "common", "regex", "service", "trace"]);
    expect(report.loads.map(({ name, batchRows }) => `${name} ${batchRows}`)).toEqual([
      "library, encodeBatch 1000",
      "library, append 1000",
      "library, encodeBatch 10000",
      "library, append 10000",
      "library, from JSON lines 10000",
      "HTTP, JSON lines 1000",
      "HTTP, JSON lines 10000",
    ]);
    expect(report.store.rows).toBe(5000);
    for (const { ms } of report.queries) expect(ms.median).toBeGreaterThan(0);
  });

  test("prints what it keeps", () => {
    for (const { name } of [...report.queries, ...report.loads]) expect(table).toContain(name);
    expect(table).toContain(`Node ${process.version}`);
  });
});

test("an unknown option is refused with the usage", async () => {
  const failed = await run(process.execPath, [main, "--rwos", "5"]).catch((error) => error);
  expect(failed.code).toBe(2);
  expect(failed.stderr).toContain("Usage: npm run bench");
});
