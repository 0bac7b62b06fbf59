import type { Field, Signal } from "../../engine/index.ts";
import type { PlanContext } from "./context.ts";

type Columns = Readonly<Record<string, Field>>;

/** Labels that are columns of a row, by signal. Every other label is an attribute. */
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

/** The label with the duration of a span in milliseconds. */
export const spanDuration = "duration_ms";

/** The field that line filters read: the message of a log, the name of a span, the body of other rows. */
export function lineFieldOf(signal: Signal): Field {
  return signal === "traces" ? { kind: "attribute", key: "name" } : { kind: "message" };
}

/**
 * Matches a name such as `attributes.message`, by which a query reaches an attribute that is named like a column. More
 * `attributes.` before it are part of the name: `attributes.attributes.message` is the attribute `attributes.message`.
 */
const escapedName = /^attributes\.((?:attributes\.)*(.+))$/s;

/** The field of a row that a label of a query names. */
export function fieldOf(name: string, signal: Signal): Field {
  const columns = columnsBySignal[signal];
  if (Object.hasOwn(columns, name)) return columns[name]!;
  const [, key, column] = escapedName.exec(name) ?? [];
  const isEscaped = column !== undefined && Object.hasOwn(columns, column);
  return { kind: "attribute", key: isEscaped ? key! : name };
}

/** The name by which queries read an attribute. `fieldOf` returns the attribute for this name. */
export function fieldNameOf(key: string, signal: Signal): string {
  const unprefixed = key.replace(/^(?:attributes\.)+/, "");
  return Object.hasOwn(columnsBySignal[signal], unprefixed) ? `attributes.${key}` : key;
}

/**
 * The field that a label names. Records it in `context.joined` if it is a label of a joined row, and in `context.names`
 * if it is an attribute that no earlier stage makes.
 */
export function resolveField(name: string, context: PlanContext): Field {
  const field = fieldOf(name, context.signal);
  if (field.kind !== "attribute") return field;
  const { extracted, joined } = context;
  const [signal, named] =
    [...joined].find(([joinedSignal]) => field.key.startsWith(`${joinedSignal}.`)) ?? [];
  named?.add(field.key.slice(`${signal}.`.length));
  const isMade = named !== undefined || extracted === "any" || extracted.has(field.key);
  if (!isMade) context.names.add(field.key);
  return field;
}
