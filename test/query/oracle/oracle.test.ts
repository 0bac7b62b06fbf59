/** Random questions, answered by the product and by loops over the plain rows that know the reference alone. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openStore, type Store } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import { dataSpanMs, dataStartMs, fillStore, type OracleData } from "./dataset.ts";
import { SelectorDraw } from "./draw-selector.ts";
import { SeriesDraw } from "./draw-series.ts";
import {
  type AskedRange,
  compareRows,
  compareSeries,
  type RowQuestion,
  searchFor,
  undecided,
} from "./question.ts";
import { drawSearchTerms } from "./search-terms.ts";
import { isInRange } from "./selector.ts";
import { generatedVocabulary } from "./vocabulary.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const times = process.env.SVC_SOAK === "1" ? 20 : 1;
const failuresMax = 10;
/** Milliseconds that one of the tests may take. */
const timeMax = times * 120_000;

const dir = mkdtempSync(join(tmpdir(), "svc-oracle-"));
let store: Store;
let data: OracleData;

beforeAll(async () => {
  store = await openStore({ dir, threads: 1, now: () => dataStartMs + dataSpanMs });
  data = await fillStore(store, seed);
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

/** Whole buckets of any width, or a range that cuts the first and the last. */
function drawRange(random: Random): AskedRange {
  const startMs = dataStartMs + random.below(dataSpanMs / 2000) * 1000;
  const endMs = Math.min(startMs + (1 + random.below(3000)) * 1000, dataStartMs + dataSpanMs) - 1;
  return random.oneIn(3) ? { startMs: dataStartMs, endMs: dataStartMs + dataSpanMs - 1 } : { startMs, endMs };
}

const limits = [10_000, 10_000, 7, 100];
/** How many questions have each form; printed with SVC_FORMS=1. */
const forms = new Map<string, number>();
function count(of: readonly string[]): void {
  for (const form of new Set(of)) forms.set(form, (forms.get(form) ?? 0) + 1);
}

/** Asks so many questions and lists those of which the answers differ. */
async function askAll(
  questions: number,
  ask: (random: Random) => Promise<string | undefined>,
): Promise<string[]> {
  const failures: string[] = [];
  for (let i = 0; i < questions && failures.length < failuresMax; i++) {
    const failure = await ask(new Random(seed, 1000 + i)).catch((error: Error) => String(error.stack));
    if (failure !== undefined) failures.push(`question ${i}: ${failure}`);
  }
  return failures;
}

async function askRows(question: RowQuestion): Promise<string | undefined> {
  count(question.forms);
  const difference = await compareRows(store, data, question);
  return difference && `${question.query}\n  from ${question.startMs} to ${question.endMs}: ${difference}`;
}

test(
  `searches find what loops find (SVC_SEED=${seed})`,
  async () => {
    const failures = await askAll(300 * times, (random) => {
      const source = random.oneIn(3) ? "traces" : "logs";
      const wish = { source, needsWithin: false, hasOrdered: random.oneIn(2) } as const;
      const selector = new SelectorDraw(random, generatedVocabulary, wish).draw();
      return askRows(searchFor(selector, drawRange(random), random.pick(limits)));
    });
    expect(failures.join("\n\n")).toBe("");
  },
  timeMax,
);

test(
  `search terms find what loops find (SVC_SEED=${seed})`,
  async () => {
    const failures = await askAll(100 * times, (random) => {
      const terms = drawSearchTerms(random, generatedVocabulary.terms);
      const range = drawRange(random);
      const find = ({ rows }: OracleData) =>
        rows.logs.filter((row) => isInRange(row, range) && terms.passes(row));
      const query = terms.text;
      return askRows({
        query,
        source: "logs",
        forms: ["terms", ...terms.forms],
        ...range,
        limit: random.pick(limits),
        find,
      });
    });
    expect(failures.join("\n\n")).toBe("");
  },
  timeMax,
);

test(
  `timeseries are what loops calculate (SVC_SEED=${seed})`,
  async () => {
    const failures = await askAll(400 * times, async (random) => {
      const drawn = new SeriesDraw(random, generatedVocabulary, [
        "logs",
        "traces",
        "metrics",
        "metrics",
        "resources",
      ]);
      const expression = drawn.draw(random.below(4));
      const bucketSeconds = random.pick([30, 60, 300, 600]);
      const range = drawRange(random);
      count(expression.forms);
      const difference = await compareSeries(store, data, { expression, bucketSeconds, ...range });
      if (difference === undecided) {
        count([undecided]);
        return undefined;
      }
      return (
        difference && `${expression.text}\n  ${JSON.stringify({ ...range, bucketSeconds })}: ${difference}`
      );
    });
    const asked = [...forms]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([form, questions]) => `${form}: ${questions}`);
    if (process.env.SVC_FORMS === "1") console.log(asked.join("\n"));
    expect(failures.join("\n\n")).toBe("");
    expect(forms.get(undecided) ?? 0).toBeLessThan(100 * times);
  },
  timeMax,
);
