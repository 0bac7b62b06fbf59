/** The text of an explanation for people. */

import type { Aggregation, ConditionStatistics, Extractor, Field, Filter } from "../../engine/index.ts";
import type { PlanStep } from "../plan/ordered/ordered-step.ts";
import type { SampleScan, Scan, ScanRead } from "../plan/scan.ts";
import type {
  Constant,
  Fold,
  KeptLabels,
  PointFunction,
  SeriesPlan,
  WindowFunction,
} from "../plan/series-plan.ts";
import { type Explanation, inputsOf, type NodeResult } from "./explanation.ts";

/** The text of an explanation for people: the tree of the series, then each scan with its steps and its reads. */
export function printExplanation({ series, nodes = [], scans, reads }: Explanation): string {
  const lines = series === undefined ? [] : ["series", ...printTree(series, scans, [...nodes])];
  for (const [index, scan] of scans.entries()) {
    lines.push(`scan ${index}  ${printScanTitle(scan)}`);
    const own = reads.filter(({ place }) => place === index);
    lines.push(...printSteps(scan.steps, own).map((step) => `   ${step}`));
    for (const read of own) lines.push(...printScanRead(read).map((line) => `   ${line}`));
  }
  return lines.join("\n");
}

/** The tree, with what its nodes led to in a column of its own. Takes the results of the nodes from `results`. */
function printTree(plan: SeriesPlan, scans: readonly Scan[], results: (NodeResult | null)[]): string[] {
  const drawn = drawTree(plan, "", true, scans);
  const width = Math.max(...drawn.map(({ text }) => text.length));
  return drawn.map(({ text, isNumber }) => {
    const result = isNumber ? null : results.shift();
    return result == null ? text : `${text.padEnd(width)}  ${printNodeResult(result)}`;
  });
}

function printNodeResult({ series, points, milliseconds }: NodeResult): string {
  return `${printCount(points, "point")} of ${series.toLocaleString("en")} series, ${milliseconds.toFixed(1)} ms`;
}

function drawTree(
  plan: SeriesPlan | Constant,
  indent: string,
  isLast: boolean,
  scans: readonly Scan[],
): { text: string; isNumber: boolean }[] {
  const text = `${indent}${isLast ? "└─" : "├─"} ${printNode(plan, scans)}`;
  const inputs = inputsOf(plan);
  const below = inputs.flatMap((input, i) =>
    drawTree(input, `${indent}${isLast ? "   " : "│  "}`, i === inputs.length - 1, scans),
  );
  return [{ text, isNumber: plan.kind === "number" }, ...below];
}

function printNode(plan: SeriesPlan | Constant, scans: readonly Scan[]): string {
  switch (plan.kind) {
    case "number":
      return String(plan.value);
    case "scan": {
      const scan = scans[plan.scan]!;
      const what =
        scan.kind === "rows" ? printAggregation(scan.aggregates[plan.aggregate]!) : printSampleScan(scan);
      return `${what} of scan ${plan.scan}${plan.perSecond ? ", a second" : ""}`;
    }
    case "window":
      return `${printWindowFunction(plan.fn)} of the samples of scan ${plan.scan}`;
    case "top":
      return `${plan.op} ${plan.count}${printKeptLabels(plan.among)}`;
    case "fold":
      return `${printFold(plan.fold)}${printKeptLabels(plan.keep)}`;
    case "histogramQuantile":
      return `quantile ${plan.q} of histograms`;
    case "map":
      return printPointFunction(plan.fn);
    case "relabel":
      return `${plan.label} from ${plan.source} =~ ${JSON.stringify(plan.pattern)}`;
    case "sort":
      return plan.isDescending ? "sort, greatest first" : "sort, least first";
    case "absent":
      return "absent";
    case "negation":
      return "minus";
    case "calculation": {
      const { op, bool, matching } = plan;
      const words = [
        op,
        bool ? "bool" : "",
        matching ? `${matching.kind} (${matching.labels.join(", ")})` : "",
      ];
      return words.filter((word) => word !== "").join(" ");
    }
  }
}

function printWindowFunction(fn: WindowFunction): string {
  return fn.op === "predict" ? `prediction for ${fn.seconds} s later` : fn.op;
}

function printPointFunction(fn: PointFunction): string {
  if (fn.op === "round") return `round to ${fn.to}`;
  return fn.op === "clamp" ? `clamp from ${fn.min ?? "-Inf"} to ${fn.max ?? "+Inf"}` : fn.op;
}

function printKeptLabels({ kind, labels }: KeptLabels): string {
  return kind === "by" && labels.length === 0 ? "" : ` ${kind} (${labels.join(", ")})`;
}

function printFold(fold: Fold): string {
  if (fold.op === "quantile") return `quantile ${fold.q}`;
  return fold.op === "distinct" ? `different ${fold.label}` : fold.op;
}

function printAggregation(aggregation: Aggregation): string {
  if (!("of" in aggregation)) return aggregation.op;
  if (aggregation.op === "distinct") return `different ${printField(aggregation.of)}`;
  const { field, path } = aggregation.of;
  const name = path === undefined ? printField(field) : `${printField(field)} at ${path.join(".")}`;
  return `${aggregation.op}${aggregation.op === "quantile" ? ` ${aggregation.q}` : ""} ${name}`;
}

function printSampleScan({ aggregate, of }: SampleScan): string {
  if (aggregate.op === "statistics") return aggregate.of.join(", ");
  return `${printFold(aggregate)}${of === "increase" ? " of increases" : ""}`;
}

function printScanTitle(scan: Scan): string {
  const name = scan.kind === "rows" ? scan.signal : `metric ${JSON.stringify(scan.metric)}`;
  const labels = Array.isArray(scan.groupBy) ? scan.groupBy.map(({ label }) => label) : scan.groupBy.without;
  const { windowSeconds, offsetSeconds } = scan;
  const window = windowSeconds === undefined ? "" : ` [${windowSeconds}s]`;
  const offset = offsetSeconds === undefined ? "" : ` offset ${offsetSeconds}s`;
  const kept = printKeptLabels({ kind: Array.isArray(scan.groupBy) ? "by" : "without", labels });
  return `${name}${window}${offset}${kept}`;
}

/** The steps of a scan; with what each condition before the first extraction did, where that was counted. */
function printSteps(steps: readonly PlanStep[], reads: readonly ScanRead[]): string[] {
  const counted = reads.flatMap(({ scanned: { conditions } }) =>
    conditions === undefined ? [] : [conditions],
  );
  const conditions = counted[0]?.map((_, i) => counted.map((each) => each[i]!)) ?? [];
  return steps.flatMap((step) => {
    if (step.kind !== "filter") {
      // What is after any other step is not counted.
      conditions.length = 0;
      return printOtherStep(step);
    }
    if (conditions.length === 0) return [`where    ${printFilter(step.filter)}`];
    const parts = step.filter.kind === "and" ? step.filter.of : [step.filter];
    return parts.flatMap((part) => [
      `where    ${printFilter(part)}`,
      ...printCondition(conditions.shift() ?? []),
    ]);
  });
}

function printOtherStep(step: Exclude<PlanStep, { kind: "filter" }>): string[] {
  const withinNs = "withinNs" in step && step.withinNs !== undefined ? ` within ${step.withinNs / 1e9}s` : "";
  switch (step.kind) {
    case "extract":
      return [printExtraction(step.extractor)];
    case "format":
      return step.formats.map(({ to }) => `format   ${to.kind === "message" ? "message" : to.key}`);
    case "attach":
      return [`attach   ${step.attributes.map(({ key }) => key).join(", ")}`];
    case "assign":
      return [`assign   ${step.label} = ${step.op}${printGroups(step.by)}${withinNs}`];
    case "keep":
      return [`keep     ${step.row}${printGroups(step.by)}`];
    case "sequence":
      return [
        `sequence${printGroups(step.by)}${withinNs}`,
        ...step.of.map(
          ({ isNot, filter }) => `         ${isNot ? "no " : "a row of "}${printFilter(filter)}`,
        ),
      ];
    case "join":
      return [
        `${step.isUnless ? "unless" : "join"}   ${step.signal} on ${step.on.map(({ right }) => printField(right)).join(", ")}${withinNs}`,
        ...printSteps(step.steps, []).map((line) => `         ${line}`),
      ];
  }
}

function printGroups(by: readonly Field[]): string {
  return by.length === 0 ? "" : ` by (${by.map(printField).join(", ")})`;
}

function printExtraction(extractor: Extractor): string {
  const pattern = extractor.kind === "regexp" ? ` ${JSON.stringify(extractor.pattern)}` : "";
  return `extract  ${extractor.kind}${pattern}`;
}

/** What one condition did, in all reads together. */
function printCondition(reads: readonly ConditionStatistics[]): string[] {
  const sum = (name: keyof ConditionStatistics) => reads.reduce((total, each) => total + each[name], 0);
  const excluded = sum("chunksExcluded");
  const lines: string[] = [];
  if (excluded > 0) {
    const rows = printCount(sum("rowsExcluded"), "row");
    lines.push(`         ${rows} in ${printCount(excluded, "chunk")} excluded by statistics and indexes`);
  }
  if (sum("chunks") > 0) {
    const tested = `${printCount(sum("rowsIn"), "row")} in ${printCount(sum("chunks"), "chunk")} tested`;
    lines.push(
      `         ${tested}, ${sum("rowsOut").toLocaleString("en")} pass; ${sum("milliseconds").toFixed(1)} ms`,
    );
  }
  return lines;
}

function printFilter(filter: Filter, isNegated = false): string {
  const not = isNegated ? "not " : "";
  switch (filter.kind) {
    case "always":
    case "never":
      return `${not}${filter.kind}`;
    case "and":
    case "or": {
      const parts = filter.of.map((part) =>
        part.kind === "and" || part.kind === "or" ? `(${printFilter(part)})` : printFilter(part),
      );
      return isNegated ? `not (${parts.join(` ${filter.kind} `)})` : parts.join(` ${filter.kind} `);
    }
    case "not":
      return printFilter(filter.of, !isNegated);
    case "arrived":
      return `${not}one of ${filter.numbers.length.toLocaleString("en")} rows`;
    case "equals":
      return `${printField(filter.field)} ${isNegated ? "!=" : "="} ${JSON.stringify(filter.value)}`;
    case "present":
      return `${printField(filter.field)} is ${not}there`;
    case "compares":
      return `${printField(filter.field)} ${not}${filter.op} ${filter.number}${filter.unit ?? ""}`;
    case "contains": {
      const how = filter.ignoreCase ? " in any case" : "";
      return `${printField(filter.field)} ${isNegated ? "lacks" : "has"} ${JSON.stringify(filter.text)}${how}`;
    }
    case "matches":
      return `${printField(filter.field)} ${isNegated ? "!~" : "=~"} ${JSON.stringify(filter.pattern)}`;
  }
}

function printField(field: Field): string {
  if (field.kind === "level" && field.asRange === true) return "level range";
  return field.kind === "attribute" ? field.key : field.kind;
}

function printScanRead({ scanned, milliseconds }: ScanRead): string[] {
  const { rows, bytes, chunks, rowsSkipped, bytesSkipped, chunksSkipped, chunksCounted } = scanned;
  const read = `read     ${printCount(rows, "row")} in ${printCount(chunks, "chunk")}, ${printCount(bytes, "byte")} that were not at hand`;
  const skipped = `${printCount(rowsSkipped, "row")} in ${printCount(chunksSkipped, "chunk")}, ${printCount(bytesSkipped, "byte")}`;
  const lines = [`${read}; skipped ${skipped}; ${milliseconds.toFixed(1)} ms`];
  if (chunksCounted > 0)
    lines.push(
      `         ${printCount(chunksCounted, "chunk")} of the skipped counted by headers and summaries`,
    );
  return lines;
}

function printCount(number: number, what: string): string {
  return `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
}
