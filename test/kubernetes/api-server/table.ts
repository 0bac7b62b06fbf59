/** Answers for `kubectl get`: tables, and objects reduced to their metadata. */
import type { PrinterColumn, ResourceKind } from "./kind/kinds.ts";
import { type Fields, isFields, type KubernetesObject } from "./objects.ts";

/** The form of objects that a client asked for in its `Accept` header. */
export type Form = "object" | "table" | "metadata";

/** Reads the first form that is served here from an `Accept` header. */
export function parseForm(accept: string | undefined): Form {
  for (const part of (accept ?? "").split(",")) {
    if (/;\s*as=Table/.test(part)) return "table";
    if (/;\s*as=PartialObjectMetadata/.test(part)) return "metadata";
    if (/application\/json\s*$|\*\/\*/.test(part)) return "object";
  }
  return "object";
}

const nameColumn: PrinterColumn = {
  name: "Name",
  type: "string",
  format: "name",
  jsonPath: ".metadata.name",
};
const ageColumn: PrinterColumn = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

/** A table of objects; `includeObject` is the query parameter of that name. */
export function toTable(
  objects: readonly KubernetesObject[],
  { columns }: ResourceKind,
  metadata: Fields,
  includeObject: string,
  now: number,
): Fields {
  const all = [nameColumn, ...(columns.length === 0 ? [ageColumn] : columns)];
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata,
    columnDefinitions: all.map(({ name, type, format = "", description = "", priority = 0 }) => {
      return { name, type: type === "date" ? "string" : type, format, description, priority };
    }),
    rows: objects.map((object) => ({
      cells: all.map((column) => toCell(column, object, now)),
      ...(includeObject === "None"
        ? {}
        : { object: includeObject === "Object" ? object : toPartial(object) }),
    })),
  };
}

/** An object reduced to its metadata. */
export function toPartial({ metadata }: KubernetesObject): KubernetesObject {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata };
}

function toCell({ jsonPath, type }: PrinterColumn, object: KubernetesObject, now: number): unknown {
  const [value] = readJsonPath(object, jsonPath);
  if (type === "date") return typeof value === "string" ? toAge(now - Date.parse(value)) : "<unknown>";
  if (value === undefined || value === null) return type === "string" ? "" : null;
  return type === "string" && typeof value !== "string" ? JSON.stringify(value) : value;
}

/** Reads a simple JSONPath: members, `['a']`, `[0]`, `[*]`, `[?(@.a=="b")]`. */
function readJsonPath(value: unknown, path: string): unknown[] {
  const steps = path.matchAll(
    /\.((?:\\.|[^.[\\])+)|\['([^']+)'\]|\[(\d+|\*)\]|\[\?\(@\.([\w.]+)\s*==\s*["']([^"']*)["']\)\]/g,
  );
  let found: unknown[] = [value];
  for (const [, member, quoted, index, filterName, filterValue] of steps) {
    found = found.flatMap((each) => {
      if (filterName !== undefined) {
        return Array.isArray(each)
          ? each.filter((item) => isFields(item) && item[filterName] === filterValue)
          : [];
      }
      if (index === "*") return Array.isArray(each) ? each : isFields(each) ? Object.values(each) : [];
      if (index !== undefined)
        return Array.isArray(each) && each.length > Number(index) ? [each[Number(index)]] : [];
      const name = quoted ?? member!.replaceAll("\\.", ".");
      return isFields(each) && each[name] !== undefined ? [each[name]] : [];
    });
  }
  return found;
}

/** An age as kubectl shows it: `5s`, `12m`, `3h`, `2d`. */
function toAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
