/** Plain text and CRI lines become rows with the times and levels that stand in them. */
import { expect, test } from "vitest";
import { recogniseLines } from "../../../server/command/client/recognised-lines.ts";

/** The rows of a text that arrives in chunks of `size` bytes, and the form that was reported. */
async function read(text: string, size = 7): Promise<{ form: string; rows: unknown[] }> {
  let form = "";
  async function* chunks() {
    yield Buffer.from(text.slice(0, 40));
    for (let at = 40; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
  }
  const onForm = (found: string) => {
    form = found;
  };
  let out = "";
  for await (const bytes of recogniseLines(chunks(), { isLive: false, names: undefined, onForm })) {
    out += Buffer.from(bytes).toString();
  }
  const lines = out.split("\n").filter((line) => line !== "");
  return { form, rows: lines.map((line) => JSON.parse(line)) };
}

const nanos = (iso: string) => String(BigInt(Date.parse(iso)) * 1_000_000n);

test("partial lines of CRI are joined", async () => {
  const text =
    "2024-01-01T00:00:00.000000001Z stdout P hel\n2024-01-01T00:00:00.000000002Z stdout F lo\n2024-01-01T00:00:01Z stderr F x\n";
  expect(await read(text)).toEqual({
    form: "CRI",
    rows: [
      {
        timeUnixNano: "1704067200000000001",
        log_level: "",
        message: "hello",
        attributes: { stream: "stdout" },
      },
      { timeUnixNano: "1704067201000000000", log_level: "", message: "x", attributes: { stream: "stderr" } },
    ],
  });
});

test("the row of a logger in a line of CRI is one", async () => {
  const head = "2024-01-01T00:00:00.000000001Z";
  const text = [
    `${head} stdout F {"level":30,"time":1704067201000,"msg":"up","big":12345678901234567890}`,
    `${head} stderr P {"level":"warn","msg":"half `,
    `${head} stderr F a line"}`,
    `${head} stdout F {"not":"of a logger"}`,
    `${head} stdout F {"level":"info","time":"no time","msg":"x"}`,
    `${head} stdout F {} and more`,
  ].join("\n");
  const { form, rows } = await read(text);
  expect(form).toBe("CRI");
  const plain = (message: string) => ({
    timeUnixNano: nanos("2024-01-01T00:00:00Z").replace(/0$/, "1"),
    message,
  });
  expect(rows).toMatchObject([
    { stream: "stdout", level: 30, time: 1704067201000, msg: "up" },
    { stream: "stderr", time: head, level: "warn", msg: "half a line" },
    plain('{"not":"of a logger"}'),
    plain('{"level":"info","time":"no time","msg":"x"}'),
    plain("{} and more"),
  ]);
});

test("a stack trace belongs to its message", async () => {
  const trace = "2024-01-01 00:00:00,123 ERROR [main] boom\n\tat a.b(C.java:1)\nCaused by: x";
  const { rows } = await read(`${trace}\n2024-01-01 00:00:01,123 [main] WARN next\n`);
  expect(rows).toMatchObject([
    { timeUnixNano: nanos("2024-01-01T00:00:00.123Z"), log_level: "ERROR", message: trace },
    { timeUnixNano: nanos("2024-01-01T00:00:01.123Z"), log_level: "WARN" },
  ]);
});

test.each([
  ['127.0.0.1 - - [10/Oct/2023:13:55:36 -0700] "GET / HTTP/1.0" 200 23', "2023-10-10T20:55:36Z", ""],
  ["2024/01/02 03:04:05 [crit] 1#1: x", "2024-01-02T03:04:05Z", "crit"],
  ["2024-01-02 03:04:05,120 - app.db - WARNING - slow", "2024-01-02T03:04:05.120Z", "WARNING"],
  [
    "2024-01-02T03:04:05.120+01:00  INFO 1 --- [main] c.e.Application : up",
    "2024-01-02T02:04:05.120Z",
    "INFO",
  ],
  ["2024-01-02 03:04:05.120 UTC [42] ERROR:  relation is missing", "2024-01-02T03:04:05.120Z", "ERROR"],
  ["2024-01-02T03:04:05.120Z 0 [Warning] [MY-010068] [Server] x", "2024-01-02T03:04:05.120Z", "Warning"],
  ["2024-01-02T03:04:05Z the error is gone", "2024-01-02T03:04:05Z", ""],
  ["[Tue Jan 02 03:04:05.120 2024] [core:error] [pid 7] gone", "2024-01-02T03:04:05.120Z", "error"],
  ["E, [2024-01-02T03:04:05.120000 #7] ERROR -- : boom", "2024-01-02T03:04:05.120Z", "ERROR"],
  ['time="2024-01-02T03:04:05Z" level=warning msg="a walrus"', "2024-01-02T03:04:05Z", "warning"],
  ["ts=1704164645.120 caller=main.go:1 level=error msg=x", "2024-01-02T03:04:05.120Z", "error"],
  ["2024-01-02T03:04:05+02:00 INFO started", "2024-01-02T01:04:05Z", "INFO"],
])("%s", async (message, time, level) => {
  const { rows } = await read(message);
  expect(rows).toEqual([{ timeUnixNano: nanos(time), log_level: level, message, attributes: {} }]);
});

test.each([
  ["WARNING:root:watch out", "WARNING"],
  ["info: listening on 3000", "info"],
  ["level=error msg=x", "error"],
  ["03:04:05.120 [main] ERROR c.e.Main - boom", "ERROR"],
  ["Listening on port 3000", ""],
])("%s has no time", async (message, level) => {
  const { form, rows } = await read(message);
  expect([form, rows]).toEqual(["text without times", [{ log_level: level, message, attributes: {} }]]);
});

test("rows of a logger among lines of text stay what they are", async () => {
  const row = { level: 30, time: 1_700_000_000_000, msg: "up" };
  const { rows } = await read(`> shop@1.0.0 start\n${JSON.stringify(row)}\n{not JSON}\n`);
  expect(rows).toEqual([
    { log_level: "", message: "> shop@1.0.0 start", attributes: {} },
    row,
    { log_level: "", message: "{not JSON}", attributes: {} },
  ]);
});

test("a text without line breaks becomes rows that can be stored", async () => {
  const text = "é".repeat(2_000_000);
  const rows = (await read(text, 100_000)).rows as { message: string }[];
  expect(rows.length).toBeGreaterThan(1);
  expect(rows.map(({ message }) => message).join("")).toBe(text);
  expect(Math.max(...rows.map(({ message }) => Buffer.byteLength(message)))).toBeLessThan(2 * 1024 * 1024);
});

test("a time without a year is of the last year", async () => {
  for (const line of ["I0102 15:04:05.678901   1 a.go:1] hi", "Jan  2 15:04:05 host su[1]: hi"]) {
    const [row] = (await read(line)).rows as { timeUnixNano: string }[];
    const time = new Date(Number(BigInt(row!.timeUnixNano) / 1_000_000n));
    expect([time.getUTCMonth(), time.getUTCDate(), time.getUTCHours()]).toEqual([0, 2, 15]);
    expect(Date.now() + 86_400_000 - time.getTime()).toBeGreaterThan(0);
    expect(Date.now() - time.getTime()).toBeLessThan(367 * 86_400_000);
  }
});

test("an empty file has no rows, and binary data is refused", async () => {
  expect((await read("")).rows).toEqual([]);
  await expect(read("a\0b")).rejects.toThrow("binary data, neither JSON lines nor text");
});

test("JSON lines pass unchanged, and the logger's form is reported", async () => {
  const row = { level: 30, time: 1_700_000_000_000, pid: 1, hostname: "h", msg: "x" };
  const text = `${JSON.stringify(row)}\n`;
  const chunks = (async function* () {
    yield Buffer.from(text);
  })();
  const forms: string[] = [];
  const options = { isLive: false, names: undefined, onForm: (form: string) => forms.push(form) };
  for await (const bytes of recogniseLines(chunks, options)) expect(Buffer.from(bytes).toString()).toBe(text);
  expect(forms).toEqual(['pino: time from "time" (ms), level from "level", message from "msg"']);
});
