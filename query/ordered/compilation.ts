/** Turns steps that look at several rows into requests of what to read, and operations on what was read. */

import type { Field, RowSignal, Step } from "../../engine/index.ts";
import { sequenceLabels } from "../plan/ordered/ordered-stage.ts";
import {
  type AssignStep,
  isOrderedStep,
  type JoinStep,
  type OrderedStep,
  type PlanStep,
  type SequenceStep,
} from "../plan/ordered/ordered-step.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import {
  findEnds,
  findNeighbours,
  findSequences,
  type GroupedRows,
  keepEnds,
  numberRows,
} from "./group-steps.ts";
import { findJoinedRows } from "./join.ts";
import { KeyCodes, type KeyPart } from "./key-codes.ts";
import { compilePredicate, type LabelSource, LabelSources, type OrderedRows } from "./label-source.ts";
import { isColumnField, TableRequest } from "./row-table.ts";

/** Changes what is known of the rows: takes rows away, or adds labels. */
export type OrderedOperation = (rows: OrderedRows, work: WorkDeadline) => Promise<void>;

/** Puts the rows that are left into groups. */
type GroupRows = (rows: OrderedRows, work: WorkDeadline) => Promise<GroupedRows>;

/** The other side of a join, as it stands in the plan. */
export interface JoinedSide {
  step: JoinStep;
  request: TableRequest;
}

/** Labels of a joined row that an answer shows, whatever the query names. */
const shownLabels: Readonly<Record<RowSignal, readonly string[]>> = {
  logs: ["timestamp", "log_level", "service.name", "message"],
  traces: ["span_id", "service.name", "name", "duration_ms", "status_code"],
  profiles: ["timestamp", "service.name"],
  kubernetes_resources: ["k8s.namespace.name", "k8s.resource.kind", "k8s.resource.name"],
};

/** Steps of one selector, ready to run. */
export class OrderedCompilation {
  readonly table: TableRequest;
  readonly joined: JoinedSide[] = [];
  readonly operations: OrderedOperation[] = [];
  readonly sources: LabelSources;
  #refs = 0;
  #numbers = 0;

  /** `own`: the steps before the first that looks at several rows. `rest`: that one and those behind it. */
  constructor(signal: RowSignal, own: Step[], rest: readonly PlanStep[]) {
    this.table = new TableRequest(signal, own);
    this.sources = new LabelSources(this.table);
    for (const step of rest) this.operations.push(this.#compile(step));
  }

  #compile(step: PlanStep): OrderedOperation {
    if (isOrderedStep(step)) return this.#compileOrdered(step);
    if (step.kind !== "filter") throw new Error("extraction stands before stages over several rows");
    const predicate = compilePredicate(step.filter, this.sources);
    return async (rows, work) => {
      const passes = predicate(rows);
      rows.rows = await filterInTurns(rows.rows, passes, work);
    };
  }

  #compileOrdered(step: OrderedStep): OrderedOperation {
    if (step.kind === "join") return this.#compileJoin(step);
    const group = this.#compileGroups(step.by);
    if (step.kind === "sequence") return this.#compileSequence(step, group);
    if (step.kind === "assign") return this.#compileAssign(step, group);
    return async (rows, work) => {
      rows.rows = await keepEnds(await group(rows, work), step, work);
    };
  }

  #compileGroups(by: readonly Field[]): GroupRows {
    const parts = by.map((field) => this.#compileKey(field));
    return async (rows, work) => {
      const keys = new KeyCodes();
      const codes = await keys.codesOf(
        rows.rows,
        parts.map((part) => part(rows)),
        work,
      );
      return { table: rows.table, rows: rows.rows, codes, groups: keys.count };
    };
  }

  #compileKey(field: Field): (rows: OrderedRows) => KeyPart {
    const source = this.sources.of(field);
    if (source.kind === "number" || !isColumnField(source.field)) {
      throw new Error("planning refuses times and calculated numbers as keys");
    }
    const place = source.table.addHashes(source.field);
    return ({ tables, refs }) => {
      const { low, high } = tables.get(source.table)!.hashesOf(place);
      if (source.ref === undefined) return { low: (row) => low[row]!, high: (row) => high[row]! };
      const places = refs[source.ref]!;
      // The hash of a row that lacks the label is 0.
      return { low: (row) => low[places[row]!] ?? 0, high: (row) => high[places[row]!] ?? 0 };
    };
  }

  #compileSequence(step: SequenceStep, group: GroupRows): OrderedOperation {
    const predicates = step.of.map(({ filter }) => compilePredicate(filter, this.sources));
    const [length, start] = [this.#numbers++, this.#numbers++];
    this.sources.assign(sequenceLabels.length, { kind: "number", numbers: length });
    this.sources.assign(sequenceLabels.start, { kind: "number", numbers: start });
    return async (rows, work) => {
      const grouped = await group(rows, work);
      const tests = predicates.map((predicate) => predicate(rows));
      const found = await findSequences(grouped, step, tests, work);
      rows.rows = found.rows;
      const { table } = rows;
      rows.numbers[length] = await distancesTo(found.begins, rows, work);
      rows.numbers[start] = Float64Array.from(found.begins, (begin) =>
        begin < 0 ? Number.NaN : table.timeMsOf(begin),
      );
    };
  }

  #compileAssign(step: AssignStep, group: GroupRows): OrderedOperation {
    const { op, label, of, withinNs } = step;
    if (of !== undefined) {
      const ref = this.#refs++;
      const operation = this.#compileReference(this.sources.of(of), label, ref);
      return async (rows, work) => {
        const grouped = await group(rows, work);
        const found =
          op === "first" || op === "last"
            ? await findEnds(grouped, op, withinNs, work)
            : await findNeighbours(grouped, step, work);
        operation(rows, found);
      };
    }
    const numbers = this.#numbers++;
    this.sources.assign(label, { kind: "number", numbers });
    return async (rows, work) => {
      const grouped = await group(rows, work);
      if (op === "row_number") rows.numbers[numbers] = await numberRows(grouped, work);
      else {
        const others =
          op === "since_first"
            ? await findEnds(grouped, "first", withinNs, work)
            : await findNeighbours(grouped, step, work);
        rows.numbers[numbers] = await distancesTo(others, rows, work);
      }
    };
  }

  /** A label that comes from another row of the table, to which its own source there belongs. */
  #compileReference(
    source: LabelSource,
    label: string,
    ref: number,
  ): (rows: OrderedRows, found: Int32Array) => void {
    if (source.kind === "field" && isColumnField(source.field)) {
      this.sources.assign(label, { ...source, ref });
      const { ref: inner } = source;
      return (rows, found) => {
        const places = inner === undefined ? undefined : rows.refs[inner]!;
        rows.refs[ref] =
          places === undefined ? found : found.map((other) => (other < 0 ? -1 : places[other]!));
      };
    }
    const numbers = this.#numbers++;
    this.sources.assign(label, { kind: "number", numbers });
    return (rows, found) => {
      const numberOf = numbersOf(source, rows);
      rows.numbers[numbers] = Float64Array.from(found, (other) => (other < 0 ? Number.NaN : numberOf(other)));
    };
  }

  #compileJoin(step: JoinStep): OrderedOperation {
    const request = new TableRequest(step.signal, []);
    this.joined.push({ step, request });
    const left = step.on.map((labels) => this.#compileKey(labels.left));
    const right = step.on.map((labels) => {
      if (!isColumnField(labels.right)) throw new Error("planning refuses times as keys");
      return request.addHashes(labels.right);
    });
    const ref = this.#refs++;
    if (!step.isUnless) this.sources.join(request, ref, shownLabels[step.signal]);
    return async (rows, work) => {
      const other = rows.tables.get(request)!;
      const found = await findJoinedRows(
        { table: rows.table, rows: rows.rows, parts: left.map((part) => part(rows)) },
        { table: other, hashes: right.map((place) => other.hashesOf(place)) },
        step.withinNs,
        work,
      );
      rows.refs[ref] = found;
      const wanted = step.isUnless ? -1 : 0;
      rows.rows = rows.rows.filter((row) => Math.min(found[row]!, 0) === wanted);
    };
  }
}

/** The number of a row's label: of a time its milliseconds since the epoch. */
export function numbersOf(
  source: LabelSource,
  { tables, refs, numbers }: OrderedRows,
): (row: number) => number {
  if (source.kind === "number") {
    const values = numbers[source.numbers]!;
    return (row) => values[row]!;
  }
  const table = tables.get(source.table)!;
  if (source.ref === undefined) return (row) => table.timeMsOf(row);
  const places = refs[source.ref]!;
  return (row) => (places[row]! < 0 ? Number.NaN : table.timeMsOf(places[row]!));
}

/** Milliseconds between each row and another one; NaN where there is none. */
async function distancesTo(
  others: Int32Array,
  { table: { timeNs } }: OrderedRows,
  work: WorkDeadline,
): Promise<Float64Array> {
  const distances = new Float64Array(others.length);
  for (let row = 0; row < others.length; row++) {
    if (row % 1024 === 0 && work.isTurnOver(64)) await work.yield();
    const other = others[row]!;
    distances[row] = other < 0 ? Number.NaN : Math.abs(timeNs[row]! - timeNs[other]!) / 1e6;
  }
  return distances;
}

async function filterInTurns(
  rows: Uint32Array,
  passes: (row: number) => boolean,
  work: WorkDeadline,
): Promise<Uint32Array> {
  const kept = new Uint32Array(rows.length);
  let count = 0;
  for (let i = 0; i < rows.length; i++) {
    if (i % 1024 === 0 && work.isTurnOver(64)) await work.yield();
    if (passes(rows[i]!)) kept[count++] = rows[i]!;
  }
  return kept.slice(0, count);
}
