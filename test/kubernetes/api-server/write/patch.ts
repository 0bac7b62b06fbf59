/** JSON patch, merge patch, and as much of strategic merge patch as kubectl sends. */

import { copy, type Fields, isFields, isSame } from "../objects.ts";
import { badRequest, StatusError } from "../status.ts";
import { itemSchema, keysOf, shapeOfList } from "./list-shape.ts";

/** Applies a merge patch (RFC 7396) and returns the result. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return copy(patch);
  const merged: Fields = isFields(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = applyMergePatch(merged[name], value);
  }
  return merged;
}

/** Applies a strategic merge patch: lists that have merge keys are merged by item. */
export function applyStrategicPatch(target: unknown, patch: unknown, name = ""): unknown {
  if (Array.isArray(patch)) return mergeStrategicList(Array.isArray(target) ? target : [], patch, name);
  if (!isFields(patch)) return copy(patch);
  if (patch.$patch === "replace") return withoutDirectives(patch);
  const merged: Fields = isFields(target) ? { ...target } : {};
  for (const [member, value] of Object.entries(patch)) {
    const directive = /^\$(deleteFromPrimitiveList|setElementOrder)\/(.+)$/.exec(member);
    if (directive?.[1] === "deleteFromPrimitiveList") {
      const current = merged[directive[2]!];
      if (Array.isArray(current))
        merged[directive[2]!] = current.filter((each) => !(value as unknown[]).includes(each));
    } else if (member === "$retainKeys") {
      for (const key of Object.keys(merged)) if (!(value as string[]).includes(key)) delete merged[key];
    } else if (member.startsWith("$")) continue;
    else if (value === null || (isFields(value) && value.$patch === "delete")) delete merged[member];
    else merged[member] = applyStrategicPatch(merged[member], value, member);
  }
  return merged;
}

function withoutDirectives(patch: Fields): Fields {
  return Object.fromEntries(Object.entries(copy(patch)).filter(([name]) => !name.startsWith("$")));
}

function mergeStrategicList(target: readonly unknown[], patch: readonly unknown[], name: string): unknown[] {
  const isReplaced = patch.some((item) => isFields(item) && item.$patch === "replace");
  if (isReplaced) return patch.filter((item) => !(isFields(item) && item.$patch === "replace")).map(copy);
  const shape = shapeOfList([...patch, ...target], itemSchema(undefined), name);
  if (shape.type === "set") return [...new Set([...target, ...patch])];
  if (shape.type === "atomic") return [...copy(patch)];
  // A strategic patch may leave out the protocol of a port, so that only the first key identifies an item.
  const keys = shape.keys.slice(0, 1);
  const merged = [...target];
  for (const item of patch as readonly Fields[]) {
    const index = merged.findIndex(
      (each) => isFields(each) && isSame(keysOf(each, keys), keysOf(item, keys)),
    );
    if (item.$patch === "delete") {
      if (index >= 0) merged.splice(index, 1);
    } else if (index >= 0) merged[index] = applyStrategicPatch(merged[index], item);
    else merged.push(applyStrategicPatch(undefined, item));
  }
  return merged;
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** Applies a JSON patch (RFC 6902) and returns the result; throws 422 where an operation does not fit. */
export function applyJsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch))
    throw badRequest("error decoding patch: json: cannot unmarshal object into Go value");
  let result = copy(target);
  for (const operation of patch as Operation[]) result = applyOperation(result, operation);
  return result;
}

function applyOperation(target: unknown, { op, path, from, value }: Operation): unknown {
  switch (op) {
    case "add":
      return write(target, path, copy(value), "add");
    case "replace":
      read(target, path);
      return write(target, path, copy(value), "replace");
    case "remove":
      return write(target, path, undefined, "remove");
    case "move": {
      const moved = read(target, from!);
      return write(write(target, from!, undefined, "remove"), path, moved, "add");
    }
    case "copy":
      return write(target, path, copy(read(target, from!)), "add");
    case "test":
      if (!isSame(read(target, path), value)) throw unfit(`testing value ${path} failed`);
      return target;
    default:
      throw badRequest(`Unexpected kind: ${op}`);
  }
}

function unfit(message: string): StatusError {
  return new StatusError(
    422,
    "Invalid",
    `the server rejected our request due to an error in our request: ${message}`,
    {},
  );
}

function stepsOf(path: string): string[] {
  const steps = path.split("/").slice(1);
  return steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function read(target: unknown, path: string): unknown {
  let at = target;
  for (const step of stepsOf(path)) {
    at = Array.isArray(at) ? at[Number(step)] : isFields(at) ? at[step] : undefined;
    if (at === undefined) throw unfit(`path ${path} does not exist`);
  }
  return at;
}

function write(target: unknown, path: string, value: unknown, how: "add" | "replace" | "remove"): unknown {
  const steps = stepsOf(path);
  const last = steps.pop();
  if (last === undefined) return value;
  const parent = read(
    target,
    steps.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join(""),
  );
  if (Array.isArray(parent)) {
    const index = last === "-" ? parent.length : Number(last);
    const indexMax = how === "add" ? parent.length : parent.length - 1;
    if (!Number.isInteger(index) || index < 0 || index > indexMax)
      throw unfit(`index ${last} is out of bounds`);
    if (how === "add") parent.splice(index, 0, value);
    else if (how === "replace") parent[index] = value;
    else parent.splice(index, 1);
  } else if (isFields(parent)) {
    if (how === "remove") {
      if (parent[last] === undefined) throw unfit(`path ${path} does not exist`);
      delete parent[last];
    } else parent[last] = value;
  } else throw unfit(`path ${path} has no parent`);
  return target;
}
