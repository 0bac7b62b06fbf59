import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  countTrainTicketDayRows,
  readTrainTicketRows,
  readTrainTicketSamples,
  readTrainTicketSpans,
} from "../../../bench/datasets/train-ticket.ts";
import type { GeneratedRow } from "../../../fixtures/row.ts";

const traceA = "6f3cbf058c2765548a39ad724905d6a1";
const traceB = "6f3cbf058c2765548a39ad724905d6a2";
const uuid = "8a533bf9-bd12-4608-a8eb-606890982448";
const day = [
  { trace_id: traceA, message: `TraceID: ${traceA} SpanID: 576f9c38fc25e197 took 12 ms` },
  { trace_id: traceB, message: `trip ${uuid} of ${uuid}` },
].map(({ trace_id, message }, at) =>
  JSON.stringify({
    timeUnixNano: String(1674981729487160534n + BigInt(at)),
    log_level: "info",
    message,
    attributes: { "service.name": "/k8s/train-ticket/ts-travel2-service", trace_id },
  }),
);

describe("the day of Train Ticket, repeated", () => {
  let dir = "";
  let file = "";
  const rows: GeneratedRow[] = [];
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "svc-train-ticket-"));
    file = join(dir, "logs.jsonl.gz");
    await writeFile(file, gzipSync(`${day.join("\n")}\n`));
    for await (const batch of readTrainTicketRows(file, 5, 2)) rows.push(...batch);
  });
  afterAll(() => rm(dir, { recursive: true }));

  test("has as many rows as asked for, the first copy as it is", async () => {
    expect(rows).toHaveLength(5);
    expect(rows[0]!.message).toContain(traceA);
    expect(rows[0]!.timeNs).toBe(1674981729487160534n);
    expect(await countTrainTicketDayRows(file)).toBe(2);
  });

  test("comes later in every copy", () => {
    expect(rows[2]!.timeNs - rows[0]!.timeNs).toBe(rows[4]!.timeNs - rows[2]!.timeNs);
    expect(rows[2]!.timeNs).toBeGreaterThan(rows[1]!.timeNs);
  });

  test("keeps its ids apart in many copies", async () => {
    const traces: string[] = [];
    for await (const batch of readTrainTicketRows(file, 200, 50)) {
      traces.push(...batch.map(({ attributes }) => attributes.trace_id!));
    }
    expect(new Set(traces).size).toBe(200);
  });

  test("has ids of its own in every copy, the same ones in messages and attributes", () => {
    const traces = rows.map(({ attributes }) => attributes.trace_id!);
    expect(new Set(traces).size).toBe(5);
    for (const trace of traces) expect(trace).toMatch(/^[0-9a-f]{32}$/);
    expect(rows[2]!.message).toContain(`TraceID: ${traces[2]} SpanID: `);
    expect(rows[2]!.message).not.toContain("576f9c38fc25e197");
    expect(rows[2]!.message).toMatch(/ took 12 ms$/);
    const [, first, second] = /^trip (\S+) of (\S+)$/.exec(rows[3]!.message)!;
    expect(first).toBe(second);
    expect(first).not.toBe(uuid);
    expect(first).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });
});

describe("the day's spans and samples, repeated", () => {
  let dir = "";
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "svc-train-ticket-"));
  });
  afterAll(() => rm(dir, { recursive: true }));

  const fileOf = async (row: unknown, more = ""): Promise<string> => {
    const file = join(dir, "rows.jsonl.gz");
    await writeFile(file, gzipSync(`${JSON.stringify(row)}\n${more}`));
    return file;
  };
  async function all<T>(batches: AsyncIterable<T[]>): Promise<T[]> {
    const rows: T[] = [];
    for await (const batch of batches) rows.push(...batch);
    return rows;
  }

  test("spans come later in every copy, with ids of their own, and last as long", async () => {
    const span = {
      traceId: traceA,
      spanId: "37d8fe439ba5bef1",
      parentSpanId: "",
      name: "/*",
      startTimeUnixNano: "1674981729479000000",
      endTimeUnixNano: "1674981729601611605",
      attributes: { "service.name": "/k8s/train-ticket/ts-gateway-service" },
    };
    const spans = await all(readTrainTicketSpans(await fileOf(span), 3, 2));
    expect(spans[0]).toEqual(span);
    const texts = spans.map((each) => JSON.stringify(each));
    expect(texts.filter((text) => text.includes(traceA))).toHaveLength(1);
    const [starts, ends] = [
      spans.map((each) => BigInt(each.startTimeUnixNano)),
      spans.map((each) => BigInt(each.endTimeUnixNano)),
    ];
    expect(starts[2]! - starts[1]!).toBe(8n * 3_600_000_000_000n);
    for (const [at, start] of starts.entries()) expect(ends[at]! - start).toBe(122_611_605n);
  });

  test("samples come a day later in every copy, of the same series", async () => {
    const sample = { timestamp: 1674981669000, name: "cpu_usage_m", labels: { pod: "a" }, value: 2.5 };
    const samples = await all(
      readTrainTicketSamples(await fileOf(sample, `{"timestamp":1,"value":NaN}\n`), 3, 2),
    );
    expect(samples).toEqual(
      [0, 1, 2].map((day) => ({ ...sample, timestamp: sample.timestamp + day * 86_400_000 })),
    );
  });
});
