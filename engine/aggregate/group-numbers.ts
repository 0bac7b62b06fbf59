/** Group numbers of an aggregation by the group codes of one chunk. */
import { growArray } from "../vector/arrays.ts";
import type { TextTable } from "../vector/text-table.ts";
import type { GroupCodes } from "./group-codes.ts";
import type { GroupTable } from "./group-table.ts";

/** The group of each label number in one aggregation; see `numberLabels`. */
export class LabelGroups {
  #table: TextTable | undefined;
  /** Group number plus 1; 0 where no row had the label yet. */
  #groups = new Uint32Array(0);

  /** The groups of all labels that a table has now. */
  of(table: TextTable): Uint32Array {
    if (table !== this.#table) this.#groups = new Uint32Array(table.size);
    else if (table.size > this.#groups.length) this.#groups = growArray(this.#groups, table.size);
    this.#table = table;
    return this.#groups;
  }
}

/** Finds the group of each code: once in a chunk, or once in an aggregation where labels are numbered. */
export class GroupNumbers {
  readonly #table: GroupTable;
  readonly #stage: GroupCodes["stage"];
  /** The number of each code's label. */
  readonly #numbers: Uint32Array | undefined;
  /** By label number: group number plus 1, or 0. */
  readonly #ofLabels: Uint32Array | undefined;
  /** By code: the same. Where labels are numbered it has one entry, for the last code, which has no label. */
  readonly #ofCodes: Uint32Array;

  constructor(
    { groups, labelGroups }: { groups: GroupTable; labelGroups: LabelGroups },
    { cardinality, stage, labels }: GroupCodes,
  ) {
    this.#table = groups;
    this.#stage = stage;
    this.#numbers = labels?.numbers;
    this.#ofLabels = labels && labelGroups.of(labels.table);
    this.#ofCodes = new Uint32Array(labels === undefined ? cardinality : 1);
  }

  /** The group of a code, which is added where it is new. Throws Failure "limit" where there are too many. */
  groupOf(code: number): number {
    if (this.#numbers === undefined) return this.#find(this.#ofCodes, code, code);
    if (code === this.#numbers.length) return this.#find(this.#ofCodes, 0, code);
    return this.#find(this.#ofLabels!, this.#numbers[code]!, code);
  }

  #find(known: Uint32Array, at: number, code: number): number {
    const group = known[at]!;
    if (group !== 0) return group - 1;
    this.#stage(code, this.#table);
    const found = this.#table.findOrAddStaged();
    known[at] = found + 1;
    return found;
  }
}
