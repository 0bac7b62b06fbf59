/** systemd-journal-upload sends the entries of a journal, each once, also after the server was away. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Running, startServer } from "../../running.ts";
import { findRows } from "../protocols/rows.ts";
import { Daemons, eventually, findProgram } from "./daemons.ts";

const upload = findProgram("/lib/systemd/systemd-journal-upload");
const remote = findProgram("/lib/systemd/systemd-journal-remote");
const count = 50;

let server: Running;
const daemons = new Daemons();
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await daemons.stop();
  await server.stop();
});

const us = (Date.now() - 60_000) * 1_000;

/** Entries as `journalctl -o export` prints them. */
function exportEntries(): string {
  const entries = Array.from({ length: count }, (_, i) =>
    [
      `__REALTIME_TIMESTAMP=${us + i * 1_000}`,
      `__MONOTONIC_TIMESTAMP=${i + 1}`,
      "_BOOT_ID=0123456789abcdef0123456789abcdef",
      "_MACHINE_ID=fedcba9876543210fedcba9876543210",
      "_HOSTNAME=node-1",
      "PRIORITY=4",
      "SYSLOG_IDENTIFIER=sshd",
      `MESSAGE=entry ${i} größer`,
      "",
    ].join("\n"),
  );
  return `${entries.join("\n")}\n`;
}

// Skipped where the programs are missing: `.ci/unpack-daemons`.
describe.skipIf(upload === undefined || remote === undefined)("systemd-journal-upload", () => {
  test("sends each entry with its fields, and nothing again", async () => {
    const journal = join(daemons.dir, "journal");
    mkdirSync(journal);
    await daemons.run(remote!, [`--output=${join(journal, "remote.journal")}`, "-"], exportEntries());
    const url = `http://svc:${server.adminToken}@127.0.0.1:${server.port}`;
    const words = [`--url=${url}`, `--directory=${journal}`, `--save-state=${join(daemons.dir, "state")}`];
    // By default it waits for more.
    const following = daemons.start(upload!, words);
    const all = async () => {
      const found = await findRows(server, 'logs{} |= "größer"');
      return found.length >= count ? found : undefined;
    };
    const rows = (await eventually(all))!;
    following.kill("SIGTERM");
    expect(rows.map(({ message }) => message)).toEqual(
      Array.from({ length: count }, (_, i) => `entry ${i} größer`),
    );
    const cursor = rows[7]!.attributes.__CURSOR;
    expect(cursor).toMatch(/^s=[0-9a-f]{32};i=8;b=0123456789abcdef0123456789abcdef;m=8;/);
    expect(rows[7]).toEqual({
      timestamp: Math.floor(us / 1_000) + 7,
      log_level: "warning",
      message: "entry 7 größer",
      attributes: {
        ...{ _HOSTNAME: "node-1", "host.name": "node-1" },
        ...{ SYSLOG_IDENTIFIER: "sshd", "service.name": "sshd", PRIORITY: "4" },
        __CURSOR: cursor,
        _BOOT_ID: "0123456789abcdef0123456789abcdef",
        _MACHINE_ID: "fedcba9876543210fedcba9876543210",
      },
    });
    // It goes on after what it has sent; without its state it sends all again, which is recognised.
    await daemons.run(upload!, [...words, "--follow=no"]);
    await daemons.run(upload!, [...words.slice(0, 2), "--follow=no"]);
    expect(await findRows(server, 'logs{} |= "größer"')).toHaveLength(count);
  });
});
