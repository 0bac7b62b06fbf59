import type { Field, Signal } from "../../engine/index.ts";
import type { PlanContext } from "./context.ts";

type Columns = Readonly<Record<string, Field>>;

/** Names that are columns of a row rather than attributes, by signal. */
export const columnsBySignal: Readonly<Record<Signal, Columns>> = {
  logs: {
    timestamp: { kind: "time" },
    log_level: { kind: "level" },
    message: { kind: "message" },
    template: { kind: "template" },
  },
  traces: { timestamp: { kind: "time" } },
  metrics: {},
  profiles: { timestamp: { kind: "time" }, body: { kind: "message" }, message: { kind: "message" } },
  kubernetes_resources: {
    timestamp: { kind: "time" },
    body: { kind: "message" },
    message: { kind: "message" },
  },
};

/** What the text stages read: the line of a log, the name of a span, the body of what has one. */
export function lineFieldOf(signal: Signal): Field {
  return signal === "traces" ? { kind: "attribute", key: "name" } : { kind: "message" };
}

/** `attributes.message`, with more `attributes.` before it for the attribute that is named so but for the first. */
const escapedName = /^attributes\.((?:attributes\.)*(.+))$/s;

/** Where the value of a label stands in a row. */
export function fieldOf(name: string, signal: Signal): Field {
  const known = columnsBySignal[signal];
  if (Object.hasOwn(known, name)) return known[name]!;
  const [, inner, bare] = escapedName.exec(name) ?? [];
  return { kind: "attribute", key: bare !== undefined && Object.hasOwn(known, bare) ? inner! : name };
}

/** What an attribute is called in queries: the name that `fieldOf` finds it by. */
export function fieldNameOf(key: string, signal: Signal): string {
  const bare = key.replace(/^(?:attributes\.)+/, "");
  return Object.hasOwn(columnsBySignal[signal], bare) ? `attributes.${key}` : key;
}

/** Like fieldOf, and takes note of an attribute that no stage before extracts. */
export function resolveField(name: string, context: PlanContext): Field {
  const field = fieldOf(name, context.signal);
  if (field.kind === "attribute" && context.extracted !== "any" && !context.extracted.has(field.key)) {
    context.names.add(field.key);
  }
  return field;
}
