import { type Field, type Filter, isSeverityRange } from "../../engine/index.ts";

/**
 * The filter of rows whose field has a text. Levels are compared in lower case; the name of a severity range selects
 * every level that belongs to it.
 */
export function makeEqualsFilter(field: Field, value: string): Filter {
  if (field.kind !== "level") return { kind: "equals", field, value };
  const level: Field = isSeverityRange(value) ? { kind: "level", asRange: true } : field;
  return { kind: "equals", field: level, value: value.toLowerCase() };
}
