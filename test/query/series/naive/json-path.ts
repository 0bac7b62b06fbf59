/** Paths into JSON: members by dots, `[0]` for elements, `["a.b"]` for odd names. */
import { RefusedError } from "./data.ts";

const step = /(\.?)([A-Za-z_][\w-]*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/y;

/** The numbers (one or none) at a path of a JSON text. */
export function numbersAt(path: string): (text: string) => number[] {
  const steps: string[] = [];
  step.lastIndex = 0;
  while (step.lastIndex < path.length) {
    const found = step.exec(path);
    if (found === null) throw new RefusedError("bad path");
    // A dot stands between a name and what is before it, and nowhere else.
    if (found[2] !== undefined && (found[1] === ".") === (steps.length === 0))
      throw new RefusedError("bad path");
    steps.push(found[2] ?? found[3] ?? found[4]!);
  }
  if (steps.length === 0) throw new RefusedError("bad path");
  return (text) => {
    const value = steps.reduce<unknown>(member, parsed(text));
    return typeof value === "number" ? [value] : [];
  };
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
