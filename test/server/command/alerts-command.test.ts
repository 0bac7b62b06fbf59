import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseValues } from "../../../server/alerts/alert-file.ts";
import { ingest, lines, type Running, startServer } from "../running.ts";
import { runSvc } from "./program.ts";

let dir: string;
let server: Running;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-alerts-"));
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  rmSync(dir, { recursive: true });
});

function file(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

const alert = `
alert:
  metadata: { name: errors }
  timeseries:
    expression: { svcQLTimeseries: { query: 'count(logs{log_level="error"}) by (service.name)', bucketSize: 60 } }
    evaluationRules:
      - name: many
        static:
          operators: [{ operator: greaterThan, threshold: 2 }]
          persistenceSettings: { datapointsToAlarm: 2, datapointsInEvaluationWindow: 3, missingDatapointBehavior: missing }
`;

test("values are written as in Prometheus' unit tests", () => {
  expect(parseValues("0 1x3 _ _x2 2+1.5x2 5-1x1 -3", "values")).toEqual([
    0,
    1,
    1,
    1,
    1,
    null,
    null,
    null,
    2,
    3.5,
    5,
    5,
    4,
    -3,
  ]);
  expect(() => parseValues("1 two", "tests[0].values")).toThrow(
    'tests[0].values must be values such as "0 1x3 _ 2+1x5", got "two"',
  );
});

test("unit tests of alerts pass and fail, and say where", async () => {
  const tests = `${alert}
tests:
  - name: two of three
    input:
      - labels: { service.name: cart }
        values: 0 5 5 0x2 _x6
    expect:
      - { at: 2m, state: ok }
      - at: 3m
        state: firing
        instances: [{ labels: { service.name: cart }, state: firing }]
      - { at: 5m, state: ok }
      - { at: 11m, state: noData }
`;
  const good = await runSvc(["alerts", "test", file("good.yaml", tests)]);
  expect([good.code, good.out]).toEqual([0, "ok   two of three\n1 tests, 0 failed\n"]);
  const bad = await runSvc([
    "alerts",
    "test",
    file("bad.yaml", tests.replace("at: 2m, state: ok", "at: 2m, state: firing")),
  ]);
  expect([bad.code, bad.out]).toEqual([
    1,
    "FAIL two of three\n     at 2m the alert is ok, not firing\n1 tests, 1 failed\n",
  ]);
  const wrong = await runSvc([
    "alerts",
    "test",
    file("wrong.yaml", tests.replace("threshold: 2", "treshold: 2")),
  ]);
  expect(wrong.code).toBe(1);
  expect(wrong.err).toContain("alert.timeseries.evaluationRules[0].static.operators[0].treshold");
  expect((await runSvc(["alerts", "test"])).code).toBe(2);
});

test("a replay prints the transitions that there would have been", async () => {
  const startMs = Date.UTC(2026, 0, 10, 12);
  const counts = [1, 4, 4, 1, 1];
  const rows = counts.flatMap((count, bucket) =>
    Array.from({ length: count }, (_, i) => ({
      timestamp: startMs + bucket * 60_000 + i,
      log_level: "error",
      message: "failed",
      attributes: { "service.name": "cart" },
    })),
  );
  await ingest(server, lines(rows));
  const args = [
    "--from",
    String(startMs),
    "--to",
    String(startMs + 300_000),
    "--url",
    server.url,
    "--token",
    server.adminToken,
  ];
  const { code, out, err } = await runSvc(["alerts", "replay", file("alert.yaml", alert), ...args]);
  expect(err).toBe("");
  expect(out.split("\n")).toEqual([
    "2026-01-10T12:03:00.000Z ok → firing  many service.name=cart  4  (2 of 3 points breach; 2 of 3 are needed)",
    "2026-01-10T12:05:00.000Z firing → ok  many service.name=cart  1  (1 of 3 points breach; 2 of 3 are needed)",
    "2 transitions",
    "",
  ]);
  expect(code).toBe(0);
});
