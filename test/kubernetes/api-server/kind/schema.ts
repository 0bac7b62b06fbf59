/** Structural schemas of custom resources: pruning, defaults and validation. */
import { copy, type Fields, isFields, isSame } from "../objects.ts";
import type { FieldProblem } from "../status.ts";

/** A rule of `x-kubernetes-validations`. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** A structural schema, as custom resource definitions hold it. */
export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly default?: unknown;
  readonly nullable?: boolean;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
}

/** The schema of a member of an object; undefined where the member is unknown. */
export function memberSchema(schema: Schema, name: string): Schema | undefined {
  const own = schema.properties;
  if (own !== undefined && Object.hasOwn(own, name)) return own[name];
  return typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
}

/** `a.b`, `a[3]`, `a[key]`: the path of a member, as refusals write it. */
export function joinPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** Removes what the schema does not know from `value`, and returns the paths of what it removed. */
export function prune(value: unknown, schema: Schema, path = ""): string[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? [] : value.flatMap((item, i) => prune(item, items, `${path}[${i}]`));
  }
  if (!isFields(value)) return [];
  const removed: string[] = [];
  for (const name of Object.keys(value)) {
    const member = memberSchema(schema, name);
    const isRootField = path === "" && (name === "apiVersion" || name === "kind" || name === "metadata");
    if (isRootField) continue;
    if (member !== undefined) removed.push(...prune(value[name], member, joinPath(path, name)));
    else if (!keepsUnknown(schema)) {
      delete value[name];
      removed.push(joinPath(path, name));
    }
  }
  return removed;
}

function keepsUnknown(schema: Schema): boolean {
  return schema["x-kubernetes-preserve-unknown-fields"] === true || schema.additionalProperties === true;
}

/** Sets the schema's defaults where `value` has no field, and removes nulls that a default replaces. */
export function setDefaults(value: unknown, schema: Schema): void {
  if (Array.isArray(value)) {
    if (schema.items !== undefined) for (const item of value) setDefaults(item, schema.items);
    return;
  }
  if (!isFields(value)) return;
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const isAbsent = value[name] === undefined || (value[name] === null && member.nullable !== true);
    if (isAbsent && member.default !== undefined) value[name] = copy(member.default);
  }
  for (const [name, each] of Object.entries(value)) {
    const member = memberSchema(schema, name);
    if (member !== undefined) setDefaults(each, member);
  }
}

/** Checks a value against a schema; rules in CEL are checked elsewhere. */
export function validate(value: unknown, schema: Schema, path = ""): FieldProblem[] {
  if (value === null && schema.nullable === true) return [];
  const typeProblem = checkType(value, schema, path);
  if (typeProblem !== undefined) return [typeProblem];
  const problems = [...checkEnum(value, schema, path)];
  if (typeof value === "string") problems.push(...checkString(value, schema, path));
  if (typeof value === "number") problems.push(...checkNumber(value, schema, path));
  if (Array.isArray(value)) problems.push(...checkList(value, schema, path));
  if (isFields(value)) problems.push(...checkObject(value, schema, path));
  problems.push(...checkCombinations(value, schema, path));
  return problems;
}

function invalidValue(path: string, value: unknown, message: string): FieldProblem {
  const shown = typeof value === "object" && value !== null ? JSON.stringify(typeNameOf(value)) : show(value);
  return {
    path: path || "<nil>",
    reason: "FieldValueInvalid",
    message: `Invalid value: ${shown}: ${message}`,
  };
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

function typeNameOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function checkType(value: unknown, schema: Schema, path: string): FieldProblem | undefined {
  const got = typeNameOf(value);
  if (schema["x-kubernetes-int-or-string"] === true) {
    if (got === "integer" || got === "string") return undefined;
  } else if (schema.type === undefined || schema.type === got) return undefined;
  else if (schema.type === "number" && got === "integer") return undefined;
  const wanted = schema.type ?? "integer,string";
  const message = `${path} in body must be of type ${wanted}: "${got}"`;
  return { path, reason: "FieldValueTypeInvalid", message: `Invalid value: "${got}": ${message}` };
}

function checkEnum(value: unknown, schema: Schema, path: string): FieldProblem[] {
  if (schema.enum === undefined || schema.enum.some((each) => isSame(each, value))) return [];
  const supported = schema.enum.map(show).join(", ");
  const message = `Unsupported value: ${show(value)}: supported values: ${supported}`;
  return [{ path, reason: "FieldValueNotSupported", message }];
}

function checkString(value: string, schema: Schema, path: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const length = [...value].length;
  if (schema.maxLength !== undefined && length > schema.maxLength) {
    const message = `Too long: may not be more than ${schema.maxLength} bytes`;
    problems.push({ path, reason: "FieldValueTooLong", message });
  }
  if (schema.minLength !== undefined && length < schema.minLength) {
    const least = `${path} in body should be at least ${schema.minLength} chars long`;
    problems.push(invalidValue(path, value, least));
  }
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, "u").test(value)) {
    problems.push(invalidValue(path, value, `${path} in body should match '${schema.pattern}'`));
  }
  if (schema.format === "date-time" && Number.isNaN(Date.parse(value))) {
    problems.push(invalidValue(path, value, `${path} in body must be of type date-time: ${show(value)}`));
  }
  return problems;
}

function checkNumber(value: number, schema: Schema, path: string): FieldProblem[] {
  const { minimum, maximum, multipleOf } = schema;
  const problems: FieldProblem[] = [];
  const tooLow =
    minimum !== undefined && (schema.exclusiveMinimum === true ? value <= minimum : value < minimum);
  const tooHigh =
    maximum !== undefined && (schema.exclusiveMaximum === true ? value >= maximum : value > maximum);
  const orEqual = (exclusive: boolean | undefined) => (exclusive === true ? "" : " or equal to");
  if (tooLow) {
    const text = `${path} in body should be greater than${orEqual(schema.exclusiveMinimum)} ${minimum}`;
    problems.push(invalidValue(path, value, text));
  }
  if (tooHigh) {
    const text = `${path} in body should be less than${orEqual(schema.exclusiveMaximum)} ${maximum}`;
    problems.push(invalidValue(path, value, text));
  }
  if (multipleOf !== undefined && value % multipleOf !== 0) {
    problems.push(invalidValue(path, value, `${path} in body should be a multiple of ${multipleOf}`));
  }
  return problems;
}

function checkList(value: readonly unknown[], schema: Schema, path: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    const message = `Too many: ${value.length}: must have at most ${schema.maxItems} items`;
    problems.push({ path, reason: "FieldValueTooMany", message });
  }
  if (schema.minItems !== undefined && value.length < schema.minItems) {
    const text = `${path} in body should have at least ${schema.minItems} items`;
    problems.push(invalidValue(path, value.length, text));
  }
  problems.push(...checkDuplicates(value, schema, path));
  const { items } = schema;
  if (items !== undefined) {
    for (const [i, each] of value.entries()) problems.push(...validate(each, items, `${path}[${i}]`));
  }
  return problems;
}

function checkDuplicates(value: readonly unknown[], schema: Schema, path: string): FieldProblem[] {
  const listType = schema["x-kubernetes-list-type"];
  if (listType !== "set" && listType !== "map") return [];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const seen = new Set<string>();
  const problems: FieldProblem[] = [];
  for (const [i, each] of value.entries()) {
    const key = listType === "map" && isFields(each) ? keys.map((name) => [name, each[name]]) : each;
    const identity = JSON.stringify(key);
    const shown = JSON.stringify(Array.isArray(key) ? Object.fromEntries(key) : key);
    if (seen.has(identity)) {
      const message = `Duplicate value: ${shown}`;
      problems.push({ path: `${path}[${i}]`, reason: "FieldValueDuplicate", message });
    }
    seen.add(identity);
  }
  return problems;
}

function checkObject(value: Fields, schema: Schema, path: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const count = Object.keys(value).length;
  if (schema.maxProperties !== undefined && count > schema.maxProperties) {
    const message = `Too many: ${count}: must have at most ${schema.maxProperties} items`;
    problems.push({ path, reason: "FieldValueTooMany", message });
  }
  if (schema.minProperties !== undefined && count < schema.minProperties) {
    const text = `${path} in body should have at least ${schema.minProperties} properties`;
    problems.push(invalidValue(path, count, text));
  }
  for (const name of schema.required ?? []) {
    if (value[name] !== undefined) continue;
    problems.push({ path: joinPath(path, name), reason: "FieldValueRequired", message: "Required value" });
  }
  for (const [name, each] of Object.entries(value)) {
    const member = memberSchema(schema, name);
    const at = schema.properties?.[name] === undefined ? `${path}.${name}` : joinPath(path, name);
    if (member !== undefined && each !== undefined) problems.push(...validate(each, member, at));
  }
  return problems;
}

function checkCombinations(value: unknown, schema: Schema, path: string): FieldProblem[] {
  const problems = (schema.allOf ?? []).flatMap((each) => validate(value, each, path));
  const passed = (of: readonly Schema[]) => of.filter((each) => validate(value, each, path).length === 0);
  if (schema.anyOf !== undefined && passed(schema.anyOf).length === 0) {
    problems.push(invalidValue(path, value, `${path} in body must validate at least one schema (anyOf)`));
  }
  if (schema.oneOf !== undefined && passed(schema.oneOf).length !== 1) {
    problems.push(invalidValue(path, value, `${path} in body must validate one and only one schema (oneOf)`));
  }
  if (schema.not !== undefined && passed([schema.not]).length === 1) {
    problems.push(invalidValue(path, value, `${path} in body must not validate the schema (not)`));
  }
  return problems;
}
