/** Bodies of OTLP in JSON: as `WireBody` reads those in protobuf. */

import { isUtf8 } from "node:buffer";
import type { LogRow } from "../../../engine/index.ts";
import { Refusal } from "../../limits/refusal.ts";
import { describeValue } from "../../text/quote.ts";
import { parseExact } from "../json/exact-json.ts";
import { type JsonFields, RowProblem } from "../json/json-row.ts";
import type { RowSink, Sink } from "../row-sink.ts";
import { serviceKey, serviceNameOf } from "../service-name.ts";
import {
  type Attributes,
  addAttributes,
  copyOf,
  memberNamed,
  noAttributes,
  objectsOf,
  putAttribute,
  stringOf,
} from "./json-value.ts";

/** Names of the lists in the requests of a signal. */
export interface ListNames {
  resources: string;
  scopes: string;
  records: string;
}

interface Reading {
  names: ListNames;
  /** Names that belong to the signal. */
  own: ReadonlySet<string>;
  sink: Sink;
}

/** Makes a row of a record; `attributes` are those of its resource and scope, for it to add to. Throws RowProblem. */
export type RowOf = (record: JsonFields, attributes: Attributes, sink: RowSink) => LogRow;

/** Throws Refusal 400 where the body is no such JSON. */
export function readJsonBody(
  body: Buffer,
  sink: RowSink,
  names: ListNames,
  own: ReadonlySet<string>,
  rowOf: RowOf,
): void {
  eachRecord(parsedBody(body), { names, own, sink }, (record, base) => {
    try {
      sink.addText(rowOf(record, copyOf(base), sink));
    } catch (problem) {
      if (!(problem instanceof RowProblem)) throw problem;
      sink.refuse(problem);
    }
  });
}

/** Whole numbers that JSON.parse may not give exactly; should such digits stand in a text, reading is merely slower. */
const longNumber = /[[:,]\s*-?\d{16}/;

/** Throws Refusal 400 where the body is no JSON object. */
export function parsedBody(body: Buffer): JsonFields {
  if (!isUtf8(body)) throw new Refusal(400, "the body is not valid UTF-8");
  const text = body.toString("utf8");
  let value: unknown;
  try {
    value = longNumber.test(text) ? parseExact(text) : JSON.parse(text);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new Refusal(400, `the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonFields;
  throw new Refusal(400, `the body must be a JSON object, got ${describeValue(value)}`);
}

/** Calls `visit` for each record with the attributes of its resource and scope. Throws Refusal 400 for lists that are none. */
export function eachRecord(
  request: JsonFields,
  reading: Reading,
  visit: (record: JsonFields, base: Attributes, path: string) => void,
): void {
  try {
    const { resources } = reading.names;
    for (const [i, group] of objectsOf(request[resources], resources).entries()) {
      eachOfResource(group, reading, `${resources}[${i}]`, visit);
    }
  } catch (problem) {
    throw problem instanceof RowProblem ? new Refusal(400, problem.message) : problem;
  }
}

function eachOfResource(
  group: JsonFields,
  { names: { scopes, records }, own, sink }: Reading,
  path: string,
  visit: (record: JsonFields, base: Attributes, path: string) => void,
): void {
  const resource = resourceAttributes(
    memberNamed(group.resource, `${path}.resource`),
    own,
    `${path}.resource`,
  );
  for (const [i, list] of objectsOf(group[scopes], `${path}.${scopes}`).entries()) {
    const scopePath = `${path}.${scopes}[${i}]`;
    const base = copyOf(resource);
    addScope(base, memberNamed(list.scope, `${scopePath}.scope`), `${scopePath}.scope`);
    sink.repeat(base.units);
    for (const [j, record] of objectsOf(list[records], `${scopePath}.${records}`).entries()) {
      sink.repeat(base.units);
      visit(record, base, `${scopePath}.${records}[${j}]`);
    }
  }
}

function resourceAttributes(
  resource: JsonFields | undefined,
  own: ReadonlySet<string>,
  path: string,
): Attributes {
  const attributes = noAttributes(own);
  addAttributes(attributes, resource?.attributes, `${path}.attributes`);
  const name = serviceNameOf((key) => attributes.texts[key]);
  if (name !== undefined) putAttribute(attributes, serviceKey, name);
  return attributes;
}

function addScope(base: Attributes, scope: JsonFields | undefined, path: string): void {
  const name = stringOf(scope?.name, `${path}.name`);
  const version = stringOf(scope?.version, `${path}.version`);
  if (name !== "") putAttribute(base, "otel.scope.name", name);
  if (version !== "") putAttribute(base, "otel.scope.version", version);
  addAttributes(base, scope?.attributes, `${path}.attributes`);
}
