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
import { fillInTurns, filterInTurns } from "../time/in-turns.ts";
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

  /** `own`: the steps before the first that looks at several rows. `rest`: that one and those after it. */
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
      const startOf = (row: number) => {
        const begin = found.begins[row]!;
        return begin < 0 ? Number.NaN : table.timeMsOf(begin);
      };
      rows.numbers[start] = await fillInTurns(new Float64Array(table.rows), startOf, work);
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
        await operation(rows, found, work);
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
  ): (rows: OrderedRows, found: Int32Array, work: WorkDeadline) => Promise<void> {
    if (source.kind === "field" && isColumnField(source.field)) {
      this.sources.assign(label, { ...source, ref });
      const { ref: inner } = source;
      return async (rows, found, work) => {
        rows.refs[ref] = found;
        if (inner === undefined) return;
        const places = rows.refs[inner]!;
        const placeOf = (row: number) => (found[row]! < 0 ? -1 : places[found[row]!]!);
        rows.refs[ref] = await fillInTurns(new Int32Array(found.length), placeOf, work);
      };
    }
    const numbers = this.#numbers++;
    this.sources.assign(label, { kind: "number", numbers });
    return async (rows, found, work) => {
      const numberOf = numbersOf(source, rows);
      const numberAt = (row: number) => (found[row]! < 0 ? Number.NaN : numberOf(found[row]!));
      rows.numbers[numbers] = await fillInTurns(new Float64Array(found.length), numberAt, work);
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
    if (!step.isUnless) this.sources.join(request, ref, [...shownLabels[step.signal], ...step.named]);
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
      rows.rows = await filterInTurns(rows.rows, (row) => Math.min(found[row]!, 0) === wanted, work);
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
  const distanceOf = (row: number) => {
    const other = others[row]!;
    return other < 0 ? Number.NaN : Math.abs(timeNs[row]! - timeNs[other]!) / 1e6;
  };
  return fillInTurns(new Float64Array(others.length), distanceOf, work);
}
