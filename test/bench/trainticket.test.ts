import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { trainTicketDayRows, trainTicketRows } from "../../bench/trainticket.ts";
import type { GeneratedRow } from "../../fixtures/row.ts";

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
    for await (const batch of trainTicketRows(file, 5, 2)) rows.push(...batch);
  });
  afterAll(() => rm(dir, { recursive: true }));

  test("has as many rows as asked for, the first copy as it is", async () => {
    expect(rows).toHaveLength(5);
    expect(rows[0]!.message).toContain(traceA);
    expect(rows[0]!.timeNs).toBe(1674981729487160534n);
    expect(await trainTicketDayRows(file)).toBe(2);
  });

  test("comes later in every copy", () => {
    expect(rows[2]!.timeNs - rows[0]!.timeNs).toBe(rows[4]!.timeNs - rows[2]!.timeNs);
    expect(rows[2]!.timeNs).toBeGreaterThan(rows[1]!.timeNs);
  });

  test("keeps its ids apart in many copies", async () => {
    const traces: string[] = [];
    for await (const batch of trainTicketRows(file, 200, 50)) {
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
