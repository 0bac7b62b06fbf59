/** `$name`: a value that the caller gives when the query is planned. */
export interface Variable {
  readonly kind: "variable";
  readonly name: string;
}

export function makeVariable(name: string): Variable {
  return Object.freeze({ kind: "variable", name });
}

export function printVariable(node: Variable): string {
  return `$${node.name}`;
}
