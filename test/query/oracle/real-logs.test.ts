/**
 * The questions of the oracle over the logs of a file: JSON lines in the form of the ingest endpoint, gzipped or not.
 * `SVC_ORACLE_LOGS` names the file; without it there is nothing to ask.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { type LogRow, openStore } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import { type OracleData, stageRows } from "./dataset.ts";
import { SelectorDraw } from "./draw-selector.ts";
import { SeriesDraw } from "./draw-series.ts";
import { compareRows, compareSeries, searchFor, undecided } from "./question.ts";
import { drawSearchTerms } from "./search-terms.ts";
import { isInRange } from "./selector.ts";
import { vocabularyOf } from "./vocabulary.ts";

const file = process.env.SVC_ORACLE_LOGS;
const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const questions = process.env.SVC_SOAK === "1" ? 3000 : 300;
/** Each question is answered by loops over all rows, so that more take long. */
const rowsMax = 3000;

interface SentLine {
  timeUnixNano?: string;
  timestamp?: number;
  log_level?: string;
  message?: string;
  attributes?: Record<string, unknown>;
}

/** Rows from a random place of the file on. */
function readRows(path: string, random: Random): LogRow[] {
  const bytes = readFileSync(path);
  const text = (path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
  const lines = text.split("\n").filter((line) => line !== "");
  const from = random.between(0, Math.max(lines.length - rowsMax, 0));
  return lines.slice(from, from + rowsMax).map((line) => {
    const sent = JSON.parse(line) as SentLine;
    const timeNs =
      sent.timeUnixNano === undefined ? BigInt(sent.timestamp ?? 0) * 1_000_000n : BigInt(sent.timeUnixNano);
    const attributes = Object.entries(sent.attributes ?? {}).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
    return {
      timeNs,
      level: sent.log_level ?? "",
      message: sent.message ?? "",
      attributes: Object.fromEntries(attributes),
    };
  });
}

test.skipIf(file === undefined)(
  `questions over the logs of a file (SVC_SEED=${seed})`,
  async () => {
    const rows = readRows(file!, new Random(seed, 73));
    const data: OracleData = {
      rows: { logs: stageRows("logs", rows), traces: [] },
      samples: [],
      resources: [],
    };
    const [first, last] = [data.rows.logs[0]!.timeMs, data.rows.logs.at(-1)!.timeMs];
    const dir = mkdtempSync(join(tmpdir(), "svc-oracle-logs-"));
    const store = await openStore({ dir, threads: 1, now: () => last + 1000 });
    const half = Math.floor(rows.length / 2);
    await store.append("logs", rows.slice(0, half));
    await store.seal();
    await store.append("logs", rows.slice(half));
    const vocabulary = vocabularyOf(rows, seed);
    const failures: string[] = [];
    for (let i = 0; i < questions && failures.length < 10; i++) {
      const random = new Random(seed, 1000 + i);
      const startMs = random.oneIn(3) ? first : random.between(first, last);
      const endMs = random.oneIn(3) ? last : random.between(startMs, last);
      const range = { startMs, endMs };
      const limit = random.pick([10_000, 100, 31]);
      const wish = { source: "logs", needsWithin: false, hasOrdered: random.oneIn(4) } as const;
      let asked = "";
      let difference: string | undefined;
      if (i % 3 === 0) {
        const selector = new SelectorDraw(random, vocabulary, wish).draw();
        asked = selector.text;
        difference = await compareRows(store, data, searchFor(selector, range, limit));
      } else if (i % 3 === 1) {
        const terms = drawSearchTerms(random, vocabulary.terms);
        asked = terms.text;
        const find = ({ rows: all }: OracleData) =>
          all.logs.filter((row) => isInRange(row, range) && terms.passes(row));
        const question = { query: asked, source: "logs", forms: terms.forms, ...range, limit, find } as const;
        difference = await compareRows(store, data, question);
      } else {
        const expression = new SeriesDraw(random, vocabulary, ["logs"]).draw(random.below(3));
        asked = expression.text;
        const widths = [1, 5, 60, 600].filter((seconds) => (endMs - startMs) / seconds < 500_000);
        const bucketSeconds = widths.length === 0 ? 3600 : random.pick(widths);
        difference = await compareSeries(store, data, { expression, bucketSeconds, ...range });
      }
      if (difference !== undefined && difference !== undecided) {
        failures.push(`question ${i}: ${asked}\n  from ${startMs} to ${endMs}: ${difference}`);
      }
    }
    await store.close();
    rmSync(dir, { recursive: true });
    expect(failures.join("\n\n")).toBe("");
  },
  600_000,
);
