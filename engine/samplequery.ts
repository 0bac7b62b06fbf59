import type { Aggregated } from "./aggregation.ts";
import type { Field, Step } from "./filter.ts";

export interface SampleQuery {
  name: string;
  fromNs: bigint;
  toNs: bigint;
  bucketNs?: bigint;
  steps: Step[];
  groupBy: Field[] | { without: string[] };
  of: "declared" | "increase";
  aggregate:
    | { op: "count" | "sum" | "avg" | "min" | "max" | "stddev" }
    | { op: "quantile"; q: number }
    | { op: "distinct"; label: string };
}
export interface SampleAggregated extends Aggregated {
  kinds: { gauge: boolean; counter: boolean };
}
