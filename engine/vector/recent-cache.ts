/** Values made from texts, kept for the next time; all are dropped once they are too many. */
export class RecentCache<V> {
  readonly #values = new Map<string, V>();
  readonly #valuesMax: number;

  constructor(valuesMax: number) {
    this.#valuesMax = valuesMax;
  }

  /** What `make` throws is not kept. */
  get(key: string, make: () => V): V {
    const known = this.#values.get(key);
    if (known !== undefined || this.#values.has(key)) return known as V;
    const value = make();
    if (this.#values.size >= this.#valuesMax) this.#values.clear();
    this.#values.set(key, value);
    return value;
  }
}
