/** Reads parameters of the path, the query and the headers: texts, some of which are numbers. */

import * as z from "zod";
import { suggest } from "../text/suggestion.ts";
import { Refusal } from "../throttle/refusal.ts";
import { checkInput } from "./validation.ts";

/** Schemas of parameters, by name. */
export type Parameters = Readonly<Record<string, z.ZodType>>;

/** Checked values of parameters, by name. */
export type Values<Schemas extends Parameters> = { readonly [Name in keyof Schemas]: z.infer<Schemas[Name]> };

/** Path parameters, all of which are present. Throws Refusal 400. */
export function readPathParameters<Name extends string>(
  schemas: { readonly [Each in Name]?: z.ZodType },
  texts: Readonly<Record<string, string>>,
): Readonly<Record<Name, string>> {
  for (const [name, schema] of Object.entries<z.ZodType | undefined>(schemas)) {
    if (schema !== undefined) readText(schema, name, texts[name]);
  }
  return texts as Record<Name, string>;
}

/** Query parameters; unknown ones are refused where any are declared. Throws Refusal 400. */
export function readQuery<Schemas extends Parameters>(
  schemas: Schemas | undefined,
  query: URLSearchParams,
  parameterName: string,
): Values<Schemas> {
  if (schemas === undefined) return {} as Values<Schemas>;
  for (const name of query.keys()) {
    if (Object.hasOwn(schemas, name)) continue;
    const known = suggest(name, Object.keys(schemas));
    throw new Refusal(400, `unknown ${parameterName} ${JSON.stringify(name.slice(0, 60))}${known}`);
  }
  return readTexts(schemas, (name) => query.get(name) ?? undefined);
}

/** Headers by their declared names. Throws Refusal 400. */
export function readHeaders<Schemas extends Parameters>(
  schemas: Schemas | undefined,
  headers: ReadonlyMap<string, string>,
): Values<Schemas> {
  return readTexts(schemas ?? ({} as Schemas), (name) => headers.get(name.toLowerCase()));
}

function readTexts<Schemas extends Parameters>(
  schemas: Schemas,
  textOf: (name: string) => string | undefined,
): Values<Schemas> {
  const values = Object.entries(schemas).map(([name, schema]) => [
    name,
    readText(schema, name, textOf(name)),
  ]);
  return Object.fromEntries(values) as Values<Schemas>;
}

/** Converts digits to a number where the schema is one, and checks the value. Throws Refusal 400. */
function readText(schema: z.ZodType, name: string, text: string | undefined): unknown {
  const value = text !== undefined && isNumeric(schema) && /^\d{1,16}$/.test(text) ? Number(text) : text;
  // Errors quote the text as it was sent.
  return schema.safeParse(value).success ? value : checkInput(schema, value, name, { got: text });
}

function isNumeric(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodOptional) return isNumeric(schema.unwrap() as z.ZodType);
  return schema instanceof z.ZodNumber;
}
