import { printSelector, type TelemetrySelector } from "./selector.ts";
import { printStringLiteral, type StringLiteral } from "./string-literal.ts";

/** `json_path("spec.replicas", kubernetes_resources{…})`: a number from the body of each Kubernetes resource. */
export interface JsonPath {
  readonly kind: "jsonPath";
  readonly path: StringLiteral;
  readonly of: TelemetrySelector;
}

export function makeJsonPath(path: StringLiteral, of: TelemetrySelector): JsonPath {
  return Object.freeze({ kind: "jsonPath", path, of });
}

export function printJsonPath(node: JsonPath): string {
  return `json_path(${printStringLiteral(node.path)}, ${printSelector(node.of)})`;
}
