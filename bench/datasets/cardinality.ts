/** Above this count an attribute is no longer a small dictionary, and counting stops. */
const valuesCounted = 10_000;

/** Counts the distinct values of each attribute, up to 10,000. */
export class CardinalityCounter {
  private readonly values = new Map<string, Set<string>>();

  add(attributes: Readonly<Record<string, string>>): void {
    for (const key in attributes) {
      const values = this.values.get(key) ?? new Set();
      if (values.size === 0) this.values.set(key, values);
      if (values.size < valuesCounted) values.add(attributes[key]!);
    }
  }

  counts(): Record<string, number> {
    return Object.fromEntries([...this.values].map(([key, values]) => [key, values.size]));
  }
}
