/** Label and field selectors. */
import type { ResourceKind } from "./kind/kinds.ts";
import { type KubernetesObject, readPath } from "./objects.ts";
import { badRequest } from "./status.ts";

export type Selector = (object: KubernetesObject) => boolean;

/** Parses both selectors of a query string; throws 400 for what is no selector of `kind`. */
export function parseSelectors(query: URLSearchParams, kind: ResourceKind): Selector | undefined {
  const checks = [
    ...splitOutsideParentheses(query.get("labelSelector") ?? "").map(parseLabelTerm),
    ...(query.get("fieldSelector") ?? "")
      .split(",")
      .filter((term) => term !== "")
      .map((term) => parseFieldTerm(term, kind)),
  ];
  return checks.length === 0 ? undefined : (object) => checks.every((check) => check(object));
}

function splitOutsideParentheses(text: string): string[] {
  return (text.match(/(?:\([^)]*\)|[^,(])+/g) ?? []).map((term) => term.trim()).filter((term) => term !== "");
}

function parseLabelTerm(term: string): Selector {
  const label = (object: KubernetesObject, key: string) => object.metadata.labels?.[key];
  const set = /^([^\s!=]+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(term);
  if (set !== null) {
    const [, key, operator, list] = set as unknown as [string, string, string, string];
    const values = list.split(",").map((value) => value.trim());
    const isIn = (object: KubernetesObject) => values.includes(label(object, key) ?? "\n");
    return operator === "in" ? isIn : (object) => !isIn(object);
  }
  const comparison = /^([^\s!=]+)\s*(==?|!=)\s*(\S*)$/.exec(term);
  if (comparison !== null) {
    const [, key, operator, value] = comparison as unknown as [string, string, string, string];
    return (object) => (label(object, key) === value) === (operator !== "!=");
  }
  const presence = /^(!?)\s*([A-Za-z0-9_./-]+)$/.exec(term);
  if (presence === null) throw badRequest(`unable to parse requirement: found '${term}'`);
  const [, not, key] = presence as unknown as [string, string, string];
  return (object) => (label(object, key) === undefined) === (not === "!");
}

function parseFieldTerm(term: string, kind: ResourceKind): Selector {
  const found = /^([^=!]+)(==?|!=)(.*)$/.exec(term);
  if (found === null) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`);
  const [, path, operator, value] = found as unknown as [string, string, string, string];
  const known = path === "metadata.name" || (path === "metadata.namespace" && kind.namespaced);
  if (!known && !kind.selectableFields.includes(path)) {
    throw badRequest(
      `Unable to find "${kind.plural}" that match label selector "", field selector "${term}": ` +
        `field label not supported: ${path}`,
    );
  }
  return (object) => (String(readPath(object, path) ?? "") === value) === (operator !== "!=");
}
