/**
 * Turns a zod schema into the structural schema of a CRD: no references, no unions of objects, a bound for every list,
 * map and text. Rules in CEL stand for what a union says.
 */

import * as z from "zod";
import type { CelRule, FieldExtension } from "./kind-schemas.ts";

/** A schema as a CRD holds it (OpenAPI v3, with the extensions of Kubernetes). */
export interface StructuralSchema {
  type?: string;
  properties?: Record<string, StructuralSchema>;
  additionalProperties?: StructuralSchema;
  items?: StructuralSchema;
  required?: string[];
  enum?: unknown[];
  [keyword: string]: unknown;
}

/** JSON Schema as zod writes it. */
interface JsonSchema {
  $ref?: string;
  type?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  oneOf?: JsonSchema[];
  anyOf?: JsonSchema[];
  enum?: unknown[];
  components?: unknown;
  [keyword: string]: unknown;
}

/** Bound of texts whose schema has none. */
const textLengthDefault = 8_192;
/** Bound of maps. */
const mapSizeMax = 200;
/** A widget in a group in a group is the deepest that a CRD describes; what is deeper is kept as it was sent. */
const depthMax = 2;

/** Throws an Error for a schema that no CRD can hold. */
export function structuralSchema(
  schema: z.ZodType,
  extensions: readonly FieldExtension[] = [],
): StructuralSchema {
  const root = z.toJSONSchema(schema, { target: "draft-2020-12", unrepresentable: "any" }) as JsonSchema;
  const definitions = (root.$defs ?? {}) as Record<string, JsonSchema>;
  const structural = new Converter(definitions).convert(root, []);
  for (const extension of extensions) extend(structural, extension);
  return structural;
}

class Converter {
  readonly #definitions: Readonly<Record<string, JsonSchema>>;

  constructor(definitions: Readonly<Record<string, JsonSchema>>) {
    this.#definitions = definitions;
  }

  /** `within`: names of the definitions that the schema stands in. */
  convert(schema: JsonSchema, within: readonly string[]): StructuralSchema {
    if (schema.$ref !== undefined) return this.#reference(schema.$ref, within);
    const members = schema.oneOf ?? schema.anyOf;
    if (members !== undefined) return this.#union(members, within);
    if (schema.properties !== undefined || schema.type === "object") return this.#object(schema, within);
    if (schema.type === "array") return this.#array(schema, within);
    return scalar(schema);
  }

  #reference(reference: string, within: readonly string[]): StructuralSchema {
    const name = reference.split("/").at(-1)!;
    const depth = within.filter((each) => each === name).length;
    if (depth >= depthMax) return { type: "object", ...preserved };
    return this.convert(this.#definitions[name]!, [...within, name]);
  }

  #object(
    { properties = {}, required = [], additionalProperties, description }: JsonSchema,
    within: readonly string[],
  ): StructuralSchema {
    const described = description === undefined ? {} : { description };
    const isMap = Object.keys(properties).length === 0 && isSchema(additionalProperties);
    if (isMap) {
      const values = this.convert(additionalProperties as JsonSchema, within);
      return { type: "object", ...described, additionalProperties: values, maxProperties: mapSizeMax };
    }
    const converted = Object.entries(properties).map(
      ([name, each]) => [name, this.convert(each, within)] as const,
    );
    return {
      type: "object",
      ...described,
      properties: Object.fromEntries(converted),
      ...(required.length === 0 ? {} : { required }),
      ...(additionalProperties === false ? {} : preserved),
    };
  }

  #array({ items, minItems, maxItems }: JsonSchema, within: readonly string[]): StructuralSchema {
    if (typeof maxItems !== "number") throw new Error("a list without maxItems");
    return {
      type: "array",
      ...(minItems === undefined ? {} : { minItems }),
      maxItems,
      items: this.convert(items!, within),
    };
  }

  /** One object with the members of all; rules say which of them go with which `type`. */
  #union(members: readonly JsonSchema[], within: readonly string[]): StructuralSchema {
    const objects = members.map((each) => this.convert(each, within));
    const types = members.map((member) => typeOf(member));
    const shared = Object.keys(objects[0]!.properties ?? {}).filter((name) =>
      objects.every(({ properties = {} }) => name in properties),
    );
    const properties: Record<string, StructuralSchema> = {};
    const rules: CelRule[] = [];
    for (const [i, { properties: own = {}, required = [] }] of objects.entries()) {
      for (const [name, schema] of Object.entries(own)) {
        properties[name] ??= schema;
        if (shared.includes(name)) continue;
        const isType = `self.type == '${types[i]}'`;
        const rule = required.includes(name)
          ? `has(self.${name}) == (${isType})`
          : `!has(self.${name}) || ${isType}`;
        rules.push({ rule, message: `${name} goes with type ${types[i]}` });
      }
    }
    properties.type = { type: "string", enum: types };
    const isOpen = objects.some((each) => preservedKey in each);
    return {
      type: "object",
      properties,
      required: ["type"],
      ...(isOpen ? preserved : {}),
      "x-kubernetes-validations": rules,
    };
  }
}

const preservedKey = "x-kubernetes-preserve-unknown-fields";
const preserved = { [preservedKey]: true };

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function typeOf({ properties }: JsonSchema): string {
  const { const: only, enum: values } = properties?.type ?? {};
  const type = only ?? values?.[0];
  if (typeof type !== "string") throw new Error("a union whose members do not differ in `type`");
  return type;
}

function scalar(schema: JsonSchema): StructuralSchema {
  const { type, const: only, enum: values, minimum, maximum, minLength, maxLength, pattern } = schema;
  const choices = only === undefined ? values : [only];
  const name = type ?? typeof choices?.[0];
  const isWhole = name === "number" && choices?.every((each) => Number.isInteger(each)) === true;
  const bounds = Object.entries({ minimum, maximum, minLength, maxLength, pattern });
  const structural: StructuralSchema = { type: isWhole ? "integer" : name };
  if (choices !== undefined) return { ...structural, enum: [...choices] };
  for (const [keyword, value] of bounds) if (value !== undefined) structural[keyword] = value;
  if (name === "string") structural.maxLength ??= textLengthDefault;
  if (name === "integer") structural.format = "int64";
  return structural;
}

/** Adds an extension to the field that it names; does nothing where the schema has no such field. */
function extend(schema: StructuralSchema, { field, list, rules }: FieldExtension): void {
  const target = fieldAt(schema, field);
  if (target === undefined) return;
  if (list === "set") target["x-kubernetes-list-type"] = "set";
  else if (list !== undefined) {
    target["x-kubernetes-list-type"] = "map";
    target["x-kubernetes-list-map-keys"] = [list.key];
  }
  if (rules !== undefined) {
    const known = (target["x-kubernetes-validations"] ?? []) as CelRule[];
    target["x-kubernetes-validations"] = [...known, ...rules];
  }
}

function fieldAt(schema: StructuralSchema, field: string): StructuralSchema | undefined {
  let at: StructuralSchema | undefined = schema;
  for (const part of field === "" ? [] : field.split(".")) {
    at = at?.properties?.[part.replace("[]", "")];
    if (part.endsWith("[]")) at = at?.items;
  }
  return at;
}
