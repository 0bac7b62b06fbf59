/** What two answers differ in. */
import { labelsKey } from "./naive/data.ts";

interface Answered {
  labels: Record<string, string>;
  points: readonly (readonly [ms: number, value: number])[];
}

/** In words, or the empty text. Series are told apart by their labels, and compared in their order where that counts. */
export function difference(
  found: readonly Answered[],
  expected: readonly Answered[],
  isOrdered: boolean,
): string {
  const [ours, theirs] = [found, expected].map((all) => all.map(({ labels }) => labelsKey(labels)));
  if (!isOrdered) for (const keys of [ours!, theirs!]) keys.sort();
  if (ours!.join() !== theirs!.join())
    return `series ${ours!.join(" ")} where ${theirs!.join(" ")} are expected`;
  const byKey = new Map(found.map((series) => [labelsKey(series.labels), series.points]));
  const parts = expected.map(({ labels, points }) => {
    const own = byKey.get(labelsKey(labels))!;
    return isAlike(own, points)
      ? ""
      : `${labelsKey(labels)}: ${shown(own)} where ${shown(points)} is expected`;
  });
  return parts.filter((part) => part !== "").join("\n");
}

function isAlike(found: Answered["points"], expected: Answered["points"]): boolean {
  return (
    found.length === expected.length &&
    found.every(([ms, value], index) => {
      const [wantedMs, wanted] = expected[index]!;
      const most = Math.max(1, Math.abs(value), Math.abs(wanted));
      return ms === wantedMs && Math.abs(value - wanted) <= 1e-9 * most;
    })
  );
}

function shown(points: Answered["points"]): string {
  return points.map(([ms, value]) => `${ms}=${value}`).join(" ");
}
