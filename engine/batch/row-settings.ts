/** What a reader of rows in WebAssembly is told of a body and of what its batch admits. */

import {
  attributeKeyBytesMax,
  attributesPerRowMax,
  attributeValueBytesMax,
  levelBytesMax,
  messageBytesMax,
} from "../limits.ts";
import type { AdmissionCounts, AdmissionPolicy, TimeBounds } from "./admission-policy.ts";

/** What the caller knows of the rows. */
export interface RowReading {
  /** The keys of attributes that come from a span's fields are the first of its batch; see assembly/batch/jsonspans.ts. */
  signal: "logs" | "traces";
  /** The time of rows without a time. */
  arrivalMs: number;
  /** Rows that would give the batch more keys, or that have more members in `attributes`, are left to the caller. */
  keysMax: number;
  membersMax: number;
  /** Whether rows whose message begins with a brace are left to the caller. */
  flattensJson: boolean;
}

/** What the batch says of its rows. */
export interface RowRules extends TimeBounds {
  policy: AdmissionPolicy;
  /** Keys of stamps. */
  stamped: readonly string[];
  counts: AdmissionCounts;
}

const never = { seconds: Number.POSITIVE_INFINITY, nanos: 0 };
const always = { seconds: Number.NEGATIVE_INFINITY, nanos: 0 };

/** The settings, in the order of the indices in assembly/batch/admission.ts. */
export function toRowSettings(form: RowReading, rules: RowRules): number[] {
  const { policy, min, max, skewMin = always, skewMax = never } = rules;
  const { arrivalMs, keysMax, membersMax, flattensJson } = form;
  const excludes = (policy.exclusions ?? []).length > 0;
  return [
    ...[Math.floor(arrivalMs / 1000), (arrivalMs % 1000) * 1e6],
    ...[excludes ? 1 : 0, flattensJson ? 1 : 0],
    ...[min.seconds, min.nanos, max.seconds, max.nanos],
    ...[keysMax, attributesPerRowMax, levelBytesMax, attributeKeyBytesMax, attributeValueBytesMax],
    ...[messageBytesMax, policy.rowBytesMax ?? Number.POSITIVE_INFINITY],
    ...[skewMin.seconds, skewMin.nanos, skewMax.seconds, skewMax.nanos],
    ...[membersMax, form.signal === "traces" ? 1 : 0],
  ];
}
