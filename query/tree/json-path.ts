import { printSelector, type Selector } from "./selector.ts";
import { printText, type Text } from "./string-literal.ts";

/** `json_path("spec.replicas", kubernetes_resources{…})`: a number out of the bodies of Kubernetes resources. */
export interface JsonPath {
  readonly kind: "jsonPath";
  readonly path: Text;
  readonly of: Selector;
}

export function jsonPath(path: Text, of: Selector): JsonPath {
  return Object.freeze({ kind: "jsonPath", path, of });
}

export function printJsonPath(node: JsonPath): string {
  return `json_path(${printText(node.path)}, ${printSelector(node.of)})`;
}
