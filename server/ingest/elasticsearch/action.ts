/** Reads the actions of a bulk body. */

import { describeValue } from "../../text/quote.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { isGiven, type JsonFields } from "../json/json-row.ts";
import { jsonRowLengthMax } from "../limits.ts";

const actions = ["index", "create", "update", "delete"] as const;

export interface BulkAction {
  name: (typeof actions)[number];
  index: string;
  /** "" where the document has no id. */
  id: string;
}

/** Reads the action in a line with that number; `index` is that of actions that name none. Throws Refusal. */
export function readAction(line: string, number: number, index: string): BulkAction {
  const action = parseAction(line);
  const name = actions.find((each) => isGiven(action?.[each]));
  const fields = name === undefined ? undefined : action?.[name];
  if (name === undefined || typeof fields !== "object" || fields === null) {
    const expected = `an action such as {"create":{"_index":"logs"}}`;
    throw new Refusal(400, `line ${number} must be ${expected}, got ${describeValue(line)}`);
  }
  const { _index: ownIndex, _id: id } = fields as JsonFields;
  return {
    name,
    index: typeof ownIndex === "string" ? ownIndex : index,
    id: typeof id === "string" || typeof id === "number" ? String(id) : "",
  };
}

function parseAction(line: string): JsonFields | undefined {
  if (line.length > jsonRowLengthMax) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as JsonFields) : undefined;
  } catch {
    return undefined;
  }
}
