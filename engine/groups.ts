/** The groups of an aggregation, numbered in the order in which they are met. */
import { Failure } from "./failure.ts";
import { groupsMax } from "./limits.ts";

/** Bytes of a group beside its texts, about: the list, the map's entry, strings' heads. */
const groupBytes = 160;

export class GroupTable {
  readonly labels: string[][] = [];
  readonly #numberOf = new Map<string, number>();
  readonly #bytesMax: number;
  #byteLength = 0;

  /** `bytesMax`: what all texts may take together. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get byteLength(): number {
    return this.#byteLength;
  }

  /** Number of the group with these texts. Throws Failure "limit" where there are too many, or their texts too long. */
  numberOf(labels: string[]): number {
    const key = labels.length === 1 ? labels[0]! : labels.map((text) => `${text.length}:${text}`).join("");
    const known = this.#numberOf.get(key);
    if (known !== undefined) return known;
    if (this.labels.length === groupsMax) {
      throw new Failure(
        "limit",
        `the query gives more than ${groupsMax} groups; group by fewer labels or select fewer rows`,
      );
    }
    // A character takes one byte or two; the key holds the texts once more.
    this.#byteLength += groupBytes + key.length * 2;
    if (this.#byteLength > this.#bytesMax) {
      const problem = `the labels of the groups are larger than ${this.#bytesMax} bytes together`;
      throw new Failure("limit", `${problem}; group by fewer labels`);
    }
    this.#numberOf.set(key, this.labels.length);
    return this.labels.push(labels) - 1;
  }
}
