/** journald's upload: entries in the export format, with binary fields. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { post, type Running, startServer } from "../../running.ts";
import { findRows, send } from "./rows.ts";

const dir = mkdtempSync(join(tmpdir(), "svc-journald-"));
let server: Running;
beforeAll(async () => {
  server = await startServer({ dataDir: dir });
});
afterAll(async () => {
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

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
        __CURSOR: "s=1;i=2",
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

describe("a journal that is longer than a body may be", () => {
  const entries = 24_000;
  const entryOf = (i: number) => {
    const text = Buffer.from(
      `__CURSOR=s=long;i=${i}\n__REALTIME_TIMESTAMP=${us + i}\nSYSLOG_IDENTIFIER=long\nMESSAGE=long ${i}\n`,
    );
    // Bytes that look like the end of an entry.
    return Buffer.concat([
      text,
      binaryField("PADDING", Buffer.from(`\n\n${"p".repeat(1_700)}\n\n`)),
      Buffer.from("\n"),
    ]);
  };

  /** Sends entries in chunks of a size of their own; with `breaksOff` the connection is lost before the last one. */
  async function upload(
    from: number,
    to: number,
    breaksOff = false,
  ): Promise<{ status: number; text: string }> {
    const leave = new AbortController();
    async function* chunks(): AsyncGenerator<Uint8Array> {
      let pending: Buffer[] = [];
      let bytes = 0;
      for (let i = from; i < to; i++) {
        const entry = entryOf(i);
        pending.push(entry);
        bytes += entry.length;
        if (bytes < 99_999) continue;
        const joined = Buffer.concat(pending);
        yield joined.subarray(0, 99_999);
        pending = [joined.subarray(99_999)];
        bytes = pending[0]!.length;
      }
      if (breaksOff) {
        // What was sent is stored while the upload goes on.
        await vi.waitUntil(async () => (await countLong()) > 2_000, { timeout: 60_000, interval: 50 });
        leave.abort();
      }
      yield Buffer.concat(pending);
    }
    const response = await fetch(server.url + path, {
      method: "POST",
      headers: { ...headers, Authorization: `Bearer ${server.adminToken}` },
      body: ReadableStream.from(chunks()),
      duplex: "half",
      signal: leave.signal,
    } as RequestInit);
    return { status: response.status, text: await response.text() };
  }

  const countLong = async () => {
    const range = { query: 'logs{service.name="long"}', startTime: 0, endTime: Date.now() + 1_000 };
    return (await post<{ count: number }>(server, "histogram", range)).json.count;
  };

  test("is stored as it comes in, and again nothing of it, also after a restart", {
    timeout: 120_000,
  }, async () => {
    await expect(upload(0, 9_000, true)).rejects.toThrow();
    const stored = await countLong();
    expect(stored).toBeGreaterThan(2_000);
    expect(stored).toBeLessThanOrEqual(9_000);
    expect(entryOf(0).length * entries).toBeGreaterThan(32 * 2 ** 20);
    expect(await upload(0, entries)).toEqual({ status: 202, text: "OK.\n" });
    expect(await countLong()).toBe(entries);
    await server.stop();
    server = await startServer({ dataDir: dir });
    expect((await upload(entries - 3_000, entries + 10)).status).toBe(202);
    expect(await countLong()).toBe(entries + 10);
    const [last] = await findRows(server, `logs{__CURSOR="s=long;i=${entries + 9}"}`);
    expect(last!.message).toBe(`long ${entries + 9}`);
    expect(last!.attributes.PADDING).toBe(`\n\n${"p".repeat(1_700)}\n\n`);
  });

  test("is no error where it is all known but for a wrong entry, nor where only its end is wrong", async () => {
    const wrong = "__CURSOR=s=long;i=w\n__REALTIME_TIMESTAMP=noon\nMESSAGE=wrong\n\n";
    const sendAll = (...parts: Uint8Array[]) =>
      send(server, { path, body: new Uint8Array(Buffer.concat(parts)), headers });
    const known = await sendAll(entryOf(3), entryOf(4), Buffer.from(wrong));
    expect([known.status, known.text.split(":")[0]]).toEqual([202, "1 entries were refused; entry 3"]);
    const fresh = Array.from({ length: 3_000 }, (_, i) => entryOf(60_000 + i));
    const ended = await sendAll(...fresh, Buffer.from(wrong));
    expect([ended.status, ended.text.split(":")[0]]).toEqual([202, "1 entries were refused; entry 3001"]);
  });

  test("is stored once it can be, though it was refused before", async () => {
    const entry = (text: string) =>
      `__CURSOR=s=late;i=1\n__REALTIME_TIMESTAMP=${us}\n${"K".repeat(text.length)}=${text}\nMESSAGE=late one\n\n`;
    const tooLong = await send(server, { path, body: entry("x".repeat(2_000)), headers });
    expect(tooLong.status).toBe(400);
    expect((await send(server, { path, body: entry("x"), headers })).status).toBe(202);
    expect(await findRows(server, 'logs{} |= "late one"')).toHaveLength(1);
  });

  test("is refused where an entry of it never ends", { timeout: 60_000 }, async () => {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(2n ** 40n);
    const endless = Buffer.concat([Buffer.from("BLOB\n"), length, Buffer.alloc(33 * 2 ** 20)]);
    const got = await send(server, { path, body: new Uint8Array(endless), headers });
    expect([got.status, got.text]).toEqual([
      413,
      "the body is larger than 33554432 bytes: send it in smaller parts\n",
    ]);
  });

  test("is refused where it is no journal, whatever was stored before", async () => {
    const bad = Buffer.concat([
      ...Array.from({ length: 3_000 }, (_, i) => entryOf(30_000 + i)),
      Buffer.from("nonsense\nA=b\n\n"),
    ]);
    const got = await send(server, { path, body: new Uint8Array(bad), headers });
    expect(got.status).toBe(400);
    expect(got.text).toContain('the field "nonsense"');
  });
});
