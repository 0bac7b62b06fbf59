/** What `rounds.ts` asks of `round-process.ts`, as the process's argument. */
export interface RoundsPlan {
  storeDir: string;
  alerts: number;
  rounds: number;
  /** End of the newest bucket at the first round, milliseconds. */
  firstMs: number;
  rowsPerBucket: number;
}

/** What the process sends back. */
export interface RoundsFigure {
  alerts: number;
  /** CPU time from the start until the evaluator has all alerts. */
  startCpuMs: number;
  /** CPU time of the first round, which plans the queries and writes the states. */
  firstCpuMs: number;
  /** One value each further round. */
  cpuMs: number[];
  wallMs: number[];
}
