/** Sample queries against a naive loop: batches in any order, parts and chunks, several days, restarts. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import {
  openStore,
  type Sample,
  type SampleAggregate,
  type SampleAggregateResult,
  type SampleQuery,
  type Store,
  textAt,
} from "../../../engine/index.ts";
import { naiveAggregate } from "./naive-samples.ts";

const seed = Number(process.env.SVC_SEED ?? Date.now() % 2 ** 31);
const title = (name: string) => `${name} (SVC_SEED=${seed})`;
const second = 1_000_000_000n;
const start = BigInt(Date.parse("2026-11-19T21:00:00Z")) * 1_000_000n;
const now = () => Date.parse("2026-11-21T12:00:00Z");
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "svc-samples-"));
  folders.push(dir);
  return dir;
}

const pods = ["a", "b", "c", ""];
const nodes = ["n1", "n2", "ünï"];
const values = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 100 }) },
  { weight: 3, arbitrary: fc.double({ min: -10, max: 1000, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(Number.NaN, Infinity, -Infinity, -0) },
);
const types = {
  gauge: ["gauge"],
  req_total: ["unknown"],
  hits: ["counter"],
  sent: ["delta"],
  lat_bucket: ["unknown"],
  mem: ["unknown", "gauge"],
};
const names = Object.keys(types) as (keyof typeof types)[];

const sample: fc.Arbitrary<Sample> = fc
  .record({
    name: fc.constantFrom(...names),
    pick: fc.nat(1),
    pod: fc.constantFrom(...pods),
    node: fc.constantFrom(...nodes),
    // Seconds that sometimes collide, with gaps of more than an hour, and across midnight.
    at: fc.oneof(fc.nat(60), fc.nat(9000), fc.integer({ min: 10_700, max: 10_900 }), fc.nat(30_000)),
    value: values,
  })
  .map(({ name, pick, pod, node, at, value }) => ({
    timeNs: start + BigInt(at) * second,
    name,
    type: types[name][pick % types[name].length] as Sample["type"],
    unit: name === "mem" ? "By" : "",
    labels: { pod, node, app: "shop" },
    value,
  }));

const attribute = (key: string) => ({ kind: "attribute", key }) as const;
const aggregates: SampleAggregate[] = [
  ...(["count", "sum", "avg", "min", "max", "stddev"] as const).map((op) => ({ op })),
  { op: "quantile", q: 0 },
  { op: "quantile", q: 0.9 },
  { op: "quantile", q: 1 },
  { op: "distinct", label: "node" },
  { op: "distinct", label: "nothing" },
];
const filters = [
  { steps: [], passes: () => true },
  {
    steps: [{ kind: "filter", filter: { kind: "equals", field: attribute("node"), value: "n1" } }],
    passes: ({ node }) => node === "n1",
  },
  {
    steps: [
      { kind: "filter", filter: { kind: "not", of: { kind: "present", field: attribute("pod") } } },
      { kind: "filter", filter: { kind: "matches", field: attribute("node"), pattern: "n.", whole: true } },
    ],
    passes: ({ pod = "", node = "" }) => pod === "" && /^n.$/.test(node),
  },
] satisfies { steps: SampleQuery["steps"]; passes: (labels: Readonly<Record<string, string>>) => boolean }[];

const query = fc.record({
  name: fc.constantFrom(...names),
  from: fc.oneof(fc.constant(-100_000), fc.integer({ min: 0, max: 20_000 })),
  length: fc.oneof(fc.constant(200_000), fc.nat(20_000)),
  bucket: fc.constantFrom(undefined, 1, 7, 60, 600, 3600, 86_400, 100_000),
  filter: fc.constantFrom(...filters),
  groupBy: fc.constantFrom<SampleQuery["groupBy"][]>(
    [],
    [attribute("pod")],
    [attribute("node"), attribute("pod")],
    [attribute("nothing")],
    { without: ["pod"] },
    { without: [] },
  ),
  of: fc.constantFrom<SampleQuery["of"][]>("declared", "increase", "value"),
  aggregate: fc.constantFrom(...aggregates),
});

function pointsOf(
  { groups, labels, points }: SampleAggregateResult,
  { groupBy }: SampleQuery,
): Map<string, number> {
  expect(new Set(points.groups).size, "groups without points").toBe(groups);
  const fields = Array.isArray(groupBy) ? groupBy.length : 1;
  const found = new Map<string, number>();
  for (const [i, group] of points.groups.entries()) {
    const texts = Array.from({ length: fields }, (_, field) => textAt(labels, group * fields + field));
    found.set(JSON.stringify([texts, points.buckets[i]!]), points.values[0]![i]!);
  }
  return found;
}

/** Expects the same points. A quantile over values that include NaN (a difference of infinities) is not defined. */
function expectSamePoints(
  found: Map<string, number>,
  wanted: Map<string, number>,
  { op }: SampleAggregate,
): void {
  expect([...found.keys()].sort()).toEqual([...wanted.keys()].sort());
  for (const [key, value] of wanted) {
    const own = found.get(key)!;
    if (Number.isFinite(value)) expect(Math.abs(own - value), key).toBeLessThan(1e-6 * (1 + Math.abs(value)));
    // The standard deviation of infinities is NaN, however it is computed.
    else if (op !== "quantile" || !Number.isNaN(value)) expect(own, key).toBe(value);
  }
}

interface Scenario {
  batches: Sample[][];
  /** What follows each batch. */
  steps: ("none" | "seal" | "restart")[];
}

async function runScenario(dir: string, { batches, steps }: Scenario): Promise<Store> {
  const options = { dir, threads: 2, now };
  let store = await openStore(options);
  for (const [i, batch] of batches.entries()) {
    const { refused } = await store.appendSamples(batch);
    expect(refused).toEqual([]);
    if (steps[i] === "seal") await store.seal();
    if (steps[i] === "restart") {
      await store.close();
      store = await openStore(options);
    }
  }
  return store;
}

describe("aggregates of samples", () => {
  test(title("equal those of the naive loop"), { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(sample, { minLength: 1, maxLength: 120 }), { minLength: 1, maxLength: 8 }),
        fc.array(fc.constantFrom("none", "none", "seal", "restart" as const), { minLength: 8, maxLength: 8 }),
        fc.array(query, { minLength: 60, maxLength: 60 }),
        async (batches, steps, queries) => {
          const store = await runScenario(folder(), { batches, steps } as Scenario);
          try {
            for (const { from, length, bucket, filter, ...rest } of queries) {
              const fromNs = start + BigInt(from) * second;
              const asked: SampleQuery = {
                ...rest,
                fromNs,
                toNs: fromNs + BigInt(length) * second,
                ...(bucket === undefined ? {} : { bucketNs: BigInt(bucket) * second }),
                steps: filter.steps,
              };
              const wanted = naiveAggregate(batches.flat(), asked, filter.passes);
              expectSamePoints(pointsOf(await store.aggregateSamples(asked), asked), wanted, asked.aggregate);
            }
          } finally {
            await store.close();
          }
        },
      ),
      { seed, numRuns: 4, endOnFailure: true },
    );
  });
});
