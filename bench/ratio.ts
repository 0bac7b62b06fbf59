import type { SystemFigure } from "./queries.ts";
import type { QuestionKind } from "./question.ts";
import type { SystemName } from "./system.ts";

/** Peers are compared with; ripgrep, which searches bare text, stands there for reference. */
const peers: readonly SystemName[] = ["duckdb", "clickhouse", "svc-before"];

export function figureOf(systems: readonly SystemFigure[], name: SystemName): SystemFigure | undefined {
  return systems.find(({ system }) => system === name);
}

/** The best that any peer has; undefined where no peer has it. */
function bestPeer(
  systems: readonly SystemFigure[],
  measureOf: (figure: SystemFigure) => number | undefined,
): number | undefined {
  const values = systems
    .filter(({ system }) => peers.includes(system))
    .map(measureOf)
    .filter((value) => value !== undefined);
  return values.length === 0 ? undefined : Math.min(...values);
}

/** Undefined where the system was not asked, or failed. */
export function warmMs(figure: SystemFigure, kind: QuestionKind): number | undefined {
  const query = figure.queries.find((one) => one.kind === kind);
  return query === undefined || query.failure !== undefined ? undefined : query.warmMs.median;
}

/** How many times as much the best peer takes as svc; undefined where one of them is missing. */
export function timesBetter(
  systems: readonly SystemFigure[],
  measureOf: (figure: SystemFigure) => number | undefined,
): number | undefined {
  const own = figureOf(systems, "svc");
  const value = own === undefined ? undefined : measureOf(own);
  const best = bestPeer(systems, measureOf);
  return value === undefined || best === undefined ? undefined : best / value;
}
