/** Silences: times in which some alerts notify nobody. */

import type * as z from "zod";
import { makeFieldRefusal } from "../throttle/refusal.ts";
import { timeMsMax } from "./limits.ts";
import { sentId } from "./resource-id.ts";
import { integer, type LabelMatch, labelMatchShape, listOf, longText, strictObject } from "./schema.ts";

const timeMs = integer.min(0).max(timeMsMax);

export type SilenceExpression = LabelMatch["matchExpressions"][number];

export const silenceShape = strictObject({
  id: sentId.optional(),
  comment: longText.optional(),
  /** Unix milliseconds; absent: silences from its creation on. */
  startsAt: timeMs.optional(),
  endsAt: timeMs,
  /** Ids of the silenced alerts; absent: every alert whose instance labels match. */
  alertIds: listOf(sentId.min(1)).optional(),
  /** Labels of the silenced instances: all expressions must hold. */
  match: labelMatchShape.optional(),
}).meta({ id: "Silence" });

export type Silence = z.infer<typeof silenceShape>;

/** Throws Refusal 400 naming the field below `path`. */
export function checkSilence({ startsAt = 0, endsAt, alertIds, match }: Silence, path: string): void {
  if (endsAt <= startsAt) {
    throw makeFieldRefusal(`${path}.endsAt`, `must be after startsAt, got ${endsAt} and ${startsAt}`);
  }
  if (alertIds === undefined && match === undefined) {
    throw makeFieldRefusal(path, "must name alertIds or match: it would silence everything");
  }
}
