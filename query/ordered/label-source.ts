import { compileRowTest, type Field, type Filter } from "../../engine/index.ts";
import { fieldOf } from "../plan/field.ts";
import type { RowTable, TableRequest } from "./row-table.ts";

/** Where a label of a row comes from: a field of some row, or a number that a step has calculated. */
export type LabelSource = FieldSource | NumberSource;

export interface FieldSource {
  kind: "field";
  table: TableRequest;
  /** Which list of `OrderedRows.refs` has the row's own place in the table; undefined where it is the row itself. */
  ref: number | undefined;
  field: Field;
}

interface NumberSource {
  kind: "number";
  /** Which list of `OrderedRows.numbers` has them. NaN where a row lacks the label. */
  numbers: number;
}

/** The rows that a query has read, and what its steps have found out of them so far. */
export interface OrderedRows {
  table: RowTable;
  tables: ReadonlyMap<TableRequest, RowTable>;
  /** The rows that have passed all steps so far, in order. */
  rows: Uint32Array;
  /** For each row of the table the place of another row, -1 where there is none. */
  refs: Int32Array[];
  numbers: Float64Array[];
}

/** Which labels do not come from the row itself. */
export class LabelSources {
  readonly #table: TableRequest;
  readonly #assigned = new Map<string, LabelSource>();
  readonly #joined = new Map<string, { table: TableRequest; ref: number; named: Set<string> }>();

  constructor(table: TableRequest) {
    this.#table = table;
  }

  assign(label: string, source: LabelSource): void {
    this.#assigned.set(label, source);
  }

  /** From now on labels that begin with the name of the signal are those of the joined row. */
  join(table: TableRequest, ref: number, labels: readonly string[]): void {
    this.#joined.set(`${table.signal}.`, { table, ref, named: new Set(labels) });
  }

  of(field: Field): LabelSource {
    return (
      (field.kind === "attribute" ? this.#find(field.key) : undefined) ??
      ({ kind: "field", table: this.#table, ref: undefined, field } as const)
    );
  }

  /** Gives the rows those labels of joined rows that are among these fields, as if a step read them. */
  name(fields: readonly Field[]): void {
    for (const field of fields) this.of(field);
  }

  /** The labels that steps have given the rows, with their sources. Of a joined row those that the query names, and some more. */
  get given(): ReadonlyMap<string, LabelSource> {
    const given = new Map<string, LabelSource>();
    for (const [prefix, { table, ref, named }] of this.#joined) {
      for (const label of named) {
        given.set(prefix + label, { kind: "field", table, ref, field: fieldOf(label, table.signal) });
      }
    }
    for (const [label, source] of this.#assigned) given.set(label, source);
    return given;
  }

  #find(key: string): LabelSource | undefined {
    const assigned = this.#assigned.get(key);
    if (assigned !== undefined) return assigned;
    for (const [prefix, { table, ref, named }] of this.#joined) {
      if (!key.startsWith(prefix)) continue;
      const label = key.slice(prefix.length);
      named.add(label);
      return { kind: "field", table, ref, field: fieldOf(label, table.signal) };
    }
    return undefined;
  }
}

/** Tests a row of the table; made once the rows are read. */
export type RowPredicate = (rows: OrderedRows) => (row: number) => boolean;

/** A filter as a test of rows, whose labels may come from other rows. Adds to the tables' requests what it needs. */
export function compilePredicate(filter: Filter, sources: LabelSources): RowPredicate {
  const single = singleSourceOf(filter, sources);
  if (single?.kind === "field") return compileOnField(withField(filter, single.field), single);
  switch (filter.kind) {
    case "and": {
      const parts = filter.of.map((part) => compilePredicate(part, sources));
      return (rows) => {
        const tests = parts.map((part) => part(rows));
        return (row) => tests.every((test) => test(row));
      };
    }
    case "or": {
      const parts = filter.of.map((part) => compilePredicate(part, sources));
      return (rows) => {
        const tests = parts.map((part) => part(rows));
        return (row) => tests.some((test) => test(row));
      };
    }
    case "not": {
      const part = compilePredicate(filter.of, sources);
      return (rows) => {
        const test = part(rows);
        return (row) => !test(row);
      };
    }
    default:
      return single === undefined ? compileConstant(filter) : compileOnNumber(filter, single as NumberSource);
  }
}

function compileConstant({ kind }: Filter): RowPredicate {
  const passes = kind === "always";
  return () => () => passes;
}

/** The source of the only field that a filter reads; undefined where it reads none, or fields of several rows. */
function singleSourceOf(filter: Filter, sources: LabelSources): LabelSource | undefined {
  const read = fieldsOf(filter).map((field) => sources.of(field));
  const [first, ...others] = read;
  if (first === undefined) return undefined;
  if (first.kind === "number") return others.length === 0 ? first : undefined;
  const isSame = (other: LabelSource) =>
    other.kind === "field" && other.table === first.table && other.ref === first.ref;
  // Fields of the same row are tested together only where each keeps its name.
  const isOwn = first.ref === undefined;
  return others.every((other) => isSame(other) && isOwn) ? first : undefined;
}

function fieldsOf(filter: Filter): Field[] {
  if (filter.kind === "and" || filter.kind === "or") return filter.of.flatMap(fieldsOf);
  if (filter.kind === "not") return fieldsOf(filter.of);
  return "field" in filter ? [filter.field] : [];
}

/** The filter on the field that the label comes from. Where a filter has several fields, they are the row's own. */
function withField(filter: Filter, field: Field): Filter {
  if (filter.kind === "not") return { kind: "not", of: withField(filter.of, field) };
  return "field" in filter ? { ...filter, field } : filter;
}

function compileOnField(filter: Filter, { table, ref }: FieldSource): RowPredicate {
  const place = table.addCondition([{ kind: "filter", filter }]);
  const passesAbsent = compileRowTest<undefined>(filter, () => undefined)(undefined);
  return ({ tables, refs }) => {
    const passed = tables.get(table)!.conditions[place]!;
    if (ref === undefined) return (row) => passed[row] === 1;
    const places = refs[ref]!;
    return (row) => {
      const other = places[row]!;
      return other < 0 ? passesAbsent : passed[other] === 1;
    };
  };
}

function compileOnNumber(filter: Filter, { numbers }: NumberSource): RowPredicate {
  const test = compileRowTest<number>(filter, (number) =>
    Number.isNaN(number) ? undefined : String(number),
  );
  return (rows) => {
    const values = rows.numbers[numbers]!;
    return (row) => test(values[row]!);
  };
}
