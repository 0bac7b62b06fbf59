import { durationQuantile, type Question, topAttribute, topValues } from "./question.ts";

/** The question as svcQL text. */
export function queryText({ kind, text }: Question): string {
  const quoted = JSON.stringify(text);
  switch (kind) {
    case "regex":
      return `count(logs |~ ${quoted})`;
    case "ignoreCase":
      return `count(logs |= i${quoted})`;
    case "newestWord":
      return `logs |= ${quoted}`;
    case "newestService":
      return `logs{service.name=${quoted}}`;
    case "newest":
      return "logs";
    case "trace":
      return `logs{trace_id=${quoted}}`;
    case "byService":
      return "count(logs) by (service.name)";
    case "byMinuteLevel":
      return "count(logs) by (log_level)";
    case "serviceByMinuteLevel":
      return `count(logs{service.name=${quoted}}) by (log_level)`;
    case "topValues":
      return `topk(${topValues}, count(logs) by (${topAttribute}))`;
    case "spanDurations":
      return `quantile(${durationQuantile}, duration_ms, traces) by (service.name)`;
    case "spansByMinute":
      return "count(traces) by (service.name)";
    case "spanNames":
      return `topk(${topValues}, count(traces) by (name))`;
    case "tracesByHour":
      return "count_distinct(trace_id, traces)";
    case "gaugeAverage":
      return `avg(${text}) by (service.name)`;
    case "seriesIncrease":
      return `sum(increase(${text})) without ()`;
    case "serviceIncrease":
      return `sum(increase(${text})) by (service.name)`;
    default:
      return `count(logs |= ${quoted})`;
  }
}
