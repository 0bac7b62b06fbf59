/** Paths into JSON: dots before members, `[0]` for elements, `["a.b"]` for names that need quotes. */
import { RefusedError } from "./data.ts";

const step = /(\.?)([A-Za-z_][\w-]*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/y;

/** Returns a function that reads the number at a path of a JSON text: a list of one number, or of none. */
export function makeNumberReader(path: string): (text: string) => number[] {
  const steps: string[] = [];
  step.lastIndex = 0;
  while (step.lastIndex < path.length) {
    const found = step.exec(path);
    if (found === null) throw new RefusedError("bad path");
    // A name has a dot before it, unless it is the first step.
    if (found[2] !== undefined && (found[1] === ".") === (steps.length === 0))
      throw new RefusedError("bad path");
    steps.push(found[2] ?? found[3] ?? found[4]!);
  }
  if (steps.length === 0) throw new RefusedError("bad path");
  return (text) => {
    const value = steps.reduce<unknown>(readMember, parseOrUndefined(text));
    return typeof value === "number" ? [value] : [];
  };
}

function readMember(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
