/** Random timeseries queries. */
import type { Random } from "../../../fixtures/random.ts";
import {
  aggregateMetric,
  aggregateSeries,
  everySeries,
  histogramQuantile,
  keepTop,
  type SeriesAggregation,
} from "./aggregate.ts";
import { type Condition, equals, matches } from "./condition.ts";
import { metrics, resourcePaths } from "./dataset.ts";
import { SelectorDraw } from "./draw-selector.ts";
import { arithmetic, comparisons, constant, type Matching, negate, operate } from "./operator.ts";
import { aggregateRows, printAggregate, type RowAggregation } from "./row-series.ts";
import { type MetricRead, readMetric, readResources, type SampleFunction } from "./sample-series.ts";
import { select } from "./selector.ts";
import type { Grouping, SeriesExpression, Statistic, Timing } from "./series.ts";
import {
  absentRows,
  applyToPoints,
  type PointFunction,
  replaceLabel,
  sortSeries,
} from "./series-function.ts";
import { drawExpression } from "./text.ts";
import type { Vocabulary } from "./vocabulary.ts";

export type Telemetry = "logs" | "traces" | "metrics" | "resources";

const statistics: readonly Statistic[] = ["sum", "avg", "min", "max", "stddev", "count"];
const quantiles = [0, 0.25, 0.5, 0.9, 0.99, 1];

export class SeriesDraw {
  readonly #random: Random;
  readonly #vocabulary: Vocabulary;
  readonly #telemetry: readonly Telemetry[];

  constructor(random: Random, vocabulary: Vocabulary, telemetry: readonly Telemetry[]) {
    this.#random = random;
    this.#vocabulary = vocabulary;
    this.#telemetry = telemetry;
  }

  draw(depth: number): SeriesExpression {
    const random = this.#random;
    if (depth === 0) return this.#drawLeaf();
    switch (random.below(9)) {
      case 0:
      case 1:
        return this.#drawOperation(depth);
      case 2:
        return this.#drawComparison(depth);
      case 3:
        return this.#drawSets(depth);
      case 4:
        return aggregateSeries(this.#drawAggregation(), this.draw(depth - 1), this.#drawGrouping(), random);
      case 5: {
        const [op, by] = [
          random.oneIn(3) ? "bottomk" : "topk",
          random.oneIn(3) ? ["service.name"] : undefined,
        ] as const;
        return keepTop(op, 1 + random.below(4), this.#drawRanked(depth), by, random);
      }
      case 6:
        return applyToPoints(this.#drawPointFunction(), this.draw(depth - 1));
      case 7:
        return this.#drawFunction(depth);
      default:
        return this.#drawLeaf();
    }
  }

  #drawLeaf(): SeriesExpression {
    const random = this.#random;
    const telemetry = random.pick(this.#telemetry);
    if (telemetry === "metrics") {
      if (random.oneIn(8)) return this.#drawHistogram();
      return aggregateMetric(this.#drawAggregation(), this.#drawMetric(), this.#drawGrouping(), random);
    }
    if (telemetry === "resources") {
      const matchers = random.oneIn(2) ? [] : [equals("k8s.resource.kind", "=", "Deployment", random)];
      const read = readResources(random.pick(resourcePaths), matchers, this.#drawTiming(), random);
      const by = random.pick([undefined, ["k8s.namespace.name"], ["k8s.resource.kind", "k8s.resource.name"]]);
      return aggregateMetric(
        { op: random.pick(statistics) },
        read,
        by === undefined ? undefined : { word: "by", labels: by },
        random,
      );
    }
    return this.#drawRows(telemetry);
  }

  #drawRows(source: "logs" | "traces"): SeriesExpression {
    const random = this.#random;
    const timing = this.#drawTiming();
    const hasOrdered = random.oneIn(4);
    const needsWithin = timing.windowMs !== undefined || timing.offsetMs > 0;
    const drawn = new SelectorDraw(random, this.#vocabulary, {
      source,

      needsWithin,
      hasOrdered,
    });
    const selector = drawn.draw();
    const by = Array.from({ length: random.below(3) }, () => drawn.drawLabel());
    const grouping = random.oneIn(3)
      ? undefined
      : [...new Set(by)].filter((name) => name !== "message").sort();
    return aggregateRows(
      this.#drawRowAggregation(source, drawn),
      selector,
      timing,
      grouping?.length === 0 ? undefined : grouping,
      random,
    );
  }

  #drawRowAggregation(source: "logs" | "traces", drawn: SelectorDraw): RowAggregation {
    const random = this.#random;
    const numbers =
      source === "logs" ? ["status", "duration_ms", "took", ...drawn.made] : ["duration_ms", "http.status"];
    const field = random.pick(numbers.filter((name) => !/^__/.test(name)));
    switch (random.below(8)) {
      case 0:
      case 1:
        return { op: "count" };
      case 2:
        return { op: random.oneIn(2) ? "rate" : "count_over_time" };
      case 3:
      case 4:
        return { op: random.pick(["sum", "avg", "min", "max", "stddev"] as const), field };
      case 5:
        return { op: "quantile", q: random.pick(quantiles), field };
      case 6:
        return { op: "count_distinct", field: drawn.drawLabel() };
      default:
        return source === "traces"
          ? { op: "trace_duration_quantile", q: random.pick(quantiles) }
          : { op: "count" };
    }
  }

  #drawTiming(): Timing {
    const random = this.#random;
    return {
      windowMs: random.oneIn(3) ? random.pick([30_000, 60_000, 90_000, 300_000, 1_200_000]) : undefined,
      offsetMs: random.oneIn(4) ? random.pick([1000, 60_000, 630_000]) : 0,
    };
  }

  #drawMetric(): MetricRead {
    const random = this.#random;
    const { name, isCounter } = random.pick(metrics);
    const matchers: Condition[] = [];
    if (random.oneIn(3))
      matchers.push(equals("pod", random.oneIn(3) ? "!=" : "=", random.pick(["web-1", "pay-1", ""]), random));
    if (random.oneIn(4)) matchers.push(matches("code", "=~", drawExpression(random, ["2", "500"]), random));
    return readMetric(
      name,
      isCounter,
      matchers,
      this.#drawSampleFunction(isCounter),
      this.#drawTiming(),
      random,
    );
  }

  #drawSampleFunction(isCounter: boolean): SampleFunction | undefined {
    const random = this.#random;
    if (random.oneIn(3)) return undefined;
    if (isCounter && random.oneIn(2)) return { name: random.oneIn(2) ? "rate" : "increase" };
    if (random.oneIn(8)) return { name: "quantile_over_time", q: random.pick(quantiles) };
    if (random.oneIn(8)) return { name: "predict_linear", seconds: random.pick([0, 60, 3600]) };
    const plain = ["count", "sum", "avg", "min", "max", "stddev", "last"] as const;
    if (random.oneIn(2)) return { name: `${random.pick(plain)}_over_time` };
    return { name: random.pick(["changes", "deriv", ...(isCounter ? [] : (["delta"] as const))] as const) };
  }

  #drawAggregation(): SeriesAggregation {
    const random = this.#random;
    if (random.oneIn(7)) return { op: "quantile", q: random.pick(quantiles) };
    if (random.oneIn(9)) return { op: "count_distinct", label: random.pick(["pod", "service.name", "code"]) };
    return { op: random.pick(statistics) };
  }

  #drawGrouping(): Grouping | undefined {
    const random = this.#random;
    if (random.oneIn(3)) return undefined;
    const labels = ["code", "log_level", "pod", "service.name", "status"].filter(() => random.oneIn(2));
    return labels.length === 0 ? undefined : { word: random.oneIn(4) ? "without" : "by", labels };
  }

  #drawHistogram(): SeriesExpression {
    const random = this.#random;
    const name = "request_seconds_bucket";
    const read = readMetric(
      name,
      true,
      [],
      random.oneIn(2) ? { name: "rate" } : undefined,
      this.#drawTiming(),
      random,
    );
    const by = random.oneIn(2) ? ["pod"] : [];
    const q = random.pick(quantiles);
    const summed = aggregateMetric({ op: "sum" }, read, { word: "by", labels: ["le", ...by] }, random);
    if (!random.oneIn(3)) return histogramQuantile(q, summed, by.length === 0);
    const around = histogramQuantile(q, { ...summed, text: read.text }, by.length === 0);
    const grouping: Grouping | undefined = by.length > 0 ? { word: "by", labels: by } : undefined;
    return { ...around, text: printAggregate("histogram_quantile", `${q}, ${read.text}`, grouping, random) };
  }

  #drawNumber(): SeriesExpression {
    const number = constant(this.#random.pick([0, 1, 2, 0.5, 10, 100]));
    return this.#random.oneIn(6) ? negate(number) : number;
  }

  #drawMatching(): Matching | undefined {
    const random = this.#random;
    if (!random.oneIn(3)) return undefined;
    return {
      word: random.oneIn(2) ? "on" : "ignoring",
      labels: [random.pick(["service.name", "pod", "code"])],
    };
  }

  /** Two sides of one shape now and then, so that their series match. */
  #drawSides(depth: number): [SeriesExpression, SeriesExpression] {
    const random = this.#random;
    const left = this.draw(depth - 1);
    if (random.oneIn(3)) return [left, applyToPoints({ name: "clamp_min", bound: 2 }, left)];
    return [left, this.draw(depth - 1)];
  }

  #drawOperation(depth: number): SeriesExpression {
    const random = this.#random;
    if (random.oneIn(8)) return negate(this.draw(depth - 1));
    const op = random.pick(arithmetic);
    const plain = { isBool: false, matching: undefined };
    if (random.oneIn(2)) {
      const [a, b] = random.oneIn(2)
        ? [this.draw(depth - 1), this.#drawNumber()]
        : [this.#drawNumber(), this.draw(depth - 1)];
      return operate(a, op, b, plain, random);
    }
    const [left, right] = this.#drawSides(depth);
    return operate(left, op, right, { isBool: false, matching: this.#drawMatching() }, random);
  }

  #drawComparison(depth: number): SeriesExpression {
    const random = this.#random;
    const op = random.pick(comparisons);
    const isBool = random.oneIn(3);
    const none = { isBool, matching: undefined };
    if (random.oneIn(2)) return operate(this.draw(depth - 1), op, this.#drawNumber(), none, random);
    if (random.oneIn(3)) return operate(this.#drawNumber(), op, this.draw(depth - 1), none, random);
    const [left, right] = this.#drawSides(depth);
    return operate(left, op, right, { isBool, matching: this.#drawMatching() }, random);
  }

  #drawSets(depth: number): SeriesExpression {
    const random = this.#random;
    const op = random.pick(["and", "or", "unless", "default"] as const);
    const isDefault = op === "default";
    if (isDefault && random.oneIn(2)) {
      return operate(
        this.draw(depth - 1),
        op,
        this.#drawNumber(),
        { isBool: false, matching: undefined },
        random,
      );
    }
    const [left, right] = this.#drawSides(depth);
    return operate(
      left,
      op,
      right,
      { isBool: false, matching: isDefault ? undefined : this.#drawMatching() },
      random,
    );
  }

  #drawRanked(depth: number): SeriesExpression {
    const isMetric = this.#telemetry.includes("metrics") && this.#random.oneIn(3);
    return isMetric ? everySeries(this.#drawMetric()) : this.draw(depth - 1);
  }

  #drawPointFunction(): PointFunction {
    const random = this.#random;
    switch (random.below(4)) {
      case 0:
        return { name: random.pick(["abs", "ceil", "floor", "round"] as const) };
      case 1:
        return { name: "round to", to: random.pick([10, 5, 2]) };
      case 2:
        return { name: "clamp", min: 1, max: random.pick([1, 5, 50]) };
      default:
        return { name: random.oneIn(2) ? "clamp_min" : "clamp_max", bound: random.pick([0, 3, 20]) };
    }
  }

  #drawFunction(depth: number): SeriesExpression {
    const random = this.#random;
    const kind = random.below(this.#telemetry.includes("metrics") ? 4 : 3);
    if (kind === 0) return sortSeries(random.oneIn(2) ? "sort" : "sort_desc", this.draw(depth - 1));
    if (kind === 1) {
      const [source, literals] = random.pick([
        ["service.name", ["/k8s/shop/"]],
        ["pod", ["web-"]],
        ["code", ["00"]],
      ] as const);
      const inner = drawExpression(random, literals);
      const grouped = {
        text: `${inner.text.includes("|") ? `(?:${inner.text})` : inner.text}(.*)`,
        pattern: new RegExp(`(?:${inner.pattern.source})([^\\n]*)`, inner.pattern.flags),
      };
      const replacement = random.pick([[1], ["x-", 1], ["", 0], ["y"], [""]]);
      const label = random.pick([source, "made", "code"]);
      return replaceLabel(this.draw(depth - 1), [label, replacement, source], grouped, random);
    }
    if (kind === 2) {
      const [name, values] = random.pick(this.#vocabulary.logLabels.filter(([own]) => own !== "message"));
      const value = random.pick(values.filter((each) => each !== "")) ?? "x";
      const selector = select("logs", [equals(name, "=", value, random)], [], random);
      return absentRows(selector, { [name]: value }, this.#drawTiming(), random);
    }
    const inner = applyToPoints(this.#drawPointFunction(), everySeries(this.#drawMetric()));
    return aggregateSeries(this.#drawAggregation(), inner, this.#drawGrouping(), random);
  }
}
