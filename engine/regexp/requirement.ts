/** Requirements on a text: which other texts it must contain. Combining them removes what is redundant. */
import { foldCase } from "../vector/case-folding.ts";

/** What a text must contain. `ignoreCase` is set only for ASCII texts in lower case. */
export type Requirement =
  | { kind: "always" }
  | { kind: "never" }
  | { kind: "text"; text: string; ignoreCase: boolean }
  | { kind: "and" | "or"; of: readonly Requirement[] };

export const always: Requirement = { kind: "always" };
export const never: Requirement = { kind: "never" };

export function requireAny(requirements: readonly Requirement[]): Requirement {
  return combine("or", requirements);
}

export function requireAll(requirements: readonly Requirement[]): Requirement {
  return combine("and", requirements);
}

function combine(kind: "and" | "or", requirements: readonly Requirement[]): Requirement {
  const [absorbing, neutral] = kind === "and" ? ["never", "always"] : ["always", "never"];
  const flat = requirements.flatMap((part) => (part.kind === kind ? part.of : [part]));
  const absorbed = flat.find((part) => part.kind === absorbing);
  if (absorbed !== undefined) return absorbed;
  const of: Requirement[] = [];
  for (const part of flat) {
    if (part.kind === neutral || of.some((other) => isRedundant(part, other, kind))) continue;
    of.splice(0, of.length, ...of.filter((other) => !isRedundant(other, part, kind)), part);
  }
  if (of.length === 0) return kind === "and" ? always : never;
  return of.length === 1 ? of[0]! : { kind, of };
}

/** Whether a part adds nothing to another: the weaker one of an "and", the stronger one of an "or". */
function isRedundant(part: Requirement, other: Requirement, kind: "and" | "or"): boolean {
  return kind === "and" ? implies(other, part) : implies(part, other);
}

/** Whether every text that satisfies `stronger` satisfies `weaker`, as far as two single texts show it. */
function implies(stronger: Requirement, weaker: Requirement): boolean {
  if (stronger.kind !== "text" || weaker.kind !== "text") return false;
  if (weaker.ignoreCase) return foldCase(stronger.text).includes(weaker.text);
  return !stronger.ignoreCase && stronger.text.includes(weaker.text);
}

/** Number of texts to search for. */
export function textCount(requirement: Requirement): number {
  if (requirement.kind === "text") return 1;
  if (requirement.kind === "always" || requirement.kind === "never") return 0;
  return requirement.of.reduce((sum, part) => sum + textCount(part), 0);
}

/**
 * A lower bound of the length (UTF-16 units) of a text that satisfies the requirement: the longer, the more selective.
 */
export function shortestLength(requirement: Requirement): number {
  if (requirement.kind === "text") return requirement.text.length;
  if (requirement.kind === "always") return 0;
  if (requirement.kind === "never") return Number.POSITIVE_INFINITY;
  const lengths = requirement.of.map(shortestLength);
  return requirement.kind === "and" ? Math.max(...lengths) : Math.min(...lengths);
}
