/** Counts of values against a naive loop: random rows in every state, random steps and ranges. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type LogRow,
  type Step,
  templateTextOf,
  type ValueCounts,
  type ValuesQuery,
} from "../../../engine/index.ts";
import { runSteps } from "../../query/naive.ts";
import { arbitrarySteps } from "../arbitrary.ts";
import {
  arbitraryRange,
  type Dataset,
  type FilledStore,
  fillStore,
  printBigInt,
  sample,
  seed,
} from "../datasets.ts";

const datasets = 10;
const queriesEach = 50;
const valuesMax = 20;

let filled: FilledStore;

describe(`random counts of values (SVC_SEED=${seed})`, () => {
  beforeAll(async () => {
    filled = await fillStore(datasets, 32 * 2 ** 20);
  }, 120_000);

  afterAll(() => filled.close());

  test(`${datasets * queriesEach} counts are what a loop over the rows gives`, async () => {
    let found = 0;
    let tooMany = 0;
    for (const [number, set] of filled.sets.entries()) {
      for (const query of sample(arbitraryQuery(set), queriesEach, 19_000 + number)) {
        const counted = await filled.store.countValues(query);
        const context = `dataset ${number} (${set.state}): ${JSON.stringify(query, printBigInt)}`;
        const expected = naiveCounts(set, query);
        expect({ rows: counted.rows, isWhole: counted.isWhole, ...listCounts(counted) }, context).toEqual(
          expected,
        );
        found += counted.rows;
        tooMany += expected.attributes.filter(([, values]) => values === undefined).length;
      }
    }
    expect(found).toBeGreaterThan(500);
    expect(tooMany).toBeGreaterThan(10);
  }, 300_000);
});

/** Half of them without steps, for which headers list counts. */
function arbitraryQuery(set: Dataset): fc.Arbitrary<ValuesQuery> {
  const whole = fc.constant({ fromNs: set.fromNs, toNs: set.toNs + 86_400_000_000_000n });
  return fc
    .tuple(fc.oneof(arbitraryRange(set), whole), fc.oneof(arbitrarySteps(set.rows), fc.constant<Step[]>([])))
    .map(([range, steps]) => ({ signal: "logs", ...range, steps, valuesMax }));
}

type Counts = [value: string, rows: number][];

/** Levels and attributes with their values in order, and how many rows each template has, as ids say nothing. */
function listCounts({ fields }: ValueCounts) {
  const valuesOf = (kind: string) => fields.find(({ field }) => field.kind === kind)?.values ?? new Map();
  return {
    levels: [...valuesOf("level")].sort(),
    templates: [...valuesOf("template").values()].sort(),
    attributes: fields
      .flatMap(({ field, values }): [string, Counts | undefined][] =>
        field.kind === "attribute" ? [[field.key, values && [...values].sort()]] : [],
      )
      .filter(([, values]) => values === undefined || values.length > 0)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  };
}

function naiveCounts(set: Dataset, { fromNs, toNs, steps }: ValuesQuery) {
  const within = set.rows.filter(({ timeNs }) => timeNs >= fromNs && timeNs < toNs);
  const rows: LogRow[] = within.flatMap((each) => runSteps(steps, [each]));
  const attributes = new Map<string, Map<string, number>>();
  const levels = new Map<string, number>();
  const templates = new Map<string, number>();
  const add = (values: Map<string, number>, value: string) => values.set(value, (values.get(value) ?? 0) + 1);
  for (const row of rows) {
    add(levels, row.level.toLowerCase());
    add(templates, templateTextOf(row.message));
    for (const [key, value] of Object.entries(row.attributes)) {
      if (!attributes.has(key)) attributes.set(key, new Map());
      add(attributes.get(key)!, value);
    }
  }
  return {
    rows: rows.length,
    isWhole: true,
    levels: [...levels].sort(),
    templates: [...templates.values()].sort(),
    attributes: Array.from(attributes, ([key, values]): [string, Counts | undefined] => {
      return [key, values.size > valuesMax ? undefined : [...values].sort()];
    }).sort(([a], [b]) => (a < b ? -1 : 1)),
  };
}
