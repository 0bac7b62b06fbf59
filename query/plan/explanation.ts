import type { Aggregation, CompareOp, Field, Filter, Step } from "../../engine/index.ts";
import type { SampleScan, Scan, ScanRead } from "./scan.ts";
import type { Constant, Fold, KeptLabels, SeriesPlan } from "./series-plan.ts";

/** A plan and what its scans read. */
export interface Explained {
  /** Absent for a search, which returns rows. */
  series?: SeriesPlan;
  reads: ScanRead[];
  scans: Scan[];
}

/** A plan for people: how the series come about, as a tree, then what each scan looks for and what it read. */
export function explainText({ series, scans, reads }: Explained): string {
  const lines = series === undefined ? [] : ["series", ...tree(series, "", true, scans)];
  for (const [place, scan] of scans.entries()) {
    lines.push(`scan ${place}  ${scanTitle(scan)}`);
    for (const step of scan.steps) lines.push(`   ${stepText(step)}`);
    for (const read of reads.filter((each) => each.place === place)) lines.push(`   ${readText(read)}`);
  }
  return lines.join("\n");
}

function tree(
  plan: SeriesPlan | Constant,
  indent: string,
  isLast: boolean,
  scans: readonly Scan[],
): string[] {
  const lines = [`${indent}${isLast ? "└─" : "├─"} ${nodeText(plan, scans)}`];
  const parts = partsOf(plan);
  for (const [i, part] of parts.entries()) {
    lines.push(...tree(part, `${indent}${isLast ? "   " : "│  "}`, i === parts.length - 1, scans));
  }
  return lines;
}

function partsOf(plan: SeriesPlan | Constant): (SeriesPlan | Constant)[] {
  if (plan.kind === "calculation") return [plan.left, plan.right];
  return "of" in plan ? [plan.of] : [];
}

function nodeText(plan: SeriesPlan | Constant, scans: readonly Scan[]): string {
  switch (plan.kind) {
    case "number":
      return String(plan.value);
    case "scan": {
      const scan = scans[plan.scan]!;
      const what =
        scan.kind === "rows" ? aggregationText(scan.aggregates[plan.aggregate]!) : sampleText(scan);
      return `${what} of scan ${plan.scan}${plan.perSecond ? ", a second" : ""}`;
    }
    case "top":
      return `${plan.op} ${plan.count}${keptText(plan.among)}`;
    case "fold":
      return `${foldText(plan.fold)}${keptText(plan.keep)}`;
    case "histogramQuantile":
      return `quantile ${plan.q} of histograms`;
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

function keptText({ kind, labels }: KeptLabels): string {
  return kind === "by" && labels.length === 0 ? "" : ` ${kind} (${labels.join(", ")})`;
}

function foldText(fold: Fold): string {
  if (fold.op === "quantile") return `quantile ${fold.q}`;
  return fold.op === "distinct" ? `different ${fold.label}` : fold.op;
}

function aggregationText(aggregation: Aggregation): string {
  if (!("of" in aggregation)) return aggregation.op;
  if (aggregation.op === "distinct") return `different ${fieldText(aggregation.of)}`;
  const { field, path } = aggregation.of;
  const name = path === undefined ? fieldText(field) : `${fieldText(field)} at ${path.join(".")}`;
  return `${aggregation.op}${aggregation.op === "quantile" ? ` ${aggregation.q}` : ""} ${name}`;
}

function sampleText({ aggregate, of }: SampleScan): string {
  return `${foldText(aggregate)}${of === "increase" ? " of increases" : ""}`;
}

function scanTitle(scan: Scan): string {
  const name = scan.kind === "rows" ? scan.signal : `metric ${JSON.stringify(scan.metric)}`;
  const labels = Array.isArray(scan.groupBy) ? scan.groupBy.map(({ label }) => label) : scan.groupBy.without;
  return `${name}${keptText({ kind: Array.isArray(scan.groupBy) ? "by" : "without", labels })}`;
}

function stepText(step: Step): string {
  if (step.kind === "filter") return `where    ${filterText(step.filter)}`;
  const { extractor } = step;
  const pattern = extractor.kind === "regexp" ? ` ${JSON.stringify(extractor.pattern)}` : "";
  return `extract  ${extractor.kind}${pattern}`;
}

const negatedOps: Readonly<Record<CompareOp, string>> = {
  ">": "not >",
  ">=": "not >=",
  "<": "not <",
  "<=": "not <=",
};

function filterText(filter: Filter, isNegated = false): string {
  const not = isNegated ? "not " : "";
  switch (filter.kind) {
    case "always":
    case "never":
      return `${not}${filter.kind}`;
    case "and":
    case "or": {
      const parts = filter.of.map((part) =>
        part.kind === "and" || part.kind === "or" ? `(${filterText(part)})` : filterText(part),
      );
      return isNegated ? `not (${parts.join(` ${filter.kind} `)})` : parts.join(` ${filter.kind} `);
    }
    case "not":
      return filterText(filter.of, !isNegated);
    case "equals":
      return `${fieldText(filter.field)} ${isNegated ? "!=" : "="} ${JSON.stringify(filter.value)}`;
    case "present":
      return `${fieldText(filter.field)} is ${not}there`;
    case "compares":
      return `${fieldText(filter.field)} ${isNegated ? negatedOps[filter.op] : filter.op} ${filter.number}`;
    case "contains": {
      const how = filter.ignoreCase ? " in any case" : "";
      return `${fieldText(filter.field)} ${isNegated ? "lacks" : "has"} ${JSON.stringify(filter.text)}${how}`;
    }
    case "matches":
      return `${fieldText(filter.field)} ${isNegated ? "!~" : "=~"} ${JSON.stringify(filter.pattern)}`;
  }
}

function fieldText(field: Field): string {
  return field.kind === "attribute" ? field.key : field.kind;
}

function readText({ scanned, milliseconds }: ScanRead): string {
  const { rows, bytes, chunks, rowsSkipped, bytesSkipped, chunksSkipped } = scanned;
  const read = `read     ${counted(rows, "row")} in ${counted(chunks, "chunk")}, ${counted(bytes, "byte")} that were not at hand`;
  const skipped = `${counted(rowsSkipped, "row")} in ${counted(chunksSkipped, "chunk")}, ${counted(bytesSkipped, "byte")}`;
  return `${read}; skipped ${skipped}; ${milliseconds.toFixed(1)} ms`;
}

function counted(number: number, what: string): string {
  return `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
}
