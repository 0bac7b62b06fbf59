import { Bench } from "tinybench";
import type { FoundRow, Store } from "../engine/index.ts";
import { rowHolds } from "../fixtures/needles.ts";
import { searchLogs } from "../query/index.ts";
import { budgetOf } from "./budget.ts";
import { type QueryFigure, quantile, spreadOf } from "./figures.ts";
import type { StepProgress } from "./progress.ts";
import type { QueryKind, Target, Workload } from "./workload.ts";

interface QueryShape {
  name: string;
  /** svcQL text for a needle. */
  text: (needle: string) => string;
  limit: number;
}

const shapes: Readonly<Record<QueryKind, QueryShape>> = {
  rare: { name: "rare word", text: (word) => `logs |= ${JSON.stringify(word)}`, limit: 1000 },
  common: { name: "common word, newest 100", text: (word) => `logs |= ${JSON.stringify(word)}`, limit: 100 },
  regex: {
    name: "regular expression over static text",
    text: (regex) => `logs |~ ${JSON.stringify(regex)}`,
    limit: 1000,
  },
  service: {
    name: "one service, newest 100",
    text: (name) => `logs{service.name=${JSON.stringify(name)}}`,
    limit: 100,
  },
  trace: { name: "trace id", text: (id) => `logs{trace_id=${JSON.stringify(id)}}`, limit: 1000 },
};

const kinds = Object.keys(shapes) as QueryKind[];
const endOfTimeMs = Date.UTC(2100, 0, 1);

/** Measures every kind of query, from svcQL text to rows, no needle twice in a row. Throws where an answer is wrong. */
export async function measureQueries(
  store: Store,
  workload: Workload,
  show: (progress: StepProgress) => void,
): Promise<QueryFigure[]> {
  const figures: QueryFigure[] = [];
  for (const [at, kind] of kinds.entries()) {
    show({ step: "query", done: at, total: kinds.length, unit: "kinds" });
    figures.push(await measureKind(store, kind, workload));
  }
  return figures;
}

async function measureKind(store: Store, kind: QueryKind, workload: Workload): Promise<QueryFigure> {
  const { name, text, limit } = shapes[kind];
  const targets = workload.targets[kind];
  const found: number[] = [];
  let turn = 0;
  const bench = new Bench(budgetOf(workload));
  bench.add(
    name,
    async () => {
      const target = targets[turn % targets.length]!;
      turn += 1;
      const search = { query: text(target.needle.text), startMs: 0, endMs: endOfTimeMs, limit };
      const begunMs = performance.now();
      const { rows } = await searchLogs(store, search);
      const overriddenDuration = performance.now() - begunMs;
      checkAnswer(rows, target, limit);
      found.push(rows.length);
      return { overriddenDuration };
    },
    { async: true },
  );
  const [task] = await bench.run();
  const result = task!.result;
  if (!("latency" in result)) throw new Error(`${name}: ${result.state}`);
  found.sort((a, b) => a - b);
  return { kind, name, ms: spreadOf(result.latency.samples ?? []), rowsFound: quantile(found, 0.5) };
}

/** A wrong answer is no faster answer. */
function checkAnswer(
  rows: readonly FoundRow[],
  { needle, rowsHolding, fillsAnswer }: Target,
  limit: number,
): void {
  const expected = rowsHolding ?? (fillsAnswer ? limit : undefined);
  if (rows.length === 0 || (expected !== undefined && rows.length !== expected)) {
    throw new Error(`the search for the ${needle.kind} "${needle.text}" gave ${rows.length} rows`);
  }
  for (const row of rows) {
    if (!rowHolds(row, needle))
      throw new Error(`a row found does not hold the ${needle.kind} "${needle.text}"`);
  }
}
