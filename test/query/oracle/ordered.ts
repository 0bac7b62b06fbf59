/** Stages that look at several rows. Rows come, and go, in the order of their times. */
import type { StagedRow } from "./row.ts";

/** The rows of each group; rows that have none of the labels are in none. */
function groupRows(rows: readonly StagedRow[], by: readonly string[] | undefined): StagedRow[][] {
  if (by === undefined) return rows.length === 0 ? [] : [[...rows]];
  const groups = new Map<string, StagedRow[]>();
  for (const row of rows) {
    const texts = by.map((label) => row.readGrouped(label));
    if (texts.every((text) => text === "")) continue;
    const key = JSON.stringify(texts);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return [...groups.values()];
}

/** Milliseconds from one row to another. */
function millisecondsBetween(first: StagedRow, second: StagedRow): number {
  return Number(second.stored.timeNs - first.stored.timeNs) / 1e6;
}

function isNear(a: StagedRow, b: StagedRow, withinMs: number | undefined): boolean {
  return withinMs === undefined || Math.abs(millisecondsBetween(a, b)) <= withinMs;
}

export type RowFunction =
  | { name: "lag" | "lead"; label: string; distance: number }
  | { name: "first" | "last"; label: string }
  | { name: "since_previous" | "until_next" | "since_first" | "row_number" };

/** `| label = lag(…)`: gives each row that is in a group the label, and takes it from those for which there is no row. */
export function giveLabel(
  rows: readonly StagedRow[],
  name: string,
  read: RowFunction,
  by: readonly string[] | undefined,
  withinMs: number | undefined,
): void {
  const given = new Map<StagedRow, string | undefined>();
  for (const group of groupRows(rows, by)) {
    for (const [at, row] of group.entries()) given.set(row, readFrom(group, at, read, withinMs));
  }
  for (const row of rows) {
    const isOfMilliseconds = "label" in read && row.isMilliseconds(read.label);
    row.setLabel(name, given.get(row));
    if (isOfMilliseconds || /^(since|until)_/.test(read.name)) row.milliseconds.add(name);
    else row.milliseconds.delete(name);
  }
}

function readFrom(
  group: readonly StagedRow[],
  at: number,
  read: RowFunction,
  withinMs: number | undefined,
): string | undefined {
  const row = group[at]!;
  const near = (other: StagedRow | undefined) =>
    other !== undefined && isNear(row, other, withinMs) ? other : undefined;
  const since = (other: StagedRow | undefined) =>
    other === undefined ? undefined : String(Math.abs(millisecondsBetween(row, other)));
  switch (read.name) {
    case "lag":
      return near(group[at - read.distance])?.readGrouped(read.label);
    case "lead":
      return near(group[at + read.distance])?.readGrouped(read.label);
    case "first":
      return group.find((other) => isNear(row, other, withinMs))?.readGrouped(read.label);
    case "last":
      return group.findLast((other) => isNear(row, other, withinMs))?.readGrouped(read.label);
    case "since_previous":
      return since(near(group[at - 1]));
    case "until_next":
      return since(near(group[at + 1]));
    case "since_first":
      return since(group.find((other) => isNear(row, other, withinMs)));
    case "row_number":
      return String(at + 1);
  }
}

export function keepEnds(
  rows: readonly StagedRow[],
  end: "first" | "last",
  by: readonly string[],
): StagedRow[] {
  const kept = new Set(groupRows(rows, by).map((group) => group.at(end === "first" ? 0 : -1)));
  return rows.filter((row) => kept.has(row));
}

export interface SequenceStep {
  isNot: boolean;
  passes(row: StagedRow): boolean;
}

/** `| sequence (…)`: the rows that end one, with `sequence_ms` and `sequence_start` of the shortest. */
export function keepSequences(
  rows: readonly StagedRow[],
  steps: readonly SequenceStep[],
  by: readonly string[] | undefined,
  withinMs: number,
): StagedRow[] {
  const starts = new Map<StagedRow, StagedRow>();
  for (const group of groupRows(rows, by)) {
    for (const [end, start] of findSequences(group, steps, withinMs)) starts.set(end, start);
  }
  const kept = rows.filter((row) => starts.has(row));
  for (const row of kept) {
    const start = starts.get(row)!;
    row.setLabel("sequence_ms", String(millisecondsBetween(start, row)));
    row.milliseconds.add("sequence_ms");
    row.setLabel("sequence_start", String(start.timeMs));
  }
  return kept;
}

/** The rows that end a sequence, each with the latest row that begins one. */
function findSequences(
  group: readonly StagedRow[],
  steps: readonly SequenceStep[],
  withinMs: number,
): [end: StagedRow, start: StagedRow][] {
  const firstAt = steps.findIndex(({ isNot }) => !isNot);
  const lastAt = steps.findLastIndex(({ isNot }) => !isNot);
  const passesNone = (notSteps: readonly SequenceStep[], from: number, to: number, near?: StagedRow) =>
    !group
      .slice(Math.max(from, 0), Math.max(to, 0))
      .some(
        (row) =>
          (near === undefined || isNear(row, near, withinMs)) && notSteps.some((step) => step.passes(row)),
      );
  /** The latest start of what leads to the row at an index; -1 where nothing does. */
  let reached = group.map((row, at) =>
    steps[firstAt]!.passes(row) && passesNone(steps.slice(0, firstAt), 0, at, row) ? at : -1,
  );
  let before: SequenceStep[] = [];
  for (const step of steps.slice(firstAt + 1, lastAt + 1)) {
    if (step.isNot) {
      before.push(step);
      continue;
    }
    const from = reached;
    const nots = before;
    reached = group.map((row, at) => {
      if (!step.passes(row)) return -1;
      let start = -1;
      for (let i = at - 1; i >= 0; i--) {
        if (from[i]! > start) start = from[i]!;
        if (nots.some((not) => not.passes(group[i]!))) break;
      }
      return start;
    });
    before = [];
  }
  const behind = steps.slice(lastAt + 1);
  return group.flatMap((row, at): [StagedRow, StagedRow][] => {
    const start = reached[at]!;
    if (start === -1 || !isNear(group[start]!, row, withinMs)) return [];
    return passesNone(behind, at + 1, group.length, row) ? [[row, group[start]!]] : [];
  });
}

export interface JoinLabel {
  own: string;
  other: string;
}

/** The earliest of the other rows that agrees in the labels and is near enough. */
export function findPartner(
  row: StagedRow,
  others: readonly StagedRow[],
  on: readonly JoinLabel[],
  withinMs: number | undefined,
): StagedRow | undefined {
  const texts = on.map(({ own }) => row.readGrouped(own));
  if (texts.every((text) => text === "")) return undefined;
  return others.find(
    (other) =>
      isNear(row, other, withinMs) && on.every((label, i) => other.readGrouped(label.other) === texts[i]),
  );
}
