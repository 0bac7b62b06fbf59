/** Who owns which field: `metadata.managedFields`, and server-side apply on top of it. */

import type { Schema } from "../kind/schema.ts";
import {
  copy,
  type Fields,
  isFields,
  isSame,
  type KubernetesObject,
  type ManagedFieldsEntry,
} from "../objects.ts";
import { StatusError } from "../status.ts";
import {
  collectFields,
  type FieldPath,
  fromFieldsV1,
  removeAt,
  showPath,
  toFieldsV1,
} from "./field-paths.ts";
import { isAtomicMap, itemSchema, keysOf, mergeSchema, shapeOfList } from "./list-shape.ts";

/** Who writes, and how. */
export interface Writer {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string | undefined;
}

interface Owner extends Writer {
  time: string | undefined;
  paths: Set<FieldPath>;
}

function readOwners(entries: readonly ManagedFieldsEntry[] | undefined): Owner[] {
  return (entries ?? [])
    .filter((entry) => typeof entry.operation === "string")
    .map(({ manager, operation, apiVersion, subresource, time, fieldsV1 }) => {
      return { manager, operation, apiVersion, subresource, time, paths: fromFieldsV1(fieldsV1 ?? {}) };
    });
}

function writeOwners(owners: readonly Owner[]): ManagedFieldsEntry[] {
  return owners
    .filter(({ paths }) => paths.size > 0)
    .sort((a, b) => (a.operation < b.operation ? -1 : a.operation > b.operation ? 1 : 0))
    .map(({ manager, operation, apiVersion, subresource, time, paths }) => ({
      ...{ manager, operation, apiVersion },
      ...(time === undefined ? {} : { time }),
      ...{ fieldsType: "FieldsV1", fieldsV1: toFieldsV1(paths) },
      ...(subresource === undefined ? {} : { subresource }),
    }));
}

function isOwner(owner: Owner, writer: Writer): boolean {
  return (
    owner.manager === writer.manager &&
    owner.operation === writer.operation &&
    owner.apiVersion === writer.apiVersion &&
    owner.subresource === writer.subresource
  );
}

/** The owners after an update: who changes a field owns it, and nobody owns what is gone. */
export function trackUpdate(
  before: KubernetesObject | undefined,
  after: KubernetesObject,
  entries: readonly ManagedFieldsEntry[] | undefined,
  writer: Writer,
  schema: Schema | undefined,
  now: string,
): ManagedFieldsEntry[] {
  const owners = readOwners(entries);
  const old = before === undefined ? new Map<FieldPath, unknown>() : collectFields(before, schema);
  const next = collectFields(after, schema);
  const changed = new Set<FieldPath>();
  for (const [path, value] of next) if (!old.has(path) || !isSame(old.get(path), value)) changed.add(path);
  for (const owner of owners) {
    owner.paths = new Set(
      [...owner.paths].filter((path) => !changed.has(path) && (next.has(path) || !old.has(path))),
    );
  }
  if (changed.size === 0) return writeOwners(owners);
  let own = owners.find((owner) => isOwner(owner, writer));
  if (own === undefined) {
    own = { ...writer, time: now, paths: new Set() };
    owners.push(own);
  }
  own.time = now;
  for (const path of changed) own.paths.add(path);
  return writeOwners(owners);
}

/** What an apply makes of a live object. */
export interface Applied {
  readonly object: KubernetesObject;
  readonly managedFields: ManagedFieldsEntry[];
}

/**
 * Applies a configuration: its fields are merged in and owned by the writer; fields that the writer applied before and
 * leaves out now are removed unless somebody else owns them. Throws 409 with each conflicting field unless `force`.
 */
export function applyConfiguration(
  live: KubernetesObject,
  configuration: KubernetesObject,
  writer: Writer,
  { schema, force, now }: { schema: Schema | undefined; force: boolean; now: string },
): Applied {
  const owners = readOwners(live.metadata.managedFields);
  const others = owners.filter((owner) => !isOwner(owner, writer));
  const own = owners.find((owner) => isOwner(owner, writer));
  const wanted = collectFields(configuration, schema);
  const conflicts = findConflicts(collectFields(live, schema), wanted, others);
  if (!force) {
    const taken = writer.manager === kubectlManager ? findLastApplied(live, schema) : new Set<FieldPath>();
    const refused = conflicts.filter(({ path }) => !taken.has(path));
    if (refused.length > 0) throw conflictError(refused);
  }
  for (const { owner, path } of conflicts) owner.paths.delete(path);
  const object = mergeConfiguration(live, configuration, schema, "", true) as KubernetesObject;
  const paths = new Set(wanted.keys());
  for (const path of own?.paths ?? []) {
    if (!paths.has(path) && !isOwnedBy(others, path)) removeAt(object, path, paths);
  }
  const isUnchanged = own !== undefined && isSame(own.paths, paths);
  const next: Owner = { ...writer, time: isUnchanged ? own.time : now, paths };
  return { object, managedFields: writeOwners([...others, next]) };
}

/** The manager that may take over, on the server's side, what it applied on its own side before. */
const kubectlManager = "kubectl";
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** The fields that kubectl last applied on its side, and that still are what it applied. */
function findLastApplied(live: KubernetesObject, schema: Schema | undefined): Set<FieldPath> {
  const text = live.metadata.annotations?.[lastAppliedAnnotation];
  if (text === undefined) return new Set();
  const now = collectFields(live, schema);
  const applied = collectFields(JSON.parse(text) as Fields, schema);
  return new Set([...applied].filter(([path, value]) => isSame(now.get(path), value)).map(([path]) => path));
}

function isOwnedBy(owners: readonly Owner[], path: FieldPath): boolean {
  const within = path.endsWith("\n.") ? path.slice(0, -1) : `${path}\n`;
  return owners.some(({ paths }) => {
    return paths.has(path) || [...paths].some((each) => each.startsWith(within));
  });
}

interface FieldConflict {
  readonly owner: Owner;
  readonly path: FieldPath;
}

function findConflicts(
  live: ReadonlyMap<FieldPath, unknown>,
  wanted: ReadonlyMap<FieldPath, unknown>,
  others: readonly Owner[],
): FieldConflict[] {
  const conflicts: FieldConflict[] = [];
  for (const [path, value] of wanted) {
    if (path.endsWith("\n.") || isSame(live.get(path), value)) continue;
    for (const owner of others) if (owner.paths.has(path)) conflicts.push({ owner, path });
  }
  return conflicts;
}

function conflictError(conflicts: readonly FieldConflict[]): StatusError {
  const causes = conflicts.map(({ owner, path }) => {
    const by = `"${owner.manager}"${owner.subresource === undefined ? "" : ` with subresource "${owner.subresource}"`}`;
    const since = owner.operation === "Update" && owner.time !== undefined ? ` at ${owner.time}` : "";
    const message = `conflict with ${by} using ${owner.apiVersion}${since}`;
    return { reason: "FieldManagerConflict", message, field: showPath(path) };
  });
  const many = causes.length === 1 ? "1 conflict" : `${causes.length} conflicts`;
  const list =
    causes.length === 1
      ? ` ${causes[0]!.message}: ${causes[0]!.field}`
      : ` conflicts:\n${causes.map(({ message, field }) => `- ${message}: ${field}`).join("\n")}`;
  return new StatusError(409, "Conflict", `Apply failed with ${many}:${list}`, { causes });
}

function mergeConfiguration(
  live: unknown,
  applied: unknown,
  schema: Schema | undefined,
  name: string,
  isRoot: boolean,
): unknown {
  if (Array.isArray(applied)) {
    return mergeList(Array.isArray(live) ? live : [], applied, schema, name);
  }
  if (!isFields(applied) || !isFields(live) || isAtomicMap(schema)) return copy(applied);
  const merged: Fields = { ...live };
  for (const [member, value] of Object.entries(applied)) {
    if (value === undefined) continue;
    merged[member] = mergeConfiguration(
      merged[member],
      value,
      mergeSchema(schema, member, isRoot),
      member,
      false,
    );
  }
  return copy(merged);
}

function mergeList(
  live: readonly unknown[],
  applied: readonly unknown[],
  schema: Schema | undefined,
  name: string,
): unknown[] {
  const shape = shapeOfList(applied.length === 0 ? live : applied, schema, name);
  if (shape.type === "atomic") return [...copy(applied)];
  if (shape.type === "set") return [...new Set([...live, ...applied])];
  const identify = (item: unknown) => JSON.stringify(keysOf(item as Fields, shape.keys));
  const merged = new Map(live.map((item) => [identify(item), item]));
  for (const item of applied) {
    const key = identify(item);
    merged.set(key, mergeConfiguration(merged.get(key), item, itemSchema(schema), "", false));
  }
  return [...merged.values()];
}
