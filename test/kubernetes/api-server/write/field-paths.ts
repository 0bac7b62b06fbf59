/** Paths of an object's fields in the notation of `managedFields`, and sets of them. */

import type { Schema } from "../kind/schema.ts";
import { type Fields, isFields } from "../objects.ts";
import { isAtomicMap, itemSchema, keysOf, mergeSchema, shapeOfList } from "./list-shape.ts";

/** Steps such as `f:spec`, `k:{"type":"Ready"}`, `v:"a"`, joined by line breaks, which JSON never holds. */
export type FieldPath = string;

const unownedRoots = new Set(["f:apiVersion", "f:kind"]);
const unownedMetadata = [
  ...["name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"],
  ...["deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"],
].map((name) => `f:metadata\nf:${name}`);

/** Every field of an object that somebody can own, with its value; an item of a merged list has the step `.`. */
export function collectFields(object: Fields, schema: Schema | undefined): Map<FieldPath, unknown> {
  const found = new Map<FieldPath, unknown>();
  for (const [name, value] of Object.entries(object)) {
    const path = `f:${name}`;
    if (value === undefined || unownedRoots.has(path)) continue;
    collect(value, mergeSchema(schema, name, true), name, path, found);
  }
  for (const path of unownedMetadata) deleteBelow(found, path);
  found.delete("f:metadata");
  return found;
}

function deleteBelow(found: Map<FieldPath, unknown>, path: FieldPath): void {
  if (found.delete(path)) return;
  for (const each of found.keys()) if (each.startsWith(`${path}\n`)) found.delete(each);
}

function collect(
  value: unknown,
  schema: Schema | undefined,
  name: string,
  path: FieldPath,
  found: Map<FieldPath, unknown>,
): void {
  if (Array.isArray(value)) {
    const shape = shapeOfList(value, schema, name);
    if (shape.type === "atomic" || value.length === 0) found.set(path, value);
    else if (shape.type === "set")
      for (const item of value) found.set(`${path}\nv:${JSON.stringify(item)}`, item);
    else {
      for (const item of value as Fields[]) {
        const itemPath = `${path}\nk:${JSON.stringify(keysOf(item, shape.keys))}`;
        found.set(`${itemPath}\n.`, undefined);
        collectMembers(item, itemSchema(schema), itemPath, found);
      }
    }
  } else if (isFields(value) && !isAtomicMap(schema) && Object.keys(value).length > 0) {
    collectMembers(value, schema, path, found);
  } else found.set(path, value);
}

function collectMembers(
  value: Fields,
  schema: Schema | undefined,
  path: FieldPath,
  found: Map<FieldPath, unknown>,
): void {
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined)
      collect(member, mergeSchema(schema, name, false), name, `${path}\nf:${name}`, found);
  }
}

/** The tree of `fieldsV1`. */
export function toFieldsV1(paths: Iterable<FieldPath>): Fields {
  const root: Fields = {};
  for (const path of paths) {
    let at = root;
    for (const step of path.split("\n")) {
      at[step] ??= {};
      at = at[step] as Fields;
    }
  }
  return root;
}

/** The paths of a tree of `fieldsV1`. */
export function fromFieldsV1(tree: Fields, prefix = ""): Set<FieldPath> {
  const paths = new Set<FieldPath>();
  for (const [step, below] of Object.entries(tree)) {
    const path = prefix === "" ? step : `${prefix}\n${step}`;
    if (!isFields(below) || Object.keys(below).length === 0) paths.add(path);
    else for (const each of fromFieldsV1(below, path)) paths.add(each);
  }
  return paths;
}

/** A path as conflicts show it: `.spec.rules[name="a"].value`. */
export function showPath(path: FieldPath): string {
  const steps = path.split("\n").map((step) => {
    if (step.startsWith("f:")) return `.${step.slice(2)}`;
    if (step.startsWith("v:")) return `[=${step.slice(2)}]`;
    if (step === ".") return "";
    const keys = Object.entries(JSON.parse(step.slice(2)) as Fields);
    return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(",")}]`;
  });
  return steps.join("");
}

/** Removes what is at a path, and the objects and lists that are empty then, unless `keeps` names them. */
export function removeAt(value: unknown, path: FieldPath, keeps: ReadonlySet<FieldPath>): void {
  const steps = path.split("\n").filter((step) => step !== ".");
  const trail: { parent: unknown; step: string }[] = [];
  let at = value;
  for (const step of steps) {
    trail.push({ parent: at, step });
    at = stepInto(at, step);
    if (at === undefined) return;
  }
  for (let depth = trail.length - 1; depth >= 0; depth--) {
    const { parent, step } = trail[depth]!;
    removeStep(parent, step);
    const isEmpty = Array.isArray(parent) ? parent.length === 0 : Object.keys(parent as Fields).length === 0;
    if (!isEmpty || depth === 0 || keeps.has(steps.slice(0, depth).join("\n"))) return;
  }
}

function findItem(list: readonly unknown[], step: string): number {
  const wanted = JSON.parse(step.slice(2)) as unknown;
  if (step.startsWith("v:")) return list.indexOf(wanted);
  const keys = Object.keys(wanted as Fields);
  return list.findIndex((item) => {
    return isFields(item) && JSON.stringify(keysOf(item, keys)) === step.slice(2);
  });
}

function stepInto(value: unknown, step: string): unknown {
  if (Array.isArray(value)) return value[findItem(value, step)];
  return isFields(value) ? value[step.slice(2)] : undefined;
}

function removeStep(parent: unknown, step: string): void {
  if (Array.isArray(parent)) parent.splice(findItem(parent, step), 1);
  else delete (parent as Fields)[step.slice(2)];
}
