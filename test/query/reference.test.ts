/** Every example of the language reference, run by a naive evaluator over the rows that the reference gives. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { LogRow } from "../../engine/index.ts";
import { planLogs, QueryError } from "../../query/index.ts";
import { runSteps } from "./naive.ts";

const reference = readFileSync(new URL("../../query/README.md", import.meta.url), "utf8");

function blocks(language: string): string[] {
  return [...reference.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
    (found) => found[1]!,
  );
}

interface NumberedRow extends LogRow {
  number: number;
}

const rows = blocks("json")[0]!
  .trim()
  .split("\n")
  .map((line, index): NumberedRow => {
    const { timestamp, log_level, message, attributes } = JSON.parse(line);
    return {
      number: index + 1,
      timeNs: BigInt(timestamp) * 1_000_000n,
      level: log_level,
      message,
      attributes,
    };
  });

/** The numbers of the rows found, each with what was extracted from it, as `# →` of an example says it. */
function found(query: string): string {
  const kept = runSteps(planLogs(query).steps, rows).map(({ number, attributes }) => {
    const stored = rows[number - 1]!.attributes;
    const extracted = Object.fromEntries(
      Object.entries(attributes).filter(([key]) => !Object.hasOwn(stored, key)),
    );
    return Object.keys(extracted).length === 0 ? `${number}` : `${number} ${JSON.stringify(extracted)}`;
  });
  return ["→", ...kept].join(" ");
}

interface Outcome {
  found?: string;
  error?: string;
  warnings: string[];
}

function outcome(query: string): Outcome {
  try {
    return { found: found(query), warnings: planLogs(query).warnings };
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    return { error: error.message.split("\n")[0]!, warnings: [] };
  }
}

function expected(notes: string[]): Outcome {
  const warnings = notes.filter((note) => note.startsWith("warning: ")).map((note) => note.slice(9));
  const error = notes.find((note) => note.startsWith("error: "))?.slice(7);
  if (error !== undefined) return { error, warnings };
  return { found: notes.find((note) => note.startsWith("→"))!, warnings };
}

describe("the examples of query/README.md", () => {
  const examples = blocks("svcql").map((block) => {
    const lines = block.trimEnd().split("\n");
    const isNote = (line: string) => /^# (?:→|error: |warning: )/.test(line);
    return {
      query: lines.filter((line) => !isNote(line)).join("\n"),
      notes: lines.filter(isNote).map((line) => line.slice(2).trimEnd()),
    };
  });

  test("are there", () => {
    expect(examples.length).toBeGreaterThan(35);
  });

  test.each(examples)("$query", ({ query, notes }) => {
    expect(outcome(query)).toEqual(expected(notes));
  });
});
