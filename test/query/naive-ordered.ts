/**
 * Runs the steps of a plan that look at several rows, by comparing each row with each other one. Written from
 * query/README.md; shares no code with the query layer.
 */
import type { Field, Filter, LogRow } from "../../engine/index.ts";
import type { PlanStep } from "../../query/index.ts";

type Attributes = Map<string, string>;

/** A row with the attributes that it has so far. */
export interface NaiveRow<Row extends LogRow> {
  row: Row;
  /** Its place among all rows. */
  place: number;
  attributes: Attributes;
}

export type ReadRow = Pick<NaiveRow<LogRow>, "row" | "attributes">;

/** How single rows are read. */
export interface RowReader {
  passes: (filter: Filter, row: ReadRow) => boolean;
  fieldText: (field: Field, row: ReadRow) => string | undefined;
}

type GroupedStep = Extract<PlanStep, { kind: "assign" | "keep" | "sequence" }>;
type JoinStep = Extract<PlanStep, { kind: "join" }>;

/** The texts of some fields of a row; undefined where it has none of them. */
function keyOf(
  { fieldText }: RowReader,
  fields: readonly Field[],
  row: NaiveRow<LogRow>,
): string | undefined {
  const texts = fields.map((field) => fieldText(field, row) ?? "");
  return fields.length > 0 && texts.every((text) => text === "") ? undefined : JSON.stringify(texts);
}

/** Rows in order of time; those of equal time in their order. */
function inOrder<R extends NaiveRow<LogRow>>(rows: readonly R[]): R[] {
  return rows.toSorted((a, b) => (a.row.timeNs < b.row.timeNs ? -1 : a.row.timeNs > b.row.timeNs ? 1 : 0));
}

const distanceNs = (a: NaiveRow<LogRow>, b: NaiveRow<LogRow>) => {
  const between = a.row.timeNs - b.row.timeNs;
  return Number(between < 0n ? -between : between);
};

const msText = (ns: number) => String(ns / 1e6);

export function runGroupedStep<Row extends LogRow>(
  step: GroupedStep,
  rows: readonly NaiveRow<Row>[],
  reader: RowReader,
): NaiveRow<Row>[] {
  const withinNs = step.withinNs ?? Number.POSITIVE_INFINITY;
  const ordered = inOrder(rows);
  const keys = new Map(ordered.map((each) => [each, keyOf(reader, step.by, each)]));
  const groupOf = (each: NaiveRow<Row>) => {
    const key = keys.get(each);
    return key === undefined ? [] : ordered.filter((other) => keys.get(other) === key);
  };
  if (step.kind === "keep") {
    return ordered.filter((each) => groupOf(each).at(step.row === "first" ? 0 : -1) === each);
  }
  if (step.kind === "assign") {
    const texts = ordered.map((each) => assignedText(step, each, groupOf(each), withinNs, reader));
    for (const [i, { attributes }] of ordered.entries()) {
      if (texts[i] === undefined || texts[i] === "") attributes.delete(step.label);
      else attributes.set(step.label, texts[i]);
    }
    return ordered;
  }
  return ordered.filter((each) => {
    const begins = beginsOf(step, each, groupOf(each), withinNs, reader);
    if (begins.length === 0) return false;
    const last = begins.reduce((a, b) => (ordered.indexOf(b) > ordered.indexOf(a) ? b : a));
    each.attributes.set("sequence_ms", msText(distanceNs(each, last)));
    each.attributes.set("sequence_start", String(last.row.timeNs / 1_000_000n));
    return true;
  });
}

function assignedText(
  { op, of, count }: Extract<GroupedStep, { kind: "assign" }>,
  each: NaiveRow<LogRow>,
  group: readonly NaiveRow<LogRow>[],
  withinNs: number,
  { fieldText }: RowReader,
): string | undefined {
  const at = group.indexOf(each);
  if (at < 0) return undefined;
  const near = group.filter((other) => distanceNs(each, other) <= withinNs);
  const text = (other: NaiveRow<LogRow> | undefined) =>
    other === undefined || !near.includes(other) ? undefined : fieldText(of!, other);
  const between = (other: NaiveRow<LogRow> | undefined) =>
    other === undefined || !near.includes(other) ? undefined : msText(distanceNs(each, other));
  switch (op) {
    case "lag":
      return text(group[at - count]);
    case "lead":
      return text(group[at + count]);
    case "first":
      return text(near[0]);
    case "last":
      return text(near.at(-1));
    case "since_previous":
      return between(group[at - 1]);
    case "until_next":
      return between(group[at + 1]);
    case "since_first":
      return between(near[0]);
    case "row_number":
      return String(at + 1);
  }
}

/** The first rows of all sequences that a row ends, by trying every row for every step. */
function beginsOf<Each extends NaiveRow<LogRow>>(
  { of }: Extract<GroupedStep, { kind: "sequence" }>,
  end: Each,
  group: readonly Each[],
  withinNs: number,
  reader: RowReader,
): Each[] {
  const isOf = (step: number, each: Each) => reader.passes(of[step]!.filter, each);
  const begins: Each[] = [];
  /** Goes backwards: `step` is still to be found before `later`, or has just been found there. */
  const goBack = (step: number, later: Each): void => {
    if (distanceNs(later, end) > withinNs) return;
    const at = group.indexOf(later);
    const forbidden = step >= 0 && of[step]!.isNot ? step : undefined;
    const wanted = forbidden === undefined ? step : step - 1;
    if (wanted < 0) {
      const before = group.slice(0, at).filter((each) => distanceNs(each, later) <= withinNs);
      if (forbidden === undefined || !before.some((each) => isOf(forbidden, each))) begins.push(later);
      return;
    }
    for (const [i, earlier] of group.slice(0, at).entries()) {
      if (!isOf(wanted, earlier)) continue;
      if (forbidden !== undefined && group.slice(i + 1, at).some((each) => isOf(forbidden, each))) continue;
      goBack(wanted - 1, earlier);
    }
  };
  const at = group.indexOf(end);
  let last = of.length - 1;
  if (of[last]!.isNot) {
    const behind = group.slice(at + 1).filter((each) => distanceNs(each, end) <= withinNs);
    if (behind.some((each) => isOf(last, each))) return [];
    last--;
  }
  if (at >= 0 && isOf(last, end)) goBack(last - 1, end);
  return begins;
}

/** Labels of a joined row that rows show, whatever the query names. */
const shown: ReadonlySet<string> = new Set([
  ...["timestamp", "log_level", "service.name", "message"].map((label) => `logs.${label}`),
  ...["span_id", "service.name", "name", "duration_ms", "status_code"].map((label) => `traces.${label}`),
]);

/** Takes away the labels of joined rows that a query does not show. */
export function hideUnnamed(steps: readonly PlanStep[], attributes: Attributes): void {
  const named = new Set(
    steps.flatMap((step) =>
      step.kind === "join" ? [...step.named].map((label) => `${step.signal}.${label}`) : [],
    ),
  );
  for (const key of attributes.keys()) {
    const isJoined = key.startsWith("traces.") || key.startsWith("logs.");
    if (isJoined && !shown.has(key) && !named.has(key)) attributes.delete(key);
  }
}

export function joinNaively<Row extends LogRow>(
  step: JoinStep,
  rows: readonly NaiveRow<Row>[],
  others: readonly NaiveRow<LogRow>[],
  reader: RowReader,
): NaiveRow<Row>[] {
  const withinNs = step.withinNs ?? Number.POSITIVE_INFINITY;
  const ordered = inOrder(others);
  return rows.filter((each) => {
    const key = keyOf(
      reader,
      step.on.map(({ left }) => left),
      each,
    );
    const found = ordered.find((other) => {
      const otherKey = keyOf(
        reader,
        step.on.map(({ right }) => right),
        other,
      );
      return key !== undefined && otherKey === key && distanceNs(each, other) <= withinNs;
    });
    if (step.isUnless) return found === undefined;
    if (found === undefined) return false;
    const own = [...found.attributes.keys(), ...(step.signal === "logs" ? ["log_level", "message"] : [])];
    const first = [...shown].flatMap((label) =>
      label.startsWith(`${step.signal}.`) ? [label.slice(step.signal.length + 1)] : [],
    );
    const labels = new Set([...first, ...own]);
    for (const key of each.attributes.keys())
      if (key.startsWith(`${step.signal}.`)) each.attributes.delete(key);
    for (const label of labels) {
      const text = reader.fieldText(columnOf(label), found) ?? "";
      if (text !== "") each.attributes.set(`${step.signal}.${label}`, text);
    }
    return true;
  });

  function columnOf(label: string): Field {
    if (label === "timestamp") return { kind: "time" };
    if (step.signal === "logs" && label === "log_level") return { kind: "level" };
    if (step.signal === "logs" && label === "message") return { kind: "message" };
    return { kind: "attribute", key: label };
  }
}
