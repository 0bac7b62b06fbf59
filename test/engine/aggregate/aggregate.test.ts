/**
 * Aggregations against a naive loop: random rows in every storage state, random filters, groups, buckets and ranges.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, test } from "vitest";
import {
  type AggregateQuery,
  type AggregateResult,
  type Field,
  type LogRow,
  type Store,
  textAt,
} from "../../../engine/index.ts";
import { scaled } from "../../durability/campaign.ts";
import { fieldText, runSteps } from "../../query/naive.ts";
import { arbitraryComparedField, arbitrarySteps } from "../arbitrary.ts";
import {
  arbitraryRange,
  type Dataset,
  type FilledStore,
  fillStore,
  printBigInt,
  sample,
  seed,
} from "../datasets.ts";
import { arbitraryAggregation, type Expected, expectedAggregate, expectPoints } from "./aggregations.ts";

const datasets = scaled(9, 400);
const queriesEach = 40;
const secondNs = 1_000_000_000n;
/** Bucket widths from a millisecond to more than all of time; some do not divide a day. */
const widths = [
  1_000_000n,
  secondNs,
  60n * secondNs,
  3_600n * secondNs,
  7_001n * secondNs,
  86_400n * secondNs,
].concat([100_000n * secondNs, 10n ** 18n, 10n ** 30n]);

let filled: FilledStore;
let store: Store;
let sets: Dataset[];

describe(`random aggregations over random rows (SVC_SEED=${seed})`, () => {
  beforeAll(async () => {
    filled = await fillStore(datasets, 32 * 2 ** 20);
    ({ store, sets } = filled);
  }, 120_000);

  afterAll(() => filled.close());

  test(`${datasets * queriesEach} aggregations equal those of a loop over the rows`, async () => {
    for (const [number, set] of sets.entries()) {
      for (const query of sample(arbitraryQuery(set), queriesEach, 13_000 + number)) {
        const found = await store.aggregate(query);
        const context = `dataset ${number} (${set.state}): ${JSON.stringify(query, printBigInt)}`;
        expectPoints(pointsOf(query, found), naivePoints(set, query), context);
      }
    }
  }, 300_000);
});

function arbitraryQuery(set: Dataset): fc.Arbitrary<AggregateQuery> {
  const groupBy = fc.oneof(
    fc.array(arbitraryComparedField, { maxLength: 3 }),
    fc.constantFrom<Field[]>([], [{ kind: "level" }], [{ kind: "attribute", key: "service.name" }]),
  );
  const aggregates = fc.oneof(
    fc.constantFrom<AggregateQuery["aggregates"]>(
      [{ op: "count" }],
      [{ op: "first" }, { op: "count" }, { op: "last" }],
    ),
    fc.array(arbitraryAggregation, { minLength: 1, maxLength: 5 }),
  );
  const width = fc.option(fc.constantFrom(...widths), { nil: undefined });
  return fc
    .tuple(arbitraryRange(set), arbitrarySteps(set.rows), groupBy, width, aggregates)
    .map(([range, steps, fields, bucketNs, ops]) => ({
      signal: "logs",
      ...range,
      steps,
      groupBy: fields,
      ...(bucketNs === undefined ? {} : { bucketNs }),
      aggregates: ops,
    }));
}

/** The values of each point, by its group and bucket as JSON. */
function pointsOf({ groupBy }: AggregateQuery, { labels, points }: AggregateResult): Map<string, number[]> {
  return new Map(
    Array.from(points.groups, (group, i): [string, number[]] => {
      const texts = groupBy.map((_, field) => textAt(labels, group * groupBy.length + field));
      return [JSON.stringify([texts, points.buckets[i]]), points.values.map((each) => each[i]!)];
    }),
  );
}

function naivePoints(set: Dataset, query: AggregateQuery): Map<string, Expected[]> {
  const { fromNs, toNs, bucketNs } = query;
  const within = set.rows.filter(({ timeNs }) => timeNs >= fromNs && timeNs < toNs);
  // Steps run on each row alone.
  const points = new Map<string, LogRow[]>();
  for (const row of within.flatMap((each) => runSteps(query.steps, [each]))) {
    const labels = query.groupBy.map((field) => textOf(field, row) ?? "");
    const bucket = bucketNs === undefined ? 0n : row.timeNs / bucketNs - fromNs / bucketNs;
    const point = JSON.stringify([labels, Number(bucket)]);
    points.set(point, [...(points.get(point) ?? []), row]);
  }
  return new Map(
    Array.from(points, ([point, rows]) => [
      point,
      query.aggregates.map((aggregate) => expectedAggregate(aggregate, rows, textOf)),
    ]),
  );
}

function textOf(field: Field, row: LogRow): string | undefined {
  return fieldText(field, { row, attributes: new Map(Object.entries(row.attributes)) });
}
