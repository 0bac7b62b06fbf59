/** InfluxDB's line protocol: lines become samples; what is no number is left out. */
import { InfluxDB, Point } from "@influxdata/influxdb-client";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sample } from "../../../../engine/index.ts";
import type { BodyTask } from "../../../../server/ingest/decode-task.ts";
import { readInfluxLines } from "../../../../server/ingest/influx/decode.ts";
import type { SampleSink } from "../../../../server/ingest/row-sink.ts";
import { call, type Running, startServer } from "../../running.ts";
import { findSeries, send } from "./rows.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const seconds = Math.floor(Date.now() / 1000) - 60;
const range: [number, number] = [seconds * 1000 - 5_000, seconds * 1000 + 30_000];
const headers = { "Content-Type": "text/plain; charset=utf-8" };

const points = (query: string) =>
  findSeries(server, query, range).then((series) =>
    series.map(({ labels, points: [first] }) => [labels, first]),
  );

test("measurements, tags and fields, with every escape", async () => {
  const lines = [
    "# a comment",
    `cpu,host=a,region=eu\\ west usage=0.5,load=2i,up=true,note="a \\"text\\", with = signs" ${seconds}`,
    "",
    `my\\,meas\\ ure,tag\\=key=va\\,lue value=1e3 ${seconds + 1}\r`,
    `text,host=a count=18u,message="two\nlines" ${seconds + 2}`,
  ];
  const got = await send(server, { path: "/write?db=d&precision=s", body: lines.join("\n"), headers });
  expect([got.status, got.text]).toEqual([204, ""]);
  const at = seconds * 1000;
  const tags = { host: "a", region: "eu west" };
  expect(await points("avg(cpu_usage) by (host, region)")).toEqual([[tags, [at, 0.5]]]);
  expect(await points("avg(cpu_load) by (host, region)")).toEqual([[tags, [at, 2]]]);
  expect(await points("avg(cpu_up) by (host, region)")).toEqual([[tags, [at, 1]]]);
  expect(await points('avg({"my,meas ure"}) by ("tag=key")')).toEqual([
    [{ "tag=key": "va,lue" }, [at + 1_000, 1000]],
  ]);
  expect(await points("avg(text_count)")).toEqual([[{}, [at + 2_000, 18]]]);
});

describe("precision", () => {
  test.each([
    ["ns", `${seconds}000000000`],
    ["us", `${seconds}000000`],
    ["ms", `${seconds}000`],
    ["s", `${seconds}`],
  ])("%s", async (precision, time) => {
    const body = `precise_${precision} v=1 ${time}`;
    const path = `/api/v2/write?org=o&bucket=b&precision=${precision}`;
    const got = await send(server, {
      path,
      body,
      headers: { ...headers, Authorization: `Token ${server.adminToken}` },
    });
    expect(got.status).toBe(204);
    expect(await points(`avg(precise_${precision}_v)`)).toEqual([[{}, [seconds * 1000, 1]]]);
  });
});

describe("lines that are refused", () => {
  test.each([
    ["no fields", "cpu,host=a", "expected a space before the fields, the line ends"],
    ["an empty measurement", ",host=a v=1", "character 1: expected the measurement"],
    ["a tag without a value", "cpu,host= v=1", "expected a tag's value"],
    ["a value that is no number", "cpu v=abc", 'field "v" must be a number'],
    ["texts alone", 'cpu v="abc"', "none of the fields is a number or a boolean"],
    ["a text without an end", 'cpu v="abc', "expected a quote at the end of the text"],
    ["a time", "cpu v=1 noon", 'expected a time, or the end of the line, got "noon"'],
  ])("%s", async (name, line, reason) => {
    const good = `good_line,case=${name.replaceAll(" ", "_")} v=1 ${seconds}`;
    const body = name.includes("end") ? `${good}\n${line}` : `${line}\n${good}\n`;
    const got = await send<{ error: string }>(server, { path: "/write?precision=s", body, headers });
    expect(got.status).toBe(400);
    expect(got.json.error).toContain("partial write: 1 lines were refused");
    expect(got.json.error).toContain(reason);
    const found = await points(`avg(good_line_v{case="${name.replaceAll(" ", "_")}"})`);
    expect(found).toHaveLength(1);
  });

  test("an unknown precision refuses the body", async () => {
    const got = await send<{ message: string }>(server, {
      path: "/api/v2/write?precision=d",
      body: "a v=1",
      headers,
    });
    expect([got.status, got.json.message]).toEqual([
      400,
      expect.stringContaining("precision must be one of ns"),
    ]);
  });
});

test("what Telegraf asks before it writes", async () => {
  const ping = await call(server, "/ping");
  expect([ping.status, ping.headers.get("x-influxdb-version")]).toEqual([204, "1.8.10"]);
  const form = { "Content-Type": "application/x-www-form-urlencoded" };
  const body = new URLSearchParams({ q: 'CREATE DATABASE "telegraf"' }).toString();
  const made = await send(server, { path: "/query", body, headers: form });
  expect([made.status, made.json]).toEqual([200, { results: [{ statement_id: 0 }] }]);
  expect((await send(server, { path: "/query?q=SELECT+1", body: "", headers: form })).status).toBe(400);
});

test("the password in the query, as of version 1", async () => {
  const path = `/write?db=d&u=svc&p=${encodeURIComponent(server.adminToken)}`;
  const got = await call(server, path, { headers, body: `by_query v=1 ${seconds}000000000` });
  expect(got.status).toBe(204);
});

test("the client @influxdata/influxdb-client", async () => {
  const api = new InfluxDB({ url: server.url, token: server.adminToken }).getWriteApi("o", "b", "ms");
  for (let i = 0; i < 3; i++) {
    const point = new Point("client").tag("order", `n ${i}`).floatField("seconds", i + 0.5);
    api.writePoint(point.timestamp(seconds * 1000));
  }
  await api.close();
  const found = await points("avg(client_seconds) by (order)");
  expect(
    found.map(([labels, point]) => [(labels as { order: string }).order, (point as number[])[1]]).sort(),
  ).toEqual([
    ["n 0", 0.5],
    ["n 1", 1.5],
    ["n 2", 2.5],
  ]);
});

const name = fc.string({
  unit: fc.constantFrom(...'ab, =ü"'.split("")),
  minLength: 1,
  maxLength: 8,
});
// The client writes -0 as 0.
const double = fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0);
const field = fc.oneof(double, fc.boolean(), fc.string());

test("lines are read as another implementation wrote them", () => {
  const lines = fc.record({
    measurement: name.map((text) => `m${text}`),
    tags: fc.dictionary(name, name, { noNullPrototype: true }),
    fields: fc.dictionary(name, field, { minKeys: 1, noNullPrototype: true }),
    ns: fc.integer({ min: 1, max: 2 ** 50 }),
  });
  fc.assert(
    fc.property(lines, ({ measurement, tags, fields, ns }) => {
      const point = new Point(measurement).timestamp(String(ns));
      for (const [key, text] of Object.entries(tags)) point.tag(key, text);
      for (const [key, value] of Object.entries(fields)) {
        if (typeof value === "number") point.floatField(key, value);
        else if (typeof value === "boolean") point.booleanField(key, value);
        else point.stringField(key, value);
      }
      const expected = Object.entries(fields)
        .filter(([, value]) => typeof value !== "string")
        .map(([key, value]) => [`${measurement}_${key}`, { ...tags }, BigInt(ns), Number(value)]);
      const body = Buffer.from(`${point.toLineProtocol()}\n`);
      expect(readPoints(body).toSorted()).toEqual(expected.toSorted());
    }),
    { numRuns: 500 },
  );
});

/** Name, labels, time and value of each sample. */
function readPoints(body: Buffer): unknown[] {
  const points: unknown[] = [];
  const sink = {
    refuseOnProblem: (read: () => void) => {
      try {
        read();
      } catch (problem) {
        if ((problem as Error).message !== "none of the fields is a number or a boolean") throw problem;
      }
    },
    addPoint: (samples: Sample[]) =>
      points.push(...samples.map((each) => [each.name, { ...each.labels }, each.timeNs, each.value])),
  } as unknown as SampleSink;
  readInfluxLines(body, sink, {} as BodyTask);
  return points;
}
