/**
 * What stages extract: the cases of extraction.txt by the naive evaluator, and by the engine over sealed and unsealed
 * rows.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LogRow, openStore, type Step, type Store } from "../../../engine/index.ts";
import { planLogs } from "../../../query/index.ts";
import { runSteps } from "../naive.ts";
import { readCases } from "./cases.ts";

const stored = { kept: "stored", empty: "" };

const cases = readCases("extraction.txt").map(({ query, answer }, index) => {
  const [stage, ...lines] = query.split("\n");
  const message = lines.join("\n");
  return { stage: stage!, message, extracted: JSON.parse(answer, keepPrototypeKey) as unknown, index };
});

/**
 * Keeps `__proto__`, which JSON.parse defines as an ordinary member, but which would set the prototype of a copied
 * object.
 */
function keepPrototypeKey(_key: string, value: unknown): unknown {
  return typeof value === "object" && value !== null ? new Map(Object.entries(value)) : value;
}

const makeRow = (message: string, index: number): LogRow => ({
  timeNs: 1_763_560_800_000_000_000n + BigInt(index),
  level: "",
  message,
  attributes: stored,
});

function extractedFrom(found: LogRow): Map<string, string> {
  return new Map(Object.entries(found.attributes).filter(([key]) => !Object.hasOwn(stored, key)));
}

const stepsOf = (stage: string) => planLogs(`logs | ${stage}`).steps as Step[];

describe("the naive evaluator", () => {
  test.each(cases)("$stage over $message", ({ stage, message, extracted }) => {
    const [found] = runSteps(stepsOf(stage), [makeRow(message, 0)]);
    expect(extractedFrom(found!)).toEqual(extracted);
    expect(found).toMatchObject({ message, attributes: stored });
  });

  test("leaves out names that are too long, and all after a thousand", () => {
    const name = "n".repeat(1_024);
    const keptLong = `{"${name}":1,"${name}x":2,"${"é".repeat(513)}":3}`;
    expect([...extractedFrom(runSteps(stepsOf("json"), [makeRow(keptLong, 0)])[0]!)]).toEqual([[name, "1"]]);
    const many = JSON.stringify(
      Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`k${index}`, "v"])),
    );
    const found = extractedFrom(runSteps(stepsOf("json"), [makeRow(many, 0)])[0]!);
    expect([...found.keys()]).toEqual(Array.from({ length: 1_000 }, (_, index) => `k${index}`));
  });
});

describe("the engine", () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-extraction-"));
  let store: Store;

  beforeAll(async () => {
    store = await openStore({ dir, threads: 1, now: () => 1_763_560_860_000 });
    const rows = cases.map(({ message, index }) => makeRow(message, index));
    await store.append("logs", rows.slice(0, rows.length / 2));
    await store.seal();
    await store.append("logs", rows.slice(rows.length / 2));
  });

  afterAll(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  test.each(cases)("$stage over $message", async ({ stage, message, extracted, index }) => {
    const { timeNs } = makeRow(message, index);
    const { rows } = await store.search({
      signal: "logs",
      fromNs: timeNs,
      toNs: timeNs + 1n,
      steps: stepsOf(stage),
      limit: 2,
    });
    expect(rows.length).toBe(1);
    expect(extractedFrom(rows[0]!)).toEqual(extracted);
    expect(rows[0]).toMatchObject({ message, attributes: stored });
  });
});
