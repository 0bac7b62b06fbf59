/** Finds the attributes that rules test among those of a body, by their bytes. */

/** An attribute that rules test, or a map on the way to one. */
interface IndexedName {
  bytes: Buffer;
  name: string;
  /** The field that the attribute's text is for; -1 where only members of the map are tested. */
  field: number;
  /** Whether members of a map of this name may be tested: their names follow after a dot. */
  isPrefix: boolean;
}

/** Attribute names with the numbers of their fields. */
export class AttributeIndex {
  readonly #byLength: readonly (IndexedName[] | undefined)[];
  readonly #fields: ReadonlyMap<string, number>;

  constructor(fields: ReadonlyMap<string, number>) {
    this.#fields = fields;
    const names = new Set(fields.keys());
    // The members of a map without a name have their own names.
    if (names.size > 0) names.add("");
    for (const name of fields.keys()) for (const prefix of prefixesOf(name)) names.add(prefix);
    const indexed = Array.from(names, (name) => ({
      ...{ bytes: Buffer.from(name), name },
      ...{ field: this.fieldOf(name), isPrefix: this.isPrefix(name) },
    }));
    const lengthMax = indexed.reduce((max, { bytes }) => Math.max(max, bytes.length), -1);
    const byLength = Map.groupBy(indexed, ({ bytes }) => bytes.length);
    this.#byLength = Array.from({ length: lengthMax + 1 }, (_, length) => byLength.get(length));
  }

  /** The indexed name that equals the bytes [from, to). */
  find(bytes: Uint8Array, from: number, to: number): IndexedName | undefined {
    const list = this.#byLength[to - from];
    if (list === undefined) return undefined;
    for (const each of list) if (isEqual(each.bytes, bytes, from)) return each;
    return undefined;
  }

  fieldOf(name: string): number {
    return this.#fields.get(name) ?? -1;
  }

  isPrefix(name: string): boolean {
    if (name === "") return this.#fields.size > 0;
    for (const field of this.#fields.keys()) if (field.startsWith(`${name}.`)) return true;
    return false;
  }
}

function isEqual(name: Uint8Array, bytes: Uint8Array, from: number): boolean {
  // Names of one length mostly differ at their ends: they share prefixes such as `http.`.
  for (let i = name.length - 1; i >= 0; i--) if (name[i] !== bytes[from + i]) return false;
  return true;
}

/** Everything before a dot of the name: a map of that name can have the member after it. */
function prefixesOf(name: string): string[] {
  return Array.from(name.matchAll(/\./g), ({ index }) => name.slice(0, index));
}
