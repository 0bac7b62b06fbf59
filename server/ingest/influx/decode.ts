/**
 * Decodes InfluxDB's line protocol (https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/) into
 * samples: each field that is a number or a boolean is a sample of a series of its own.
 */

import { isUtf8 } from "node:buffer";
import type { Sample } from "../../../engine/index.ts";
import { Refusal } from "../../throttle/refusal.ts";
import type { BodyTask } from "../decode-task.ts";
import { checkSharedAttributes, RowProblem } from "../json/json-row.ts";
import type { SampleSink } from "../row-sink.ts";
import { LineScanner } from "./line-scanner.ts";

/** The parameter of a task that says in which unit its times are. */
export const precisionParameter = "precision";
/** Nanoseconds of each precision, by the names of both versions. */
export const precisions: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["n", 1n],
  ["us", 1_000n],
  ["u", 1_000n],
  ["µ", 1_000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);
/** The field whose series has the name of the measurement alone. */
const valueField = "value";
const trueTexts: ReadonlySet<string> = new Set(["t", "T", "true", "True", "TRUE"]);
const falseTexts: ReadonlySet<string> = new Set(["f", "F", "false", "False", "FALSE"]);
const numberForm = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const integerForm = /^[+-]?\d+[iu]$/;

export function readInfluxLines(body: Buffer, sink: SampleSink, { parameters = {} }: BodyTask): void {
  if (!isUtf8(body)) throw new Refusal(400, "the body is not valid UTF-8");
  const unitNs = precisions.get(parameters[precisionParameter] ?? "ns")!;
  const scanner = new LineScanner(body.toString("utf8"));
  while (scanner.findLine()) {
    sink.refuseOnProblem(() => sink.addPoint(readPoint(scanner, sink, unitNs)));
    scanner.endLine();
  }
}

/** The samples of one line. Throws RowProblem. */
function readPoint(scanner: LineScanner, sink: SampleSink, unitNs: bigint): Sample[] {
  const measurement = scanner.readName(", ", "the measurement");
  const labels: Record<string, string> = Object.create(null);
  for (let tags = 0; scanner.take(","); ) {
    checkSharedAttributes(++tags);
    const key = scanner.readName("=", "a tag's name");
    scanner.expect("=", "= after a tag's name");
    labels[key] = scanner.readName(", ", "a tag's value");
  }
  scanner.expect(" ", "a space before the fields");
  const fields = readFields(scanner);
  const timeNs = scanner.readTime(unitNs) ?? sink.arrivalNs();
  if (fields.size === 0) throw new RowProblem("field", "none of the fields is a number or a boolean");
  return [...fields].map(([field, value]) => ({
    name: field === valueField ? measurement : `${measurement}_${field}`,
    type: "unknown",
    unit: "",
    labels,
    timeNs,
    value,
  }));
}

/** The fields that are numbers. Throws RowProblem. */
function readFields(scanner: LineScanner): Map<string, number> {
  const fields = new Map<string, number>();
  scanner.skipSpaces();
  do {
    const key = scanner.readName("=", "a field's name");
    scanner.expect("=", "= after a field's name");
    const text = scanner.readFieldValue();
    if (text === undefined) continue;
    fields.set(key, toNumber(text, key));
    checkSharedAttributes(fields.size);
  } while (scanner.take(","));
  return fields;
}

function toNumber(text: string, key: string): number {
  if (numberForm.test(text)) return Number(text);
  if (integerForm.test(text)) return Number(text.slice(0, -1));
  if (trueTexts.has(text)) return 1;
  if (falseTexts.has(text)) return 0;
  const expected = `a number, an integer such as 5i, a boolean or a text in double quotes`;
  const shown = JSON.stringify(text.slice(0, 60));
  throw new RowProblem(
    "field",
    `field ${JSON.stringify(key.slice(0, 60))} must be ${expected}, got ${shown}`,
  );
}
