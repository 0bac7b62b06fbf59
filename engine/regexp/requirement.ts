/** Requirements on a text: that it holds certain texts. Built so that nothing in them is redundant. */
import { foldCase } from "../vector/case-folding.ts";

/** What a text must hold. `ignoreCase` is set for ASCII texts in lower case alone. */
export type Requirement =
  | { kind: "always" }
  | { kind: "never" }
  | { kind: "text"; text: string; ignoreCase: boolean }
  | { kind: "and" | "or"; of: readonly Requirement[] };

export const always: Requirement = { kind: "always" };
export const never: Requirement = { kind: "never" };

export function requireAny(requirements: readonly Requirement[]): Requirement {
  return join("or", requirements);
}

export function requireAll(requirements: readonly Requirement[]): Requirement {
  return join("and", requirements);
}

function join(kind: "and" | "or", requirements: readonly Requirement[]): Requirement {
  const [decides, adds] = kind === "and" ? ["never", "always"] : ["always", "never"];
  const flat = requirements.flatMap((part) => (part.kind === kind ? part.of : [part]));
  const deciding = flat.find((part) => part.kind === decides);
  if (deciding !== undefined) return deciding;
  const of: Requirement[] = [];
  for (const part of flat) {
    if (part.kind === adds || of.some((other) => isSpared(part, other, kind))) continue;
    of.splice(0, of.length, ...of.filter((other) => !isSpared(other, part, kind)), part);
  }
  if (of.length === 0) return kind === "and" ? always : never;
  return of.length === 1 ? of[0]! : { kind, of };
}

/** Whether a part says nothing beside another: of "and" the weaker one, of "or" the stronger one. */
function isSpared(part: Requirement, other: Requirement, kind: "and" | "or"): boolean {
  return kind === "and" ? implies(other, part) : implies(part, other);
}

function implies(holder: Requirement, held: Requirement): boolean {
  if (holder.kind !== "text" || held.kind !== "text") return false;
  if (held.ignoreCase) return foldCase(holder.text).includes(held.text);
  return !holder.ignoreCase && holder.text.includes(held.text);
}

/** The number of texts that are to be looked for. */
export function textCount(requirement: Requirement): number {
  if (requirement.kind === "text") return 1;
  if (requirement.kind === "always" || requirement.kind === "never") return 0;
  return requirement.of.reduce((sum, part) => sum + textCount(part), 0);
}

/** Length of the shortest text that satisfies it: the longer, the rarer. */
export function shortestLength(requirement: Requirement): number {
  if (requirement.kind === "text") return requirement.text.length;
  if (requirement.kind === "always") return 0;
  if (requirement.kind === "never") return Number.POSITIVE_INFINITY;
  const lengths = requirement.of.map(shortestLength);
  return requirement.kind === "and" ? Math.max(...lengths) : Math.min(...lengths);
}
