import { describe, expect, test } from "vitest";
import type { BenchDataset } from "../../../bench/datasets/dataset.ts";
import { logColumnsOf, toFieldTree, toSqlAnswer } from "../../../bench/systems/sql.ts";

describe("rows whose attributes are partly in a map", () => {
  const dataset = {
    attributes: { "host.name": 2, "host.os.build": 2, "data.Port": 9, "data.Name": 3, trace_id: 5 },
    mapAttribute: "data",
  } as unknown as BenchDataset;
  const columns = logColumnsOf(dataset);
  const question = { kind: "newest", text: "", startMs: 0, endMs: 9 } as const;
  const row = [1n, "info", "m", "h", "10", "t"];

  test("have a column for each attribute outside of it", () => {
    expect(columns).toEqual({ keys: ["host.name", "host.os.build", "trace_id"], map: "data" });
    const flat = { attributes: dataset.attributes } as unknown as BenchDataset;
    expect(logColumnsOf(flat).keys).toHaveLength(5);
  });

  test("are read as a tree of fields", () => {
    const os = new Map([["build", undefined]]);
    const host = new Map<string, unknown>([
      ["name", undefined],
      ["os", os],
    ]);
    expect(toFieldTree(columns.keys)).toEqual(
      new Map<string, unknown>([
        ["host", host],
        ["trace_id", undefined],
      ]),
    );
  });

  test("give the same answer from the maps of both peers", () => {
    const fromObject = toSqlAnswer(question, [[...row, { Port: "80", Name: "" }]], columns);
    const entries = [
      { key: "Name", value: "" },
      { key: "Port", value: "80" },
    ];
    expect(toSqlAnswer(question, [[...row, { entries }]], columns)).toEqual(fromObject);
    expect(fromObject[0]).toContain("data.Port=80");
    expect(fromObject[0]).not.toContain("data.Name");
    expect(toSqlAnswer(question, [[...row, null]], columns)[0]).not.toContain("data.");
  });
});
