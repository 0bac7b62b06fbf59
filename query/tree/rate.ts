import { printSelector, type TelemetrySelector } from "./selector.ts";

/** `rate(…)`: the increase of a counter per second, or rows per second. `increase(…)`: the increase of a counter. */
export interface Rate {
  readonly kind: "rate";
  readonly op: "rate" | "increase";
  readonly of: TelemetrySelector;
}

export function makeRate(op: "rate" | "increase", of: TelemetrySelector): Rate {
  return Object.freeze({ kind: "rate", op, of });
}

export function printRate(node: Rate): string {
  return `${node.op}(${printSelector(node.of)})`;
}
