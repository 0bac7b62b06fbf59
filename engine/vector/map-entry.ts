/** Entries of maps that are made when they are first asked for. */

/** The value of a key; where the map has none, it gets what `make` returns. */
export function getOrMake<K, V>(map: EntryMap<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

interface EntryMap<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}
