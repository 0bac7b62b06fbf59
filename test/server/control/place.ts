/** Paths in JSON, written as in the specification: `timeseries.evaluationRules[0].name`. */

export type Tree = Record<string, unknown>;

function partsOf(path: string): string[] {
  return path.split(/[.[\]]+/).filter((part) => part !== "");
}

export function valueAt(tree: unknown, path: string): unknown {
  return partsOf(path).reduce((at, part) => (at as Tree | undefined)?.[part], tree);
}

/** A copy with another value at the path; undefined removes the member. */
export function withValue<T>(tree: T, path: string, value: unknown): T {
  const copy = JSON.parse(JSON.stringify(tree)) as T;
  const parts = partsOf(path);
  const last = parts.pop()!;
  let at = copy as Tree;
  for (const part of parts) at = at[part] as Tree;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}
