/**
 * Reads OTLP bodies in JSON: resources, their scopes, and the records of each scope. `WireBody` does the same for
 * protobuf.
 */

import { isUtf8 } from "node:buffer";
import type { LogRow } from "../../../engine/index.ts";
import { describeValue } from "../../text/quote.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { parseExact } from "../json/exact-json.ts";
import { type JsonFields, refuseBodyOnProblem } from "../json/json-row.ts";
import { checkJsonSize } from "../json/json-size.ts";
import { isStackOverflow } from "../range-error.ts";
import type { RowSink, Sink } from "../row-sink.ts";
import { serviceKey, serviceNameOf } from "../service-name.ts";
import {
  type Attributes,
  addAttributes,
  beginRecord,
  copyAttributes,
  makeAttributes,
  putAttribute,
  stringOf,
  toObject,
  toObjects,
} from "./json-value.ts";

/** Names of the nested lists in a request of one signal, for logs `resourceLogs`, `scopeLogs` and `logRecords`. */
export interface ListNames {
  resources: string;
  scopes: string;
  records: string;
}

interface RequestContext {
  names: ListNames;
  /** Names that are reserved for the signal's own fields. */
  reservedNames: ReadonlySet<string>;
  sink: Pick<Sink, "countRepeatedBytes">;
}

/**
 * Makes a row from a record. `attributes` holds the attributes of the resource and the scope; those of the record are
 * added to it. Throws RowProblem.
 */
export type MakeRow = (record: JsonFields, attributes: Attributes, sink: RowSink) => LogRow;

/** Reads every record of a body into the sink. Throws Refusal 400 where the body is not valid JSON of this shape. */
export function readJsonBody(
  body: Buffer,
  sink: RowSink,
  names: ListNames,
  reservedNames: ReadonlySet<string>,
  makeRow: MakeRow,
): void {
  forEachRecord(parseBody(body), { names, reservedNames, sink }, (record, base) => {
    sink.refuseOnProblem(() => sink.addText(makeRow(record, beginRecord(base), sink)));
  });
}

/** Finds integers that JSON.parse may round. A match within a string does no harm: parsing is only slower. */
const longNumber = /[[:,]\s*-?\d{16}/;

/** Parses a body. Throws Refusal 400 where it is not a JSON object, 413 where it has too many values. */
export function parseBody(body: Buffer): JsonFields {
  if (!isUtf8(body)) throw new Refusal(400, "the body is not valid UTF-8");
  checkJsonSize(body);
  const text = body.toString("utf8");
  let value: unknown;
  try {
    value = longNumber.test(text) ? parseExact(text) : JSON.parse(text);
  } catch (error) {
    if (isStackOverflow(error)) throw error;
    throw new Refusal(400, `the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonFields;
  throw new Refusal(400, `the body must be a JSON object, got ${describeValue(value)}`);
}

/**
 * Calls `visit` for each record with the attributes of its resource and scope. Throws Refusal 400 where a list is
 * malformed.
 */
export function forEachRecord(
  request: JsonFields,
  context: RequestContext,
  visit: (record: JsonFields, base: Attributes, path: string) => void,
): void {
  refuseBodyOnProblem(() => {
    const { resources } = context.names;
    for (const [i, group] of toObjects(request[resources], resources).entries()) {
      visitResource(group, context, `${resources}[${i}]`, visit);
    }
  });
}

function visitResource(
  group: JsonFields,
  { names: { scopes, records }, reservedNames, sink }: RequestContext,
  path: string,
  visit: (record: JsonFields, base: Attributes, path: string) => void,
): void {
  const resource = resourceAttributes(
    toObject(group.resource, `${path}.resource`),
    reservedNames,
    `${path}.resource`,
  );
  for (const [i, list] of toObjects(group[scopes], `${path}.${scopes}`).entries()) {
    const scopePath = `${path}.${scopes}[${i}]`;
    const base = copyAttributes(resource);
    addScope(base, toObject(list.scope, `${scopePath}.scope`), `${scopePath}.scope`);
    sink.countRepeatedBytes(base.copyCost);
    for (const [j, record] of toObjects(list[records], `${scopePath}.${records}`).entries()) {
      sink.countRepeatedBytes(base.copyCost);
      visit(record, base, `${scopePath}.${records}[${j}]`);
    }
  }
}

function resourceAttributes(
  resource: JsonFields | undefined,
  reservedNames: ReadonlySet<string>,
  path: string,
): Attributes {
  const attributes = makeAttributes(reservedNames);
  addAttributes(attributes, resource?.attributes, `${path}.attributes`);
  const name = serviceNameOf((key) => attributes.texts[key]);
  if (name !== undefined) putAttribute(attributes, serviceKey, name);
  return attributes;
}

/** The attributes of a resource and a scope in their JSON form, for all records of the scope. Throws RowProblem. */
export function readBase(resource: JsonFields, scope: JsonFields): Attributes {
  const base = resourceAttributes(resource, noNames, "resource");
  addScope(base, scope, "scope");
  return base;
}

const noNames: ReadonlySet<string> = new Set();

function addScope(base: Attributes, scope: JsonFields | undefined, path: string): void {
  const name = stringOf(scope?.name, `${path}.name`);
  const version = stringOf(scope?.version, `${path}.version`);
  if (name !== "") putAttribute(base, "otel.scope.name", name);
  if (version !== "") putAttribute(base, "otel.scope.version", version);
  addAttributes(base, scope?.attributes, `${path}.attributes`);
}
