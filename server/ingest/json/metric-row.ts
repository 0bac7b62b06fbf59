/** Reads the samples of a metric from its JSON object: one sample, or those of a histogram's series. */

import type { Sample } from "../../../engine/index.ts";
import { suggest } from "../../text/suggestion.ts";
import {
  type Buckets,
  type ExponentialHistogram,
  type ExponentialRange,
  makeClassicSamples,
  toClassicBuckets,
} from "../histogram.ts";
import {
  attributesOf,
  isGiven,
  type JsonFields,
  makeFieldProblem,
  RowProblem,
  readJsonRow,
  scalarText,
  timeOf,
} from "./json-row.ts";

export interface ReadSamples {
  samples: Sample[];
  /** False where the row came without a time and got the time of arrival. */
  hasOwnTime: boolean;
}

/** What all samples of one row share. */
type Shared = Omit<Sample, "value">;

const types = ["gauge", "counter", "delta", "histogram", "exponential_histogram"] as const;
type Type = (typeof types)[number];

/** For each field that only some types have: those types. */
const fieldsOfType: Readonly<Record<string, readonly Type[]>> = {
  value: ["gauge", "counter", "delta"],
  temporality: ["counter", "delta", "histogram", "exponential_histogram"],
  bounds: ["histogram"],
  counts: ["histogram"],
  sum: ["histogram", "exponential_histogram"],
  count: ["histogram", "exponential_histogram"],
  scale: ["exponential_histogram"],
  zeroCount: ["exponential_histogram"],
  zeroThreshold: ["exponential_histogram"],
  positive: ["exponential_histogram"],
  negative: ["exponential_histogram"],
};
const sharedFields = ["timestamp", "timeUnixNano", "name", "type", "unit"];
const fields = new Set([...sharedFields, ...Object.keys(fieldsOfType)]);

/** Reads one metric row; `text` is one JSON object. Throws RowProblem. */
export function readMetricRow(text: string, arrivalNs: bigint): ReadSamples {
  return readJsonRow(quoteSpecialNumbers(text), (json, onNumber) => {
    const timeNs = timeOf(json, onNumber);
    const type = readType(json);
    checkFields(json, type);
    const shared: Shared = {
      timeNs: timeNs ?? arrivalNs,
      name: readName(json),
      type: type === "gauge" ? "gauge" : counterType(json, type),
      unit: readUnit(json),
      labels: attributesOf(json, "labels", fields, onNumber),
    };
    return { samples: makeSamples(json, type, shared), hasOwnTime: timeNs !== null };
  });
}

function makeSamples(json: JsonFields, type: Type, shared: Shared): Sample[] {
  switch (type) {
    case "histogram":
      return makeHistogramSamples(shared, readBuckets(json), json);
    case "exponential_histogram":
      return makeHistogramSamples(shared, toClassicBuckets(readExponential(json)), json);
    default:
      return [{ ...shared, value: readValue(json) }];
  }
}

function makeHistogramSamples(shared: Shared, buckets: Buckets, json: JsonFields): Sample[] {
  const total = buckets.counts.reduce((sum, count) => sum + count, 0);
  if (isGiven(json.count) && json.count !== total) {
    const expected = `the sum of the buckets' own counts, which is ${total}`;
    throw makeFieldProblem("count", expected, json.count);
  }
  const sum = isGiven(json.sum) ? readNumber(json.sum, "sum") : undefined;
  return makeClassicSamples(shared, buckets, sum);
}

function readType({ type }: JsonFields): Type {
  if (!isGiven(type)) return "gauge";
  const found = types.find((each) => each === type);
  if (found !== undefined) return found;
  const problem = makeFieldProblem("type", `one of ${types.join(", ")}`, type);
  throw new RowProblem("field", problem.message + suggest(scalarText(type), types));
}

/** Throws RowProblem for a field of another type: it is a mistake, not a label. */
function checkFields(json: JsonFields, type: Type): void {
  for (const [name, typesWithField] of Object.entries(fieldsOfType)) {
    if (!isGiven(json[name]) || typesWithField.includes(type)) continue;
    throw new RowProblem(
      "field",
      `${name} does not go with the type ${type}, but with ${typesWithField.join(", ")}`,
    );
  }
}

function counterType({ temporality }: JsonFields, type: Type): "counter" | "delta" {
  const isDelta = type === "delta";
  if (!isGiven(temporality)) return isDelta ? "delta" : "counter";
  if (temporality === "delta") return "delta";
  if (temporality === "cumulative" && !isDelta) return "counter";
  throw makeFieldProblem("temporality", isDelta ? "delta" : "cumulative or delta", temporality);
}

function readName({ name }: JsonFields): string {
  if (typeof name === "string" && name !== "") return name;
  throw makeFieldProblem("name", "the name of the metric, a text", name);
}

function readUnit({ unit }: JsonFields): string {
  if (!isGiven(unit)) return "";
  if (typeof unit === "string") return unit;
  throw makeFieldProblem("unit", "a text", unit);
}

/** Numbers that JSON cannot express. */
const specialNumbers: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  "+Inf": Number.POSITIVE_INFINITY,
  "-Inf": Number.NEGATIVE_INFINITY,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};

/**
 * Puts quotes around `NaN` and `Infinity`, which are no JSON but what Python's `json.dumps` writes. Texts stay as they
 * are.
 */
function quoteSpecialNumbers(text: string): string {
  if (!text.includes("NaN") && !text.includes("Infinity")) return text;
  let quoted = "";
  let from = 0;
  let textEnd = 0;
  for (const { 0: token, index } of text.matchAll(/"|-?(?:NaN|Infinity)/g)) {
    if (index < textEnd) continue;
    if (token === '"') textEnd = findTextEnd(text, index);
    else {
      quoted += `${text.slice(from, index)}"${token}"`;
      from = index + token.length;
    }
  }
  return quoted + text.slice(from);
}

/** Where the JSON text that begins with the quote at `start` ends; the end of the row where it does not. */
function findTextEnd(row: string, start: number): number {
  for (let at = start + 1; at < row.length; at++) {
    const character = row[at];
    if (character === '"') return at + 1;
    if (character === "\\") at++;
  }
  return row.length;
}

function readValue({ value }: JsonFields): number {
  if (typeof value === "string" && Object.hasOwn(specialNumbers, value)) return specialNumbers[value]!;
  return readNumber(value, "value", `a number, or one of "NaN", "+Inf" and "-Inf"`);
}

/** Integers beyond 2^53 are rounded, as in every float64. */
function readNumber(value: unknown, name: string, expected = "a number"): number {
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw makeFieldProblem(name, expected, value);
}

function readBuckets(json: JsonFields): Buckets {
  const bounds = readNumbers(json.bounds ?? [], "bounds");
  const counts = readCounts(json.counts, "counts");
  for (const [i, bound] of bounds.entries()) {
    if (i > 0 && bound <= bounds[i - 1]!) {
      throw new RowProblem("field", `bounds must ascend, got ${bound} after ${bounds[i - 1]}`);
    }
  }
  if (counts.length === bounds.length + 1) return { bounds, counts };
  const problem = `counts must have one element more than bounds, got ${counts.length} and ${bounds.length}`;
  throw new RowProblem("field", problem);
}

function readExponential(json: JsonFields): ExponentialHistogram {
  const { scale, zeroThreshold } = json;
  if (typeof scale !== "number" || !Number.isInteger(scale) || scale < -10 || scale > 20) {
    throw makeFieldProblem("scale", "an integer from -10 to 20", scale);
  }
  return {
    scale,
    zeroCount: isGiven(json.zeroCount) ? readCount(json.zeroCount, "zeroCount") : 0,
    zeroThreshold: isGiven(zeroThreshold) ? readCount(zeroThreshold, "zeroThreshold") : 0,
    positive: readRange(json.positive, "positive"),
    negative: readRange(json.negative, "negative"),
  };
}

function readRange(value: unknown, name: string): ExponentialRange {
  if (!isGiven(value)) return { offset: 0, bucketCounts: [] };
  if (typeof value !== "object" || Array.isArray(value)) throw makeFieldProblem(name, "a JSON object", value);
  const { offset, bucketCounts } = value as JsonFields;
  if (isGiven(offset) && !(Number.isInteger(offset) && Math.abs(Number(offset)) < 2 ** 31)) {
    throw makeFieldProblem(`${name}.offset`, "a 32-bit integer", offset);
  }
  return {
    offset: isGiven(offset) ? Number(offset) : 0,
    bucketCounts: readCounts(bucketCounts ?? [], `${name}.bucketCounts`),
  };
}

function readNumbers(value: unknown, name: string): number[] {
  if (!Array.isArray(value)) throw makeFieldProblem(name, "an array of numbers", value);
  return value.map((each: unknown, i) => readNumber(each, `${name}[${i}]`));
}

function readCounts(value: unknown, name: string): number[] {
  if (!Array.isArray(value)) throw makeFieldProblem(name, "an array of numbers", value);
  return value.map((each: unknown, i) => readCount(each, `${name}[${i}]`));
}

function readCount(value: unknown, name: string): number {
  const expected = "a number, 0 or more";
  const count = readNumber(value, name, expected);
  if (count >= 0) return count;
  throw makeFieldProblem(name, expected, value);
}
