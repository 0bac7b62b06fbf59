/** Finds the alert that a request names, as far as its caller sees it. */

import type { Visibility, VisibleAlert } from "../../access/alert-visibility.ts";
import type { Caller } from "../../model/caller.ts";
import { Refusal } from "../../throttle/refusal.ts";

/** Finds an alert that the caller sees. Throws Refusal 404. */
export function findAlert(
  { visibility }: { visibility: Visibility },
  id: string,
  caller: Caller,
): VisibleAlert {
  const visible = visibility.alertOf(id, caller);
  if (visible !== undefined) return visible;
  throw new Refusal(404, `there is no alert ${JSON.stringify(id.slice(0, 100))}`);
}

/** The warning for a caller who does not read all rows that the alert reads. */
export const partialNote =
  "whoever saved this alert reads rows that you may not: what it found in them (labels, values, instances) is left out";
