/** JSON Schemas of the API's document: a validator by ajv, and random values. */

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Random } from "./random.ts";
import { oneOf } from "./random.ts";

export interface Schema {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  minItems?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  minLength?: number;
}

export interface Operation {
  operationId: string;
  security: object[];
  parameters?: { name: string; in: string; required?: boolean }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content: Record<string, { schema: Schema }> }>;
}

export interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** Returns a function that checks a value against a schema of the document: null where it is valid, else the reason. */
export function validator(document: Document): (schema: Schema, value: unknown) => string | null {
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  ajv.addSchema({ $id: "doc", components: document.components });
  const checks = new Map<string, ValidateFunction>();
  return (schema, value) => {
    const key = JSON.stringify(schema).replaceAll('"#/', '"doc#/');
    const check = checks.get(key) ?? ajv.compile(JSON.parse(key) as object);
    checks.set(key, check);
    return check(value) ? null : ajv.errorsText(check.errors);
  };
}

const texts = [
  "a",
  "count(logs)",
  "error",
  "1h",
  "ops@example.com",
  "/dashboards/shop/",
  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  "https://example.com/$alert_name",
  "service",
  "X-A",
];

const optionalChance = 0.6;

/** A random value that is valid by the schema. */
export function generate(document: Document, schema: Schema, random: Random, depth = 0): unknown {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice("#/components/schemas/".length);
    return generate(document, document.components.schemas[name]!, random, depth);
  }
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) return generate(document, oneOf(choices, random), random, depth);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return oneOf(schema.enum, random);
  switch (schema.type) {
    case "object":
      return generateObject(document, schema, random, depth);
    case "array": {
      const count = Math.max(schema.minItems ?? 0, depth > 12 ? 0 : Math.floor(random() * 3));
      return Array.from({ length: count }, () => generate(document, schema.items ?? {}, random, depth + 1));
    }
    case "string": {
      const matching = texts.filter(
        (text) => schema.pattern === undefined || new RegExp(schema.pattern, "u").test(text),
      );
      return matching.length === 0 ? "" : oneOf(matching, random);
    }
    case "integer":
      return Math.min(schema.maximum ?? 1e6, (schema.minimum ?? 0) + Math.floor(random() * 5));
    case "number":
      return random() * 100;
    case "boolean":
      return random() < 0.5;
    case "null":
      return null;
    default:
      return oneOf<unknown>([null, 1, "x", [], {}], random);
  }
}

function generateObject(document: Document, schema: Schema, random: Random, depth: number): unknown {
  const made: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const isNeeded = schema.required?.includes(name) ?? false;
    if (isNeeded || (depth < 12 && random() < optionalChance)) {
      made[name] = generate(document, inner, random, depth + 1);
    }
  }
  if (typeof schema.additionalProperties === "object" && random() < 0.3) {
    made.extra = generate(document, schema.additionalProperties, random, depth + 1);
  }
  return made;
}
