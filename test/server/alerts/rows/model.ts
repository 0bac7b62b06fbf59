/**
 * What should have been told in the end, from the rows that are stored in the end: every bucket anew, in plain loops.
 * Shares no code with what it judges.
 */
import type { AlertDefinition } from "../../../../server/alerts/state/alert-definition.ts";
import { type Cell, naiveOpenState, naiveState, type OpenCell, windowOf } from "../naive.ts";
import { type Figure, figureOf, type Row, second } from "./world.ts";

export interface ModelFire {
  name: string;
  fromMs: number;
  toMs: number | null;
}

export interface Outcome {
  fires: ModelFire[];
  /** Ends of buckets at which the stored rows alone, taken as all there are, do not let the rule fire, by name. */
  forbidden: Map<string, Set<number>>;
}

interface Scene {
  alert: AlertDefinition;
  figure: Figure;
  isPlain: boolean;
  windowMs: number;
  rows: readonly Row[];
  gaps: readonly (readonly [fromMs: number, toMs: number])[];
  /** The first bucket that is judged, and the end of the last. */
  firstMs: number;
  endMs: number;
}

export function expectOutcome(scene: Scene): Outcome {
  const stored = scene.rows.filter(({ arrivedMs }) => arrivedMs < Number.POSITIVE_INFINITY);
  const names = scene.isPlain ? [""] : [...new Set(stored.map(({ name }) => name))];
  const outcome: Outcome = { fires: [], forbidden: new Map() };
  for (const name of names) {
    const own = scene.isPlain ? stored : stored.filter((row) => row.name === name);
    judgeSeries(scene, name, own, stored, outcome);
  }
  return outcome;
}

function judgeSeries(
  { alert, figure, isPlain, windowMs, gaps, firstMs, endMs }: Scene,
  name: string,
  own: readonly Row[],
  all: readonly Row[],
  { fires, forbidden }: Outcome,
): void {
  const widthMs = alert.timeseries.expression.svcQLTimeseries.bucketSize * second;
  const [rule] = alert.timeseries.evaluationRules;
  const window = windowOf(rule!);
  const cells: (Cell | OpenCell)[] = [];
  const values: Cell[] = [];
  const never = new Set<number>();
  forbidden.set(name, never);
  let state: string | undefined;
  let fire: ModelFire | null = null;
  // Nothing was there before the first bucket.
  for (let i = window.n + 2; i > 0; i--) {
    cells.push(null);
    values.push(null);
  }
  for (let ms = firstMs; ms < endMs; ms += widthMs) {
    const fromMs = ms + widthMs - windowMs;
    const inBucket = (row: Row) => row.atMs >= fromMs && row.atMs < ms + widthMs;
    const value = figureOf(
      figure,
      own.filter(inBucket).map((row) => row.value),
    );
    values.push(value);
    cells.push(mayLackRows(fromMs, ms + widthMs, gaps, all) ? openCell(figure, value) : value);
    if (state === undefined && value === null && !isPlain) continue;
    if (naiveState(values, window, "kept") === "ok") never.add(ms + widthMs);
    const before: string | undefined = state;
    state = naiveOpenState(cells, window, before ?? "noData");
    if (state === "firing" && fire === null) {
      fire = { name, fromMs: ms + widthMs, toMs: null };
      fires.push(fire);
    } else if (state === "ok" && fire !== null) {
      fire.toMs = ms + widthMs;
      fire = null;
    }
  }
}

/** The server was away for more than a twentieth of the bucket, and nothing was repeated. */
function mayLackRows(fromMs: number, toMs: number, gaps: Scene["gaps"], rows: readonly Row[]): boolean {
  let awayMs = 0;
  for (let ms = fromMs; ms < toMs; ms += 100)
    if (gaps.some(([from, to]) => from <= ms && ms < to)) awayMs += 100;
  if (awayMs <= (toMs - fromMs) / 20) return false;
  return !rows.some(
    ({ atMs }) => atMs >= fromMs && atMs < toMs && gaps.some(([from, to]) => from <= atMs && atMs < to),
  );
}

function openCell(figure: Figure, value: Cell): OpenCell {
  const moves = { count: "rises", max: "rises", min: "falls", avg: "moves" } as const;
  return { value, moves: moves[figure] };
}
