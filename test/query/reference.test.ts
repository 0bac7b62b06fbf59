/**
 * Runs every example of query/README.md over the rows given there: searches by the naive evaluator, timeseries by a
 * store.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LogRow, openStore, type Sample, type Store } from "../../engine/index.ts";
import { planLogs, QueryError, queryTimeseries } from "../../query/index.ts";
import { runSteps } from "./naive.ts";

const reference = readFileSync(new URL("../../query/README.md", import.meta.url), "utf8");

function readBlocks(language: string): string[] {
  return [...reference.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
    (found) => found[1]!,
  );
}

interface NumberedRow extends LogRow {
  number: number;
}

const [logLines, spanLines, sampleLines, resourceLines] = readBlocks("json").map((block) =>
  block
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line)),
);

const rows = logLines!.map(({ timestamp, log_level, message, attributes }, index): NumberedRow => {
  return {
    number: index + 1,
    timeNs: BigInt(timestamp) * 1_000_000n,
    level: log_level,
    message,
    attributes,
  };
});

/** Spans as rows, with the labels that the reference names. */
const spans = spanLines!.map((span): LogRow => {
  const { traceId, spanId, parentSpanId, name, kind, statusCode } = span;
  const timeNs = BigInt(span.startTimeUnixNano);
  const labels = {
    trace_id: traceId,
    span_id: spanId,
    ...(parentSpanId === undefined ? {} : { parent_span_id: parentSpanId }),
    name,
    kind,
    ...(statusCode === undefined ? {} : { status_code: statusCode }),
    duration_ms: String(Number(BigInt(span.endTimeUnixNano) - timeNs) / 1e6),
  };
  return { timeNs, level: "", message: "", attributes: { ...labels, ...span.attributes } };
});

const resources = resourceLines!.map(({ timestamp, body, attributes }): LogRow => {
  return { timeNs: BigInt(timestamp) * 1_000_000n, level: "", message: JSON.stringify(body), attributes };
});

const samples = sampleLines!.map(({ timestamp, name, type = "gauge", labels, value }): Sample => {
  return { timeNs: BigInt(timestamp) * 1_000_000n, name, type, unit: "", labels, value };
});

/** The numbers of the rows found and their extracted attributes, in the notation of `# →`. */
function printFoundRows(query: string): string {
  const kept = runSteps(planLogs(query).steps, rows, { traces: spans }).map(
    ({ number, message, attributes }) => {
      const { attributes: stored, message: own } = rows[number - 1]!;
      const extracted = Object.fromEntries(
        Object.entries(attributes).filter(([key]) => !Object.hasOwn(stored, key)),
      );
      const parts = [
        ...(message === own ? [] : [JSON.stringify(message)]),
        ...(Object.keys(extracted).length === 0 ? [] : [JSON.stringify(extracted)]),
      ];
      return [number, ...parts].join(" ");
    },
  );
  return ["→", ...kept].join(" ");
}

interface ExampleResult {
  found?: string;
  error?: string;
  warnings: string[];
}

function runExample(query: string): ExampleResult {
  try {
    return { found: printFoundRows(query), warnings: planLogs(query).warnings };
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    return { error: error.message.split("\n")[0]!, warnings: [] };
  }
}

function readExpectation(notes: string[]): ExampleResult {
  const warnings = notes.filter((note) => note.startsWith("warning: ")).map((note) => note.slice(9));
  const error = notes.find((note) => note.startsWith("error: "))?.slice(7);
  if (error !== undefined) return { error, warnings };
  return { found: notes.find((note) => note.startsWith("→"))!, warnings };
}

/** The series of a query in the notation of `# series`: points by the seconds from the first row to the bucket. */
async function printSeries(store: Store, query: string): Promise<string[]> {
  const startMs = Number(rows[0]!.timeNs / 1_000_000n);
  const endMs = Number(rows.at(-1)!.timeNs / 1_000_000n) + 1_999;
  try {
    const { series } = await queryTimeseries(store, { query, startMs, endMs, bucketSeconds: 2 });
    return series.map(({ labels, points }) => {
      const values = points.map(([ms, value]) => `${(ms - startMs) / 1000}=${value}`);
      return `series ${JSON.stringify(labels)}: ${values.join(" ")}`;
    });
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    return [`series error: ${error.message.split("\n")[0]!}`];
  }
}

describe("the examples of query/README.md", () => {
  const examples = readBlocks("svcql").map((block) => {
    const lines = block.trimEnd().split("\n");
    const isNote = (line: string) => /^# (?:→|error: |warning: |series )/.test(line);
    return {
      query: lines.filter((line) => !isNote(line)).join("\n"),
      notes: lines.filter(isNote).map((line) => line.slice(2).trimEnd()),
    };
  });

  test("are more than 35", () => {
    expect(examples.length).toBeGreaterThan(35);
  });

  const isSeries = ({ notes }: { notes: string[] }) => notes.some((note) => note.startsWith("series "));

  test.each(examples.filter((example) => !isSeries(example)))("$query", ({ query, notes }) => {
    expect(runExample(query)).toEqual(readExpectation(notes));
  });

  describe("of timeseries", () => {
    const dir = mkdtempSync(join(tmpdir(), "svc-reference-"));
    let store: Store;
    beforeAll(async () => {
      store = await openStore({ dir, threads: 1 });
      await store.append("logs", rows);
      await store.append("traces", spans);
      await store.append("kubernetes_resources", resources);
      await store.appendSamples(samples);
    });
    afterAll(async () => {
      await store.close();
      rmSync(dir, { recursive: true });
    });

    test.each(examples.filter(isSeries))("$query", async ({ query, notes }) => {
      expect(await printSeries(store, query)).toEqual(notes);
    });
  });
});
