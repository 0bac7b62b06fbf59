/** Functions of series. */
import type { Random } from "../../../fixtures/random.ts";
import { evaluateSeries, rank } from "./aggregate.ts";
import { mapPoints, Refusal } from "./operator.ts";
import { printTiming } from "./row-series.ts";
import { findRows, type Selector } from "./selector.ts";
import {
  checkApart,
  type Evaluation,
  keyOf,
  makeSeries,
  type OracleSeries,
  type SeriesExpression,
  type SeriesSet,
  spanOf,
  type Timing,
} from "./series.ts";
import { anchor, type Expressed, quote } from "./text.ts";

export type PointFunction =
  | { name: "abs" | "ceil" | "floor" | "round" }
  | { name: "round to"; to: number }
  | { name: "clamp"; min: number; max: number }
  | { name: "clamp_min" | "clamp_max"; bound: number };

function changePoint(by: PointFunction, value: number, forms: readonly string[]): number {
  const to = by.name === "round to" ? by.to : 1;
  const edge = by.name.startsWith("round") ? 0.5 : 0;
  if (/^(ceil|floor|round)/.test(by.name))
    checkApart(value / to, Math.round(value / to - edge) + edge, forms);
  switch (by.name) {
    case "abs":
      return Math.abs(value);
    case "ceil":
      return Math.ceil(value);
    case "floor":
      return Math.floor(value);
    case "round":
      return Math.floor(value + 0.5);
    case "round to":
      return Math.floor(value / by.to + 0.5) * by.to;
    case "clamp":
      return Math.min(Math.max(value, by.min), by.max);
    case "clamp_min":
      return Math.max(value, by.bound);
    case "clamp_max":
      return Math.min(value, by.bound);
  }
}

function printArguments(by: PointFunction): string {
  if (by.name === "round to") return `, ${by.to}`;
  if (by.name === "clamp") return `, ${by.min}, ${by.max}`;
  return "bound" in by ? `, ${by.bound}` : "";
}

export function applyToPoints(by: PointFunction, of: SeriesExpression): SeriesExpression {
  const name = by.name === "round to" ? "round" : by.name;
  return {
    text: `${name}(${of.text}${printArguments(by)})`,
    forms: [by.name, ...of.forms],
    binding: 9,
    isUnlabelled: of.isUnlabelled,
    evaluate: (asked) => mapPoints(of.evaluate(asked), (value) => changePoint(by, value, of.forms)),
  };
}

export function sortSeries(name: "sort" | "sort_desc", of: SeriesExpression): SeriesExpression {
  const evaluate = (asked: Evaluation): SeriesSet => {
    const series = rank(evaluateSeries(of, asked).series, name === "sort" ? "least" : "greatest", of.forms);
    return { series, isOrdered: true };
  };
  return {
    text: `${name}(${of.text})`,
    forms: [name, ...of.forms],
    binding: 9,
    isUnlabelled: of.isUnlabelled,
    evaluate,
  };
}

/** A replacement: texts and numbers of groups. */
export type Replacement = readonly (string | number)[];

export function replaceLabel(
  of: SeriesExpression,
  [label, replacement, source]: readonly [label: string, replacement: Replacement, source: string],
  expression: Expressed,
  random: Random,
): SeriesExpression {
  const written = replacement.map((part) => (typeof part === "number" ? `$${part}` : part)).join("");
  const text = `label_replace(${of.text}, "${label}", "${written}", "${source}", ${quote(expression.text, random)})`;
  const pattern = anchor(expression);
  const evaluate = (asked: Evaluation): SeriesSet => {
    const { series, isOrdered } = evaluateSeries(of, asked);
    const made: OracleSeries[] = [];
    for (const { labels, points } of series) {
      const found = pattern.exec(labels[source] ?? "");
      const value = replacement
        .map((part) => (typeof part === "number" ? (found?.[part] ?? "") : part))
        .join("");
      const { [label]: _, ...others } = labels;
      const renamed = found === null ? labels : value === "" ? others : { ...others, [label]: value };
      addSeries(made, { labels: renamed, points: new Map(points) });
    }
    return { series: made, isOrdered };
  };
  return { text, forms: ["label_replace", ...of.forms], binding: 9, isUnlabelled: false, evaluate };
}

/** Adds a series, whose points join those of one with the same labels. */
function addSeries(series: OracleSeries[], added: OracleSeries): void {
  const same = series.find(({ labels }) => keyOf(labels) === keyOf(added.labels));
  if (same === undefined) series.push(added);
  else {
    for (const [ms, value] of added.points) {
      if (same.points.has(ms)) throw new Refusal("two series with the same labels");
      same.points.set(ms, value);
    }
  }
}

/** `absent(selector)`: `labels` are those that its braces compare with `=`. */
export function absentRows(
  selector: Selector,
  labels: Readonly<Record<string, string>>,
  timing: Timing,
  random: Random,
): SeriesExpression {
  const evaluate = (asked: Evaluation): SeriesSet => {
    const found = findRows(selector, asked);
    const series = makeSeries(labels, asked.buckets, (bucket) => {
      const { fromMs, toMs } = spanOf(bucket, timing);
      return found.some(({ timeMs }) => timeMs >= fromMs && timeMs < toMs) ? undefined : 1;
    });
    return { series: series.points.size > 0 ? [series] : [], isOrdered: false };
  };
  const text = `absent(${selector.text}${printTiming(timing, random)})`;
  return { text, forms: ["absent", ...selector.forms], binding: 9, isUnlabelled: false, evaluate };
}
