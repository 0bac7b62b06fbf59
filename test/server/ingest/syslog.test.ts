/** Syslog over TCP and UDP: which rows messages become, and that none is lost between packets. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SyslogFrames } from "../../../server/ingest/syslog/frames.ts";
import type { Entry, Running } from "../running.ts";
import { search, startServer } from "../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer({ syslogAddress: { host: "127.0.0.1", port: 0 } });
});
afterAll(() => server.stop());

/** The rows that `query` finds, once there are `count` of them. */
async function found(query: string, count: number): Promise<Entry[]> {
  for (let tries = 0; ; tries++) {
    const { logs } = (await search(server, { query, limit: 1_000 })).json;
    if (logs.length >= count || tries > 200) return logs;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

async function sendTcp(pieces: readonly (string | Uint8Array)[]): Promise<void> {
  const socket = connect(server.service.syslogPort!, "127.0.0.1");
  await once(socket, "connect");
  for (const piece of pieces) await new Promise((resolve) => socket.write(piece, resolve));
  socket.end();
  await once(socket, "close");
}

test("RFC 5424 over TCP, with length prefixes, in several packets", async () => {
  const time = new Date(Date.now() - 60_000).toISOString();
  const message = `<165>1 ${time} mymachine evntslog 111 ID47 [ex@32473 iut="3" q="a\\"b\\]"][b x="1"] \ufeffAn größer event`;
  const frame = Buffer.from(`${Buffer.byteLength(message)} ${message}`);
  await sendTcp([frame.subarray(0, 2), frame.subarray(2, 60), frame.subarray(60), frame]);
  const rows = await found('logs{syslog.msgid="ID47"}', 2);
  expect(rows).toHaveLength(2);
  expect(rows[0]).toEqual({
    timestamp: Date.parse(time),
    log_level: "notice",
    message: "An größer event",
    attributes: {
      "syslog.facility": "local4",
      "syslog.severity": "notice",
      "host.name": "mymachine",
      "service.name": "evntslog",
      "syslog.procid": "111",
      "syslog.msgid": "ID47",
      "ex@32473.iut": "3",
      "ex@32473.q": 'a"b]',
      "b.x": "1",
    },
  });
});

test("RFC 3164 over TCP, line by line; the last line may lack its newline", async () => {
  const at = new Date(Math.floor(Date.now() / 1000) * 1000 - 120_000);
  const month = at.toLocaleString("en-US", { month: "short" });
  const clock = at.toTimeString().slice(0, 8);
  const stamp = `${month} ${String(at.getDate()).padStart(2)} ${clock}`;
  await sendTcp([`<34>${stamp} oldbox su[77]: 'su root' failed\n`, `<34>${stamp} oldbox su: again`]);
  const rows = await found('logs{host.name="oldbox"}', 2);
  expect(rows.map(({ message }) => message).sort()).toEqual(["'su root' failed", "again"]);
  expect(rows.find(({ message }) => message.startsWith("'su"))).toMatchObject({
    timestamp: at.getTime(),
    log_level: "crit",
    attributes: { "service.name": "su", "syslog.procid": "77", "syslog.facility": "auth" },
  });
});

test.each([
  [
    "rsyslog's forwarding format",
    "<14>2026-01-31T10:20:30.123456+01:00 rsbox app[1]: hello",
    "hello",
    1769851230123,
  ],
  ["no syslog at all", "just a line from rsbox", "just a line from rsbox", undefined],
])("%s over UDP", async (_name, text, message, timestamp) => {
  const socket = createSocket("udp4");
  await new Promise((resolve) => socket.send(text, server.service.syslogPort!, "127.0.0.1", resolve));
  socket.close();
  const query = timestamp === undefined ? 'logs |= "just a line"' : 'logs{host.name="rsbox"}';
  const [row] = await found(query, 1);
  expect(row!.message).toBe(message);
  if (timestamp !== undefined) expect(row!.timestamp).toBe(timestamp);
});

describe("messages of a stream", () => {
  const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

  test(`come out complete however the stream is split (SVC_SEED=${seed})`, () => {
    const line = fc.stringMatching(/^<\d{1,3}>[^\n\0]{0,40}$/);
    const message = fc.record({ line, isCounted: fc.boolean() });
    const property = fc.property(
      fc.array(message, { maxLength: 20 }),
      fc.array(fc.nat(50), { minLength: 1, maxLength: 30 }),
      (messages, cuts) => {
        const bytes = Buffer.concat(
          messages.map(({ line: text, isCounted }) =>
            Buffer.from(isCounted ? `${Buffer.byteLength(text)} ${text}` : `${text}\n`),
          ),
        );
        const frames = new SyslogFrames();
        const got: string[] = [];
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const to = at + cuts[i % cuts.length]! + 1;
          for (const each of frames.push(bytes.subarray(at, to))) got.push(each.toString());
          at = to;
        }
        expect([...got, ...frames.end().map(String)]).toEqual(messages.map(({ line: text }) => text));
      },
    );
    fc.assert(property, { seed, numRuns: 300 });
  });

  test("a length prefix that is too large ends the connection", () => {
    expect(() => new SyslogFrames().push(Buffer.from("99999999 x"))).toThrow("a message must be");
  });
});
