/** Random aggregates, and their values by a naive loop over rows. */
import fc from "fast-check";
import { expect } from "vitest";
import type { Aggregation, Field, LogRow, Value } from "../../../engine/index.ts";
import { arbitraryField } from "../arbitrary.ts";

const path = fc.constantFrom<NonNullable<Value["path"]>>(
  [],
  ["code"],
  ["user", "tags", 0],
  ["user", "id"],
  ["user", "tags", "0"],
  ["user", "tags", "length"],
  ["__proto__"],
  [0],
);
const value: fc.Arbitrary<Value> = fc.oneof(
  { weight: 4, arbitrary: arbitraryField.map((field) => ({ field })) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.oneof(fc.constant<Field>({ kind: "message" }), arbitraryField), path)
      .map(([field, steps]) => ({ field, path: steps })),
  },
);

export const arbitraryAggregation: fc.Arbitrary<Aggregation> = fc.oneof(
  fc.constantFrom<Aggregation>({ op: "count" }, { op: "first" }, { op: "last" }),
  fc.record({
    op: fc.constantFrom("sum", "avg", "min", "max", "stddev", "numbers", "squares" as const),
    of: value,
  }),
  fc.record({
    op: fc.constant("quantile" as const),
    of: value,
    q: fc.oneof(fc.constantFrom(0, 0.5, 0.95, 1), fc.double({ min: 0, max: 1, noNaN: true })),
  }),
  fc.record({ op: fc.constant("distinct" as const), of: arbitraryField }),
) as fc.Arbitrary<Aggregation>;

type TextOf<Row> = (field: Field, row: Row) => string | undefined;

/** One aggregate of the rows of a point; at least one row. */
export function naiveAggregate<Row extends Pick<LogRow, "timeNs">>(
  aggregate: Aggregation,
  rows: readonly Row[],
  textOf: TextOf<Row>,
): number {
  const times = rows.map(({ timeNs }) => Number(timeNs / 1_000_000n));
  switch (aggregate.op) {
    case "count":
      return rows.length;
    case "first":
      return times.reduce((a, b) => Math.min(a, b));
    case "last":
      return times.reduce((a, b) => Math.max(a, b));
    case "distinct":
      return new Set(rows.map((row) => textOf(aggregate.of, row) ?? "").filter((text) => text !== "")).size;
    default: {
      const numbers = numbersOf(aggregate.of, rows, textOf);
      return numbers.length === 0 ? Number.NaN : naiveNumber(aggregate, numbers);
    }
  }
}

/** The value of an aggregate, and the error that rounding may cause. */
export interface Expected {
  value: number;
  tolerance: number;
}

export function expectedAggregate<Row extends Pick<LogRow, "timeNs">>(
  aggregate: Aggregation,
  rows: readonly Row[],
  textOf: TextOf<Row>,
): Expected {
  const value = naiveAggregate(aggregate, rows, textOf);
  const tolerance = Math.abs(value) * 1e-9;
  if (aggregate.op !== "stddev" && aggregate.op !== "squares") return { value, tolerance };
  // A standard deviation is as exact as the mean: each addition may lose a last place of the greatest number.
  const numbers = numbersOf(aggregate.of, rows, textOf);
  const greatest = numbers.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
  const meanError = greatest * numbers.length * Number.EPSILON;
  // No number is further than twice the greatest from the mean, and each distance is squared.
  const error = aggregate.op === "squares" ? meanError * 4 * greatest * numbers.length : meanError;
  return { value, tolerance: tolerance + error };
}

function numbersOf<Row>({ field, path: steps }: Value, rows: readonly Row[], textOf: TextOf<Row>): number[] {
  return rows.flatMap((row) => numberOf(textOf(field, row), steps));
}

function squaresOf(numbers: readonly number[], mean: number): number {
  return numbers.reduce((squares, number) => squares + (number - mean) ** 2, 0);
}

function naiveNumber(
  aggregate: Exclude<Aggregation, { op: "count" | "first" | "last" | "distinct" }>,
  numbers: readonly number[],
): number {
  const sum = numbers.reduce((a, b) => a + b, 0);
  const mean = sum / numbers.length;
  switch (aggregate.op) {
    case "sum":
      return sum;
    case "avg":
      return mean;
    case "min":
      return numbers.reduce((a, b) => Math.min(a, b));
    case "max":
      return numbers.reduce((a, b) => Math.max(a, b));
    case "stddev":
      return Math.sqrt(squaresOf(numbers, mean) / numbers.length);
    case "numbers":
      return numbers.length;
    case "squares":
      return squaresOf(numbers, mean);
    case "quantile": {
      const sorted = numbers.toSorted((a, b) => a - b);
      const rank = aggregate.q * (numbers.length - 1);
      const low = sorted[Math.floor(rank)]!;
      const high = sorted[Math.ceil(rank)]!;
      return low === high ? low : low + (high - low) * (rank - Math.floor(rank));
    }
  }
}

function numberOf(text: string | undefined, path: Value["path"]): number[] {
  if (text === undefined) return [];
  if (path === undefined) return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? [Number(text)] : [];
  let node: unknown;
  try {
    node = JSON.parse(text);
  } catch {
    return [];
  }
  for (const step of path) {
    if (Array.isArray(node)) node = typeof step === "number" ? node[step] : undefined;
    else if (typeof node !== "object" || node === null || typeof step !== "string") node = undefined;
    else node = new Map<string, unknown>(Object.entries(node)).get(step);
  }
  return typeof node === "number" ? [node] : [];
}

/**
 * Expects the points to agree within their tolerance, because the store may add numbers in another order than the loop.
 */
export function expectPoints(
  found: ReadonlyMap<string, number[]>,
  wanted: ReadonlyMap<string, Expected[]>,
  context: string,
): void {
  expect([...found.keys()].sort(), context).toEqual([...wanted.keys()].sort());
  for (const [point, values] of wanted) {
    for (const [i, { value, tolerance }] of values.entries()) {
      const got = found.get(point)![i]!;
      const isClose = Object.is(got, value) || got === value || Math.abs(got - value) <= tolerance;
      expect(isClose, `${context}: ${point}: aggregate ${i} is ${got}, not ${value}`).toBe(true);
    }
  }
}
