/** A bounded cache of values that are made from texts, such as compiled patterns. */
/**
 * Keeps at most `valuesMax` values. When one more is made, all others are dropped: simpler than eviction one by one,
 * and as good for the few texts that repeat.
 */
export class RecentCache<V> {
  readonly #values = new Map<string, V>();
  readonly #valuesMax: number;

  constructor(valuesMax: number) {
    this.#valuesMax = valuesMax;
  }

  /** The cached value of a key, or what `make` returns. An error that `make` throws is not cached. */
  get(key: string, make: () => V): V {
    const cached = this.#values.get(key);
    if (cached !== undefined || this.#values.has(key)) return cached as V;
    const value = make();
    if (this.#values.size >= this.#valuesMax) this.#values.clear();
    this.#values.set(key, value);
    return value;
  }
}
