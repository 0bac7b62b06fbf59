import type { Caller } from "../model/caller.ts";
import type { AlertEvent } from "../model/event.ts";
import { isMatch } from "../model/schema.ts";
import type { Silence } from "../model/silence.ts";

/** Returns whether a silence covers an instance of an alert at `nowMs`. */
export function isSilenced(
  silence: Silence,
  { alertId, labels }: Pick<AlertEvent, "alertId" | "labels">,
  nowMs: number,
): boolean {
  const { startsAt = 0, endsAt, alertIds, match } = silence;
  if (nowMs < startsAt || nowMs >= endsAt) return false;
  if (alertIds !== undefined && !alertIds.includes(alertId)) return false;
  return isMatch(match, labels);
}

/** A silence as it is stored, with the caller who saved it. */
export interface StoredSilence {
  readonly id: string;
  readonly value: { readonly value: Silence; readonly updatedBy: Caller };
}

/** Finds the silences of an alert without a look at those of all others. */
export class SilencesByAlert {
  readonly list: readonly StoredSilence[];
  /** Those that name no alert: they may cover any. */
  readonly #general: StoredSilence[] = [];
  readonly #named = new Map<string, StoredSilence[]>();

  constructor(list: readonly StoredSilence[]) {
    this.list = list;
    for (const silence of list) {
      const { alertIds } = silence.value.value;
      if (alertIds === undefined) this.#general.push(silence);
      for (const alertId of new Set(alertIds)) {
        const known = this.#named.get(alertId);
        if (known === undefined) this.#named.set(alertId, [silence]);
        else known.push(silence);
      }
    }
  }

  /** The silences that may cover an alert, in the order of their ids. */
  about(alertId: string): readonly StoredSilence[] {
    const named = this.#named.get(alertId);
    if (named === undefined) return this.#general;
    return [...named, ...this.#general].sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}
