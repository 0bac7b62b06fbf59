/** Compares two lists of series. */
import { labelKeyOf } from "./naive/data.ts";

interface ComparedSeries {
  labels: Record<string, string>;
  points: readonly (readonly [ms: number, value: number])[];
}

/**
 * The differences in words; "" for none. Series are identified by their labels. Their order counts only if `isOrdered`.
 */
export function describeDifference(
  found: readonly ComparedSeries[],
  expected: readonly ComparedSeries[],
  isOrdered: boolean,
): string {
  const [foundKeys, expectedKeys] = [found, expected].map((all) =>
    all.map(({ labels }) => labelKeyOf(labels)),
  );
  if (!isOrdered) for (const keys of [foundKeys!, expectedKeys!]) keys.sort();
  if (foundKeys!.join() !== expectedKeys!.join())
    return `series ${foundKeys!.join(" ")} where ${expectedKeys!.join(" ")} are expected`;
  const byKey = new Map(found.map((series) => [labelKeyOf(series.labels), series.points]));
  const parts = expected.map(({ labels, points }) => {
    const foundPoints = byKey.get(labelKeyOf(labels))!;
    return isAlike(foundPoints, points)
      ? ""
      : `${labelKeyOf(labels)}: ${printPoints(foundPoints)} where ${printPoints(points)} is expected`;
  });
  return parts.filter((part) => part !== "").join("\n");
}

function isAlike(found: ComparedSeries["points"], expected: ComparedSeries["points"]): boolean {
  return (
    found.length === expected.length &&
    found.every(([ms, value], index) => {
      const [expectedMs, expectedValue] = expected[index]!;
      const most = Math.max(1, Math.abs(value), Math.abs(expectedValue));
      return ms === expectedMs && Math.abs(value - expectedValue) <= 1e-9 * most;
    })
  );
}

function printPoints(points: ComparedSeries["points"]): string {
  return points.map(([ms, value]) => `${ms}=${value}`).join(" ");
}
