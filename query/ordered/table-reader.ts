import {
  addScanStatistics,
  emptyScanStatistics,
  Failure,
  type QueryLimits,
  type RowColumns,
  type RowColumnsQuery,
  type Store,
} from "../../engine/index.ts";
import { orderedRowsMax } from "../limits.ts";
import { deductElapsedTime, WorkDeadline } from "../time/deadline.ts";
import { RowTable, type TableRequest } from "./row-table.ts";

/** The part of a store that stages over several rows need. */
export type OrderedStore = Pick<Store, "readColumns">;

/** Reads tables for one query, whose reads share limits. */
export class TableReader {
  readonly scanned = emptyScanStatistics();
  readonly work: WorkDeadline;
  readonly #store: OrderedStore;
  readonly #limits: QueryLimits | undefined;
  readonly #startedAtMs = performance.now();

  constructor(store: OrderedStore, limits: QueryLimits | undefined) {
    this.#store = store;
    this.#limits = limits;
    this.work = new WorkDeadline(this.#startedAtMs, limits);
  }

  async read(query: RowColumnsQuery): Promise<RowColumns> {
    const read = await this.#store.readColumns(query, deductElapsedTime(this.#startedAtMs, this.#limits));
    addScanStatistics(this.scanned, read.scanned);
    return read;
  }

  async readTable(request: TableRequest, range: { fromNs: bigint; toNs: bigint }): Promise<RowTable> {
    const { signal, steps, columns, conditions } = request;
    const query = {
      signal,
      ...range,
      steps,
      columns,
      conditions,
      withArrivals: true,
      rowsMax: orderedRowsMax,
    };
    try {
      return await RowTable.sort(await this.read(query), range.fromNs, this.work);
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== "limit" || !error.message.includes("rows"))
        throw error;
      const problem = `a stage over several rows looks at ${orderedRowsMax.toLocaleString("en")} rows at most; filter before it, or ask for a shorter range`;
      throw new Failure("limit", problem);
    }
  }
}
