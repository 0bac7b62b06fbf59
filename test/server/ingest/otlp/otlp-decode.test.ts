/** OTLP in protobuf against the same requests in JSON, which has a reader of its own: the rows are equal. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EncodedBatch } from "../../../../engine/index.ts";
import { readStoredRows } from "../stored-rows.ts";
import type { Request } from "./otlp-bodies.ts";
import {
  decoded,
  jsonOf,
  logsRequests,
  protobufOf,
  tracesRequests,
  withUnknownFields,
} from "./otlp-bodies.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

async function check(signal: "logs" | "traces", arbitrary: fc.Arbitrary<Request>): Promise<void> {
  const batches: { json: EncodedBatch[]; protobuf: EncodedBatch[] } = { json: [], protobuf: [] };
  let refused = 0;
  for (const request of fc.sample(arbitrary, { seed, numRuns: 120 })) {
    const fromJson = decoded(signal, `otlp ${signal} json`, jsonOf(request));
    const bytes = protobufOf(signal === "logs" ? "LogsRequest" : "TraceRequest", request);
    const fromProtobuf = decoded(signal, `otlp ${signal}`, withUnknownFields(bytes));
    if (!fromJson.ok || !fromProtobuf.ok) throw new Error(JSON.stringify([fromJson, fromProtobuf, request]));
    const linesOf = (lists: typeof fromJson) => lists.refused.map(({ line }) => line);
    expect(linesOf(fromProtobuf), JSON.stringify(request)).toEqual(linesOf(fromJson));
    expect(fromProtobuf.contentKey === null).toBe(fromJson.contentKey === null);
    batches.json.push(fromJson.batch);
    batches.protobuf.push(fromProtobuf.batch);
    refused += fromJson.refused.length;
  }
  const rows = await readStoredRows(signal, batches.json);
  expect(rows.length).toBeGreaterThan(50);
  expect(refused).toBeGreaterThan(5);
  expect(await readStoredRows(signal, batches.protobuf)).toEqual(rows);
}

describe(`protobuf and JSON give the same rows (SVC_SEED=${seed})`, () => {
  test("of logs", () => check("logs", logsRequests));
  test("of traces", () => check("traces", tracesRequests));
});
