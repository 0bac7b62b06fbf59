/** journald's upload: entries in the export format, with binary fields. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Running, startServer } from "../../running.ts";
import { findRows, send } from "./rows.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const us = (Date.now() - 60_000) * 1_000;
const headers = { "Content-Type": "application/vnd.fdo.journal" };
const path = "/upload";

function binaryField(name: string, value: Buffer): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(value.length));
  return Buffer.concat([Buffer.from(`${name}\n`), length, value, Buffer.from("\n")]);
}

test("entries with fields of text, of several lines, and of other bytes", async () => {
  const first = Buffer.concat([
    Buffer.from(`__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=${us}\n__MONOTONIC_TIMESTAMP=5\n_HOSTNAME=node-1\n`),
    Buffer.from("PRIORITY=3\nSYSLOG_IDENTIFIER=sshd\n_PID=17\nEQUALS=a=b\nTWICE=one\nTWICE=two\n"),
    binaryField("MESSAGE", Buffer.from("two\nlines")),
    binaryField("COREDUMP", Buffer.from([0xff, 0, 0x0a, 0x3d])),
    Buffer.from("\n"),
  ]);
  const second = `\n__REALTIME_TIMESTAMP=${us + 1_000}\nMESSAGE=plain entry\nPRIORITY=6\n_SYSTEMD_UNIT=cron.service\n`;
  const body = new Uint8Array(Buffer.concat([first, Buffer.from(second)]));
  const got = await send(server, { path, body, headers });
  expect([got.status, got.text]).toEqual([202, "OK.\n"]);
  expect(await findRows(server, 'logs{} |~ "lines|plain entry"')).toEqual([
    {
      timestamp: Math.floor(us / 1_000),
      log_level: "err",
      message: "two\nlines",
      attributes: {
        _HOSTNAME: "node-1",
        PRIORITY: "3",
        SYSLOG_IDENTIFIER: "sshd",
        _PID: "17",
        EQUALS: "a=b",
        TWICE: '["one","two"]',
        COREDUMP: "/wAKPQ==",
        "host.name": "node-1",
        "service.name": "sshd",
      },
    },
    {
      timestamp: Math.floor(us / 1_000) + 1,
      log_level: "info",
      message: "plain entry",
      attributes: { PRIORITY: "6", _SYSTEMD_UNIT: "cron.service", "service.name": "cron.service" },
    },
  ]);
});

describe("bodies that are refused", () => {
  test.each([
    [
      "a field that is cut short",
      binaryField("MESSAGE", Buffer.from("abc")).subarray(0, -2),
      "must be NAME=value",
    ],
    ["a line that is no field", Buffer.from("nonsense\nA=b\n\n"), 'the field "nonsense" at byte 0'],
    [
      "a wrong time",
      Buffer.from("__REALTIME_TIMESTAMP=noon\nMESSAGE=x\n\n"),
      "must be Unix time in microseconds",
    ],
  ])("%s", async (_name, body, reason) => {
    const got = await send(server, { path, body: new Uint8Array(body), headers });
    expect(got.status).toBe(400);
    expect(got.text).toContain(reason);
  });
});

test("an entry that cannot be stored does not hold up the others", async () => {
  const body = `__REALTIME_TIMESTAMP=noon\nMESSAGE=bad\n\n__REALTIME_TIMESTAMP=${us}\nMESSAGE=good entry\n\n`;
  const got = await send(server, { path, body, headers });
  expect([got.status, got.text.split(";")[0]]).toEqual([202, "1 entries were refused"]);
  expect(await findRows(server, 'logs{} |= "good entry"')).toHaveLength(1);
});
