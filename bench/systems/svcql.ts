import {
  type BenchQuestion,
  bucketSecondsOf,
  durationQuantile,
  sequenceSeconds,
  topValues,
  windowBuckets,
} from "../datasets/question.ts";

/** Writes the question as svcQL. */
export function toSvcql({ kind, text, second, attribute }: BenchQuestion): string {
  const quotedText = JSON.stringify(text);
  switch (kind) {
    case "regex":
    case "variableRegex":
      return `count(logs |~ ${quotedText})`;
    case "ignoreCase":
      return `count(logs |= i${quotedText})`;
    case "newestWord":
      return `logs |= ${quotedText}`;
    case "newestService":
      return `logs{service.name=${quotedText}}`;
    case "newest":
      return "logs";
    case "trace":
      return `logs{trace_id=${quotedText}}`;
    case "byService":
      return "count(logs) by (service.name)";
    case "byMinuteLevel":
      return "count(logs) by (log_level)";
    case "serviceByMinuteLevel":
      return `count(logs{service.name=${quotedText}}) by (log_level)`;
    case "topValues":
    case "topOfMany":
      return `topk(${topValues}, count(logs) by (${attribute}))`;
    case "serviceWindow":
      return `sum(count_over_time(logs[${(windowBuckets * bucketSecondsOf(kind)) / 60}m])) by (service.name)`;
    case "errorShare":
      return 'count(logs{log_level="error"}) by (service.name) / count(logs) by (service.name)';
    case "sequence": {
      const steps = `|= ${quotedText} then |= ${JSON.stringify(second)}`;
      return `count(logs | sequence (${steps}) by (service.name) within ${sequenceSeconds}s)`;
    }
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
      return `count(logs |= ${quotedText})`;
  }
}
