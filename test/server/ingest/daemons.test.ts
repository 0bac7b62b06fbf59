/**
 * Daemons from Debian's packages as clients: Prometheus by remote write, rsyslog by syslog and by Elasticsearch's bulk
 * API.
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFreePort } from "../free-port.ts";
import type { Running } from "../running.ts";
import { call, search, startServer } from "../running.ts";

const prometheus = "/usr/bin/prometheus";
const rsyslog = "/usr/sbin/rsyslogd";
const hasBulkModule =
  existsSync(rsyslog) &&
  ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"].some((dir) =>
    existsSync(join(dir, "rsyslog/omelasticsearch.so")),
  );

let server: Running;
let dir: string;
const children: ChildProcess[] = [];
beforeAll(async () => {
  server = await startServer({ syslogAddress: { host: "127.0.0.1", port: 0 } });
  dir = mkdtempSync(join(tmpdir(), "svc-daemons-"));
});
afterAll(async () => {
  for (const child of children) {
    child.kill("SIGKILL");
    if (child.exitCode === null) await new Promise((resolve) => child.once("close", resolve));
  }
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

function start(command: string, words: readonly string[]): void {
  children.push(spawn(command, words, { cwd: dir, stdio: "ignore" }));
}

/** Calls `read` until it returns something; undefined after a minute. */
async function eventually<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
  const endMs = Date.now() + 60_000;
  while (Date.now() < endMs) {
    const value = await read();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return undefined;
}

async function pointsOf(query: string): Promise<[number, number][] | undefined> {
  const got = await call<{ series?: { points: [number, number][] }[] }>(server, "/api/v1/query/timeseries", {
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query, startTime: Date.now() - 300_000, endTime: Date.now(), bucketSize: 300 }),
  });
  return got.json.series?.[0]?.points;
}

// Skipped where the package is missing: `apt-get install prometheus`.
describe.skipIf(!existsSync(prometheus))("Prometheus", () => {
  test("sends its own metrics", async () => {
    const port = await findFreePort();
    const config = `
global: { scrape_interval: 250ms, scrape_timeout: 200ms }
scrape_configs:
  - job_name: itself
    static_configs: [{ targets: ["127.0.0.1:${port}"] }]
remote_write:
  - url: ${server.url}/api/v1/write
    authorization: { credentials: ${server.adminToken} }
    queue_config: { batch_send_deadline: 200ms }
    metadata_config: { send_interval: 500ms }
`;
    writeFileSync(join(dir, "prometheus.yml"), config);
    start(prometheus, [
      `--config.file=${join(dir, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(dir, "tsdb")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]);
    expect(await eventually(() => pointsOf('count(go_goroutines{job="itself"})'))).toBeDefined();
    const increase = await eventually(() =>
      pointsOf('sum(prometheus_tsdb_head_samples_appended_total{job="itself"})'),
    );
    expect(increase![0]![1]).toBeGreaterThan(0);
    // By its name alone this would be a gauge; metadata says that it is part of a histogram or a summary.
    const count = 'sum(increase(prometheus_http_request_duration_seconds_count{job="itself"}))';
    expect(await eventually(() => pointsOf(count))).toBeDefined();
    const refused = (await call(server, "/metrics")).text.match(/svc_ingest_refused_rows_total\{.*/g) ?? [];
    expect(refused).toEqual([]);
  });
});

function startRsyslog(name: string, actions: string): void {
  const path = join(dir, `${name}.conf`);
  writeFileSync(
    path,
    `global(workDirectory="${dir}")
module(load="imfile" PollingInterval="1")
input(type="imfile" File="${join(dir, `${name}.log`)}" Tag="${name}:" Facility="local3" Severity="warning")
${actions}
`,
  );
  writeFileSync(
    join(dir, `${name}.log`),
    Array.from({ length: 200 }, (_, i) => `${name} line ${i} größer\n`).join(""),
  );
  execFileSync(rsyslog, ["-N1", "-f", path], { stdio: "ignore" });
  start(rsyslog, ["-n", "-f", path, "-i", join(dir, `${name}.pid`)]);
}

async function foundLines(name: string): Promise<Set<string>> {
  const logs = await eventually(async () => {
    const got = await search(server, { query: `logs |= "${name} line"`, limit: 1_000 });
    return got.json.logs.length >= 200 ? got.json.logs : undefined;
  });
  return new Set(logs?.map(({ message }) => message));
}

// Skipped where the package is missing: `apt-get install rsyslog`.
describe.skipIf(!existsSync(rsyslog))("rsyslog", () => {
  test.each([
    ["plain", `template="RSYSLOG_SyslogProtocol23Format" TCP_Framing="traditional"`],
    ["counted", `template="RSYSLOG_SyslogProtocol23Format" TCP_Framing="octet-counted"`],
    ["old", `template="RSYSLOG_TraditionalForwardFormat"`],
  ])("forwards over TCP (%s)", async (name, options) => {
    const target = `target="127.0.0.1" port="${server.service.syslogPort}" protocol="tcp"`;
    startRsyslog(name, `action(type="omfwd" ${target} ${options})`);
    expect((await foundLines(name)).size).toBe(200);
    const [row] = (await search(server, { query: `logs{service.name="${name}"}`, limit: 1 })).json.logs;
    expect(row).toMatchObject({ log_level: "warning", attributes: { "syslog.facility": "local3" } });
  });

  // Skipped where the package is missing: `apt-get install rsyslog-elasticsearch`.
  test.skipIf(!hasBulkModule)("sends to Elasticsearch's bulk API", async () => {
    const { port } = server;
    const access = `server="127.0.0.1" serverport="${port}" uid="svc" pwd="${server.adminToken}"`;
    startRsyslog(
      "bulked",
      `module(load="omelasticsearch")
template(name="row" type="list" option.jsonf="on") {
  property(outname="@timestamp" name="timereported" dateFormat="rfc3339" format="jsonf")
  property(outname="host.name" name="hostname" format="jsonf")
  property(outname="severity" name="syslogseverity-text" format="jsonf")
  property(outname="message" name="msg" format="jsonf")
}
action(type="omelasticsearch" ${access} searchIndex="syslog" searchType="" bulkmode="on" template="row")`,
    );
    expect((await foundLines("bulked")).size).toBe(200);
  });
});
