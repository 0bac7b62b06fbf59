/** syslog-ng sends by its syslog drivers and by its driver for Elasticsearch, with their defaults. */

import { hostname } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Entry, type Running, startServer } from "../../running.ts";
import { findRows } from "../protocols/rows.ts";
import { Daemons, eventually, findProgram, inPackage } from "./daemons.ts";

const syslogNg = findProgram("/usr/sbin/syslog-ng");
const count = 200;

let server: Running;
const daemons = new Daemons();
beforeAll(async () => {
  server = await startServer({ syslogAddress: { host: "127.0.0.1", port: 0 } });
});
afterAll(async () => {
  await daemons.stop();
  await server.stop();
});

/** Reads a file of lines with a header of RFC 5424 and sends them to a destination. */
function startSyslogNg(name: string, destination: string): void {
  const modules = inPackage("/usr/lib/syslog-ng/3.38");
  const include = inPackage("/usr/share/syslog-ng/include");
  const lines = Array.from(
    { length: count },
    (_, i) =>
      `<139>1 2026-01-29T08:42:01.00${i % 10}Z node-1 ${name} 42 ID7 [a@1 b="c ä"] ${name} line ${i}\n`,
  );
  const log = daemons.write(`${name}.log`, lines.join(""));
  const config = daemons.write(
    `${name}.conf`,
    `@version: 3.38
@define include-path "${include}"
@include "scl/elasticsearch/elastic-http.conf"
source lines { file("${log}" flags(syslog-protocol) read-old-records(yes)); };
destination svc { ${destination} };
log { source(lines); destination(svc); };
`,
  );
  const own = ["persist", "pid", "ctl"].map((kind) => join(daemons.dir, `${name}.${kind}`));
  const [persist, pid, control] = own as [string, string, string];
  daemons.start(syslogNg!, [
    ...["--foreground", "--no-caps", "--stderr", `--module-path=${modules}`, `--cfgfile=${config}`],
    ...[`--persist-file=${persist}`, `--pidfile=${pid}`, `--control=${control}`],
  ]);
}

async function rowsOf(name: string): Promise<Entry[]> {
  const rows = await eventually(async () => {
    const found = await findRows(server, `logs |= "${name} line"`);
    return found.length >= count ? found : undefined;
  });
  if (rows === undefined) throw new Error(`not all rows came: ${daemons.output}`);
  return rows;
}

// Skipped where the program is missing: `.ci/unpack-daemons`.
describe.skipIf(syslogNg === undefined)("syslog-ng", () => {
  test.each([
    ["syslog-tcp", () => `syslog("127.0.0.1" port(${server.service.syslogPort}))`],
    ["syslog-udp", () => `syslog("127.0.0.1" port(${server.service.syslogPort}) transport("udp"))`],
  ])("%s", async (name, driver) => {
    startSyslogNg(name, `${driver()};`);
    const rows = await rowsOf(name);
    expect(new Set(rows.map(({ message }) => message)).size).toBe(count);
    const [row] = rows.filter(({ message }) => message === `${name} line 7`);
    expect(row).toEqual({
      // By default it sends whole seconds, its own host's name and a number.
      timestamp: Date.parse("2026-01-29T08:42:01Z"),
      log_level: "err",
      message: `${name} line 7`,
      attributes: {
        ...{ "service.name": name, "host.name": hostname(), "syslog.facility": "local1" },
        ...{ "syslog.severity": "err", "meta.sequenceId": "8" },
        ...{ "syslog.procid": "42", "syslog.msgid": "ID7", "a@1.b": "c ä" },
      },
    });
  });

  test("network-tcp, whose messages have the old header", async () => {
    startSyslogNg("network-tcp", `network("127.0.0.1" port(${server.service.syslogPort}));`);
    const rows = await rowsOf("network-tcp");
    expect(new Set(rows.map(({ message }) => message)).size).toBe(count);
    expect(rows[0]).toMatchObject({
      log_level: "err",
      attributes: { "service.name": "network-tcp", "syslog.facility": "local1", "syslog.procid": "42" },
    });
  });

  test("elasticsearch-http", async () => {
    const url = `http://svc:${server.adminToken}@127.0.0.1:${server.port}/_bulk`;
    startSyslogNg("bulked", `elasticsearch-http(url("${url}") index("messages") type(""));`);
    const rows = await rowsOf("bulked");
    expect(new Set(rows.map(({ message }) => message)).size).toBe(count);
    const [row] = rows.filter(({ message }) => message === "bulked line 7");
    expect(row).toMatchObject({
      timestamp: Date.parse("2026-01-29T08:42:01Z"),
      log_level: "err",
      attributes: {
        ...{ "service.name": "bulked", PROGRAM: "bulked", HOST: hostname(), FACILITY: "local1" },
        ...{ PID: "42", MSGID: "ID7", PRIORITY: "err", "_SDATA.a@1.b": "c ä" },
      },
    });
  });
});
