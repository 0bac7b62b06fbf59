/** rsyslog sends by syslog and by Elasticsearch's bulk API. */

import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Running, search, startServer } from "../../running.ts";
import { Daemons, eventually } from "./daemons.ts";

const program = "/usr/sbin/rsyslogd";
const rsyslog = existsSync(program) ? program : undefined;
const hasBulkModule = ["x86_64-linux-gnu", "aarch64-linux-gnu"].some((machine) =>
  existsSync(`/usr/lib/${machine}/rsyslog/omelasticsearch.so`),
);

let server: Running;
const daemons = new Daemons();
beforeAll(async () => {
  server = await startServer({ syslogAddress: { host: "127.0.0.1", port: 0 } });
});
afterAll(async () => {
  await daemons.stop();
  await server.stop();
});

async function startRsyslog(name: string, actions: string): Promise<void> {
  const path = daemons.write(
    `${name}.conf`,
    `global(workDirectory="${daemons.dir}")
module(load="imfile" PollingInterval="1")
input(type="imfile" File="${join(daemons.dir, `${name}.log`)}" Tag="${name}:" Facility="local3" Severity="warning")
${actions}
`,
  );
  daemons.write(`${name}.log`, Array.from({ length: 200 }, (_, i) => `${name} line ${i} größer\n`).join(""));
  await daemons.run(rsyslog!, ["-N1", "-f", path]);
  daemons.start(rsyslog!, ["-n", "-f", path, "-i", join(daemons.dir, `${name}.pid`)]);
}

async function foundLines(name: string): Promise<Set<string>> {
  const logs = await eventually(async () => {
    const got = await search(server, { query: `logs |= "${name} line"`, limit: 1_000 });
    return got.json.logs.length >= 200 ? got.json.logs : undefined;
  });
  return new Set(logs?.map(({ message }) => message));
}

// Skipped where the package is missing: `apt-get install rsyslog`.
describe.skipIf(rsyslog === undefined)("rsyslog", () => {
  test.each([
    ["plain", `template="RSYSLOG_SyslogProtocol23Format" TCP_Framing="traditional"`],
    ["counted", `template="RSYSLOG_SyslogProtocol23Format" TCP_Framing="octet-counted"`],
    ["old", `template="RSYSLOG_TraditionalForwardFormat"`],
  ])("forwards over TCP (%s)", async (name, options) => {
    const target = `target="127.0.0.1" port="${server.service.syslogPort}" protocol="tcp"`;
    await startRsyslog(name, `action(type="omfwd" ${target} ${options})`);
    expect((await foundLines(name)).size).toBe(200);
    const { logs } = (await search(server, { query: `logs{service.name="${name}"}`, limit: 1_000 })).json;
    expect(logs).toHaveLength(200);
    const row = logs.find(({ message }) => message.startsWith(`${name} line 7 `))!;
    expect(row).toEqual({
      timestamp: expect.any(Number),
      log_level: "warning",
      message: `${name} line 7 größer`,
      attributes: {
        ...{ "service.name": name, "host.name": hostname(), "syslog.facility": "local3" },
        "syslog.severity": "warning",
      },
    });
    expect(Math.abs(row.timestamp - Date.now())).toBeLessThan(120_000);
  });

  // Skipped where the package is missing: `apt-get install rsyslog-elasticsearch`.
  test.skipIf(!hasBulkModule)("sends to Elasticsearch's bulk API", async () => {
    const { port } = server;
    const access = `server="127.0.0.1" serverport="${port}" uid="svc" pwd="${server.adminToken}"`;
    await startRsyslog(
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
    const { logs } = (await search(server, { query: `logs |= "bulked line 7 "` })).json;
    expect(logs).toEqual([
      {
        timestamp: expect.any(Number),
        log_level: "warning",
        message: "bulked line 7 größer",
        attributes: { _index: "syslog", severity: "warning", "host.name": hostname() },
      },
    ]);
  });
});
