/** A sweep of a kind in parts that fit requests. Each part is a range of names, and says which of them stay. */

import type { NameRange, ObjectKey } from "./hub-client.ts";
import { keptNamesMax, nameBytesAround, requestBytesMax } from "./limits.ts";

export interface SweepPart {
  kept: Omit<ObjectKey, "kind">[];
  range: NameRange;
}

export class Sweep {
  /** Objects that stay, by `<namespace>/<name>`: those of the list, and those that came after it. */
  readonly #kept = new Map<string, Omit<ObjectKey, "kind">>();
  /** The name up to which all is swept. */
  #after: string | undefined;

  constructor(kept: Iterable<ObjectKey>) {
    for (const key of kept) this.keep(key);
  }

  keep({ kind: _, ...key }: ObjectKey): void {
    this.#kept.set(`${key.namespace ?? ""}/${key.name}`, key);
  }

  /** What is to be sent next. The last part has no upper bound, and the first one no lower bound. */
  nextPart(): SweepPart {
    const after = this.#after;
    const left = [...this.#kept.keys()].filter((name) => after === undefined || name > after).sort();
    let bytes = 0;
    const end = left.findIndex((name, i) => {
      bytes += name.length + nameBytesAround;
      return i === keptNamesMax || (i > 0 && bytes > requestBytesMax);
    });
    const names = end < 0 ? left : left.slice(0, end);
    const upTo = end < 0 ? undefined : names.at(-1);
    return {
      kept: names.map((name) => this.#kept.get(name)!),
      range: { ...(after === undefined ? {} : { after }), ...(upTo === undefined ? {} : { upTo }) },
    };
  }

  /** Notes that a part was swept. Returns whether that was the last one. */
  finish({ range: { upTo } }: SweepPart): boolean {
    this.#after = upTo;
    return upTo === undefined;
  }
}
