import type { QuestionKind } from "../datasets/question.ts";
import type { SystemFigure } from "../runner/query-rounds.ts";
import type { SystemName } from "../systems/system.ts";

/** ripgrep, which searches bare text, is no peer and shown only for reference. */
const peers: readonly SystemName[] = ["duckdb", "clickhouse", "svc-before"];

export function figureOf(systems: readonly SystemFigure[], name: SystemName): SystemFigure | undefined {
  return systems.find(({ system }) => system === name);
}

/** The least value of any peer; undefined where no peer has one. */
function findBestOfPeers(
  systems: readonly SystemFigure[],
  measureOf: (figure: SystemFigure) => number | undefined,
): number | undefined {
  const values = systems
    .filter(({ system }) => peers.includes(system))
    .map(measureOf)
    .filter((value) => value !== undefined);
  return values.length === 0 ? undefined : Math.min(...values);
}

/** The warm median in milliseconds; undefined where the system was not asked, or failed. */
export function warmMsOf(figure: SystemFigure, kind: QuestionKind): number | undefined {
  const query = figure.queries.find((one) => one.kind === kind);
  return query === undefined || query.failure !== undefined ? undefined : query.warmMs.median;
}

/** The cold median in milliseconds; undefined where the system was not asked. */
export function coldMsOf(figure: SystemFigure, kind: QuestionKind): number | undefined {
  const ms = figure.queries.find((one) => one.kind === kind)?.coldMs;
  return ms === undefined || ms.runs === 0 ? undefined : ms.median;
}

/** The best peer's value over svc's, above 1 where svc is better. Undefined where one of them is missing. */
export function ratioToBestPeer(
  systems: readonly SystemFigure[],
  measureOf: (figure: SystemFigure) => number | undefined,
): number | undefined {
  const own = figureOf(systems, "svc");
  const value = own === undefined ? undefined : measureOf(own);
  const best = findBestOfPeers(systems, measureOf);
  return value === undefined || best === undefined ? undefined : best / value;
}
