import type { Field } from "../engine/index.ts";
import type { PlanContext } from "./context.ts";

/** Names that are columns of a row rather than attributes. */
export const columns: Readonly<Record<string, Field>> = {
  timestamp: { kind: "time" },
  log_level: { kind: "level" },
  message: { kind: "message" },
  template: { kind: "template" },
};

/** `attributes.message`; with more `attributes.` before it, the attribute that is named so but for the first. */
const columnLikeAttribute = /^attributes\.((?:attributes\.)*(?:timestamp|log_level|message|template))$/;

/** Where the value of a label stands in a row. */
function fieldOf(name: string): Field {
  if (Object.hasOwn(columns, name)) return columns[name]!;
  return { kind: "attribute", key: columnLikeAttribute.exec(name)?.[1] ?? name };
}

/** Like fieldOf, and takes note of an attribute that no stage before extracts. */
export function referTo(name: string, context: PlanContext): Field {
  const field = fieldOf(name);
  if (field.kind === "attribute" && context.extracted !== "any" && !context.extracted.has(field.key)) {
    context.names.add(field.key);
  }
  return field;
}
