/** Bodies of OTLP in JSON: as `WireBody` reads those in protobuf. */

import { isUtf8 } from "node:buffer";
import type { LogRow } from "../../../engine/index.ts";
import { Refusal } from "../../route.ts";
import { parseExact } from "../exact-json.ts";
import { type Json, RowProblem } from "../json-row.ts";
import type { RowSink } from "../row-sink.ts";
import { serviceKey, serviceNameOf } from "../service-name.ts";
import {
  type Attributes,
  addAttributes,
  memberOf,
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

/** Makes a row of a record; `attributes` are those of its resource and scope, for it to add to. Throws RowProblem. */
export type RowOf = (record: Json, attributes: Attributes, sink: RowSink) => LogRow;

/** Throws Refusal 400 where the body is no such JSON. */
export function readJsonBody(
  body: Buffer,
  sink: RowSink,
  names: ListNames,
  own: ReadonlySet<string>,
  rowOf: RowOf,
) {
  try {
    eachRecord(parsedBody(body), names, own, (record, base) => {
      try {
        const attributes = { texts: Object.assign(Object.create(null), base.texts), keys: 0, own };
        sink.addText(rowOf(record, attributes, sink));
      } catch (problem) {
        if (!(problem instanceof RowProblem)) throw problem;
        sink.refuse(problem);
      }
    });
  } catch (problem) {
    throw problem instanceof RowProblem ? new Refusal(400, problem.message) : problem;
  }
}

/** Whole numbers that JSON.parse may not give exactly; should such digits stand in a text, reading is merely slower. */
const longNumber = /[[:,]\s*-?\d{16}/;

function parsedBody(body: Buffer): Json {
  if (!isUtf8(body)) throw new Refusal(400, "the body is not valid UTF-8");
  const text = body.toString("utf8");
  let value: unknown;
  try {
    value = longNumber.test(text) ? parseExact(text) : JSON.parse(text);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new Refusal(400, `the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const request = memberOf(value, "the body");
  if (request === undefined) throw new Refusal(400, "the body must be a JSON object, got null");
  return request;
}

function eachRecord(
  request: Json,
  { resources, scopes, records }: ListNames,
  own: ReadonlySet<string>,
  visit: (record: Json, base: Attributes) => void,
): void {
  for (const [i, group] of objectsOf(request[resources], resources).entries()) {
    const path = `${resources}[${i}]`;
    const resource = memberOf(group.resource, `${path}.resource`);
    for (const [j, list] of objectsOf(group[scopes], `${path}.${scopes}`).entries()) {
      const scopePath = `${path}.${scopes}[${j}]`;
      const base = resourceAttributes(resource, own, `${path}.resource`);
      addScope(base, memberOf(list.scope, `${scopePath}.scope`), `${scopePath}.scope`);
      for (const record of objectsOf(list[records], `${scopePath}.${records}`)) visit(record, base);
    }
  }
}

function resourceAttributes(resource: Json | undefined, own: ReadonlySet<string>, path: string): Attributes {
  const attributes = noAttributes(own);
  addAttributes(attributes, resource?.attributes, `${path}.attributes`);
  const name = serviceNameOf((key) => attributes.texts[key]);
  if (name !== undefined) putAttribute(attributes, serviceKey, name);
  return attributes;
}

function addScope(base: Attributes, scope: Json | undefined, path: string): void {
  const name = stringOf(scope?.name, `${path}.name`);
  const version = stringOf(scope?.version, `${path}.version`);
  if (name !== "") putAttribute(base, "otel.scope.name", name);
  if (version !== "") putAttribute(base, "otel.scope.version", version);
  addAttributes(base, scope?.attributes, `${path}.attributes`);
}
