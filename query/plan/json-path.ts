import { refuse } from "../text/source.ts";
import type { JsonPath } from "../tree/json-path.ts";
import type { PlanContext } from "./context.ts";
import { resolveString } from "./variables.ts";

/** One step of a path: `.name`, `[0]` or `["a.b"]`. The first name needs no dot. */
const pathStep = /(?:\.|^)([^.[\]"]+)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\]/y;

/** The steps of a path, from the outermost: names of members, and indexes of elements. Throws a QueryError. */
export function parseJsonPath(node: JsonPath, context: PlanContext): (string | number)[] {
  const path = resolveString(node.path, context).replace(/^\$/, "");
  const steps: (string | number)[] = [];
  pathStep.lastIndex = 0;
  while (pathStep.lastIndex < path.length) {
    const [, name, index, quotedName] = pathStep.exec(path) ?? [];
    if (name !== undefined) steps.push(name);
    else if (index !== undefined) steps.push(Number(index));
    else if (quotedName !== undefined)
      steps.push(parseName(quotedName) ?? refuseJsonPath(node, path, context));
    else return refuseJsonPath(node, path, context);
  }
  return steps.length === 0 ? refuseJsonPath(node, path, context) : steps;
}

/** The name that a text in quotes stands for; undefined where it is no JSON. */
function parseName(quoted: string): string | undefined {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return undefined;
  }
}

function refuseJsonPath(node: JsonPath, path: string, context: PlanContext): never {
  const problem = `${JSON.stringify(path)} is no path; expected names with dots and places in brackets`;
  return refuse(context.source, node.path, `${problem}, such as "spec.containers[0].image"`);
}
