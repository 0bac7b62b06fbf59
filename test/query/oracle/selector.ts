/** Selectors of rows: braces, stages, and which rows they find in which form. */
import type { Random } from "../../../fixtures/random.ts";
import type { Condition, LineFilter } from "./condition.ts";
import {
  findPartner,
  giveLabel,
  type JoinLabel,
  keepEnds,
  keepSequences,
  type RowFunction,
  type SequenceStep,
} from "./ordered.ts";
import type { RowSource, StagedRow } from "./row.ts";
import { printDuration, printLabel } from "./text.ts";

/** The rows of each signal in the order of their times. */
export type StoredRows = Readonly<Record<RowSource, readonly StagedRow[]>>;

/** Where a selector is asked: the rows there are, and the range of the question. */
export interface Asked {
  rows: StoredRows;
  startMs: number;
  /** Inclusive. */
  endMs: number;
}

export interface Stage {
  text: string;
  forms: readonly string[];
  /** In which directions it looks at other rows without a bound. */
  looks?: Directions;
  /** `cut`: where no stage of the selector sees rows outside of the range. */
  apply(rows: readonly StagedRow[], asked: Asked, cut: Directions): StagedRow[];
}

interface Directions {
  back: boolean;
  ahead: boolean;
}

export interface Selector {
  text: string;
  forms: readonly string[];
  source: RowSource;
  matchers: readonly Condition[];
  stages: readonly Stage[];
}

export function select(
  source: RowSource,
  matchers: readonly Condition[],
  stages: readonly Stage[],
  random: Random,
  isNamed = source !== "logs",
): Selector {
  const braces = `{${matchers.map(({ text }) => text).join(random.oneIn(2) ? ", " : ",")}}`;
  const isBare = matchers.length === 0 && (isNamed || random.oneIn(2));
  const head = isBare ? source : !isNamed && random.oneIn(2) ? braces : source + braces;
  const space = () => (random.oneIn(12) ? "\n  " : random.oneIn(25) ? " # a comment\n" : " ");
  return {
    text: head + stages.map(({ text }) => space() + text).join(""),
    forms: [source, ...matchers.flatMap(({ forms }) => forms), ...stages.flatMap(({ forms }) => forms)],
    source,
    matchers,
    stages,
  };
}

export function isInRange(
  { timeMs }: StagedRow,
  { startMs, endMs }: Pick<Asked, "startMs" | "endMs">,
): boolean {
  return timeMs >= startMs && timeMs <= endMs;
}

/**
 * The rows found, in the order of their times. Rows outside of the range are among them, as far as `within` reaches.
 * Where a stage looks back, or ahead, without `within`, there is nothing in that direction but the range.
 */
export function findRows({ source, matchers, stages }: Selector, asked: Asked): StagedRow[] {
  const cut: Directions = {
    back: stages.some(({ looks }) => looks?.back === true),
    ahead: stages.some(({ looks }) => looks?.ahead === true),
  };
  let rows = cutRows(asked.rows[source], asked, cut).map((row) => row.copy());
  rows = rows.filter((row) => matchers.every((matcher) => matcher.passes(row)));
  for (const stage of stages) rows = stage.apply(rows, asked, cut);
  return rows;
}

function cutRows(
  rows: readonly StagedRow[],
  { startMs, endMs }: Asked,
  { back, ahead }: Directions,
): StagedRow[] {
  return rows.filter(({ timeMs }) => !(back && timeMs < startMs) && !(ahead && timeMs > endMs));
}

export function filterLabels(condition: Condition): Stage {
  const apply = (rows: readonly StagedRow[]) => rows.filter((row) => condition.passes(row));
  return { text: `| ${condition.text}`, forms: ["label filter", ...condition.forms], apply };
}

export function filterLines(filter: LineFilter): Stage {
  const apply = (rows: readonly StagedRow[]) => rows.filter((row) => filter.passesText(row.text));
  return { text: filter.text, forms: filter.forms, apply };
}

/** A stage that changes each row by itself. */
export function change(text: string, form: string, changeRow: (row: StagedRow) => void): Stage {
  const apply = (rows: readonly StagedRow[]) => {
    for (const row of rows) changeRow(row);
    return [...rows];
  };
  return { text, forms: [form], apply };
}

/** Rows of the group, and how far apart they may be. */
export interface Reach {
  by: readonly string[] | undefined;
  withinMs: number | undefined;
}

function printReach({ by, withinMs }: Reach, random: Random): string {
  const labels = by === undefined ? "" : ` by (${by.map((label) => printLabel(label, random)).join(", ")})`;
  return labels + (withinMs === undefined ? "" : ` within ${printDuration(withinMs, random)}`);
}

export function label(name: string, read: RowFunction, reach: Reach, random: Random): Stage {
  const inner =
    "distance" in read
      ? printLabel(read.label, random) + (read.distance === 1 && random.oneIn(2) ? "" : `, ${read.distance}`)
      : "label" in read
        ? printLabel(read.label, random)
        : "";
  const text = `| ${printLabel(name, random)} = ${read.name}(${inner})${printReach(reach, random)}`;
  const isAhead = read.name === "lead" || read.name === "last" || read.name === "until_next";
  const isOpen = reach.withinMs === undefined;
  const apply = (rows: readonly StagedRow[]) => {
    giveLabel(rows, name, read, reach.by, reach.withinMs);
    return [...rows];
  };
  const looks = { back: isOpen && !isAhead, ahead: isOpen && isAhead };
  return { text, forms: ["ordered", `= ${read.name}`], looks, apply };
}

export function keepEnd(end: "first" | "last", by: readonly string[], random: Random): Stage {
  const text = `| ${end} by (${by.map((each) => printLabel(each, random)).join(", ")})`;
  const apply = (rows: readonly StagedRow[]) => keepEnds(rows, end, by);
  const looks = { back: end === "first", ahead: end === "last" };
  return { text, forms: ["ordered", `${end} by`], looks, apply };
}

export interface PrintedStep extends SequenceStep {
  text: string;
}

export function sequence(
  steps: readonly PrintedStep[],
  by: readonly string[] | undefined,
  withinMs: number,
  random: Random,
): Stage {
  const inner = steps.map(({ isNot, text }) => (isNot ? `not ${text}` : text)).join(" then ");
  const text = `| sequence (${inner})${printReach({ by, withinMs }, random)}`;
  const apply = (rows: readonly StagedRow[]) => keepSequences(rows, steps, by, withinMs);
  return {
    text,
    forms: ["ordered", "sequence", ...(steps.some(({ isNot }) => isNot) ? ["sequence with not"] : [])],
    apply,
  };
}

/** `join` and `unless`. */
export function joinRows(
  kind: "join" | "unless",
  other: Selector,
  on: readonly JoinLabel[],
  withinMs: number | undefined,
  random: Random,
): Stage {
  const labels = on.map(({ own, other: theirs }) =>
    own === theirs ? printLabel(own, random) : `${printLabel(own, random)} = ${printLabel(theirs, random)}`,
  );
  const text = `| ${kind} (${other.text}) on (${labels.join(", ")})${printReach({ by: undefined, withinMs }, random)}`;
  const looks = { back: withinMs === undefined, ahead: withinMs === undefined };
  const apply = (rows: readonly StagedRow[], asked: Asked, cut: Directions) => {
    const others = cutRows(findRows(other, asked), asked, cut);
    const partners = new Map(rows.map((row) => [row, findPartner(row, others, on, withinMs)]));
    const kept = rows.filter((row) => (partners.get(row) !== undefined) === (kind === "join"));
    if (kind === "join") for (const row of kept) showPartner(row, partners.get(row)!, other.source);
    return kept;
  };
  return { text, forms: ["ordered", kind === "join" ? "join" : "unless rows"], looks, apply };
}

function showPartner(row: StagedRow, partner: StagedRow, source: RowSource): void {
  // A second row of the same signal takes the place of the first.
  for (const name of row.joined.keys()) if (name.startsWith(`${source}.`)) row.joined.delete(name);
  const names = [
    ...partner.attributes.keys(),
    ...(partner.hasColumns ? ["timestamp", "log_level", "message"] : ["timestamp"]),
  ];
  for (const name of names) {
    const text = partner.readGrouped(name);
    if (text !== "") row.joined.set(`${source}.${name}`, text);
  }
}

const shownOf: Readonly<Record<RowSource, readonly string[]>> = {
  traces: ["span_id", "service.name", "name", "duration_ms", "status_code"],
  logs: ["timestamp", "log_level", "service.name", "message"],
};

/** The attributes with which a search shows a row: its own, and of a joined row those shown always or named in the query. */
export function shownAttributes(row: StagedRow, query: string): Record<string, string> {
  const shown = new Map(row.attributes);
  for (const [name, text] of row.joined) {
    const [, source, own] = /^(logs|traces)\.(.*)$/s.exec(name)!;
    const isNamed = query.includes(name);
    if (!shown.has(name) && (isNamed || shownOf[source as RowSource].includes(own!))) shown.set(name, text);
  }
  return Object.fromEntries([...shown].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Rows newest first, those of equal time by arrival. */
export function newestFirst(rows: readonly StagedRow[]): StagedRow[] {
  return [...rows].sort((a, b) =>
    a.stored.timeNs === b.stored.timeNs ? a.arrival - b.arrival : a.stored.timeNs < b.stored.timeNs ? 1 : -1,
  );
}
