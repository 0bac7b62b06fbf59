import { printSelector, type Selector } from "./selector.ts";

/** `rate(…)`: the increase a second, or rows a second; `increase(…)`: the increase. */
export interface Rate {
  readonly kind: "rate";
  readonly op: "rate" | "increase";
  readonly of: Selector;
}

export function rate(op: "rate" | "increase", of: Selector): Rate {
  return Object.freeze({ kind: "rate", op, of });
}

export function printRate(node: Rate): string {
  return `${node.op}(${printSelector(node.of)})`;
}
