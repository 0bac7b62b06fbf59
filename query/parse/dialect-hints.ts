/** By function of PromQL, LogQL and SQL, what does the same in svcQL. Each text is the end of an error message. */
const functionHints: Readonly<Record<string, string>> = {
  average: "the average is `avg`",
  mean: "the average is `avg`",
  median: "the median is quantile(0.5, …)",
  percentile: "percentiles are quantiles: quantile(0.95, …)",
  irate: "the increase a second is `rate`",
  bytes_over_time: "fields are added up with sum(field, logs{…})",
  absent_over_time: "absent takes a window: absent(x[5m])",
  vector: "a number stands for itself",
  group_left: describeGroupSide("group_left"),
  group_right: describeGroupSide("group_right"),
};

/**
 * By word that PromQL, LogQL and SQL allow after a series, what does the same in svcQL. Each text ends an error
 * message.
 */
const wordHints: Readonly<Record<string, string>> = {
  offset: "`offset` takes a duration, as in offset 1d",
  where: "conditions stand within { } or after |",
  limit: "the greatest series are kept with topk(5, …)",
  group: "series are grouped with `by`, as in by (service.name)",
  order: "series are ranked with topk(5, …)",
  group_left: describeGroupSide("group_left"),
  group_right: describeGroupSide("group_right"),
};

function describeGroupSide(word: string): string {
  return `there is no ${word}: series match one to one, and one without labels goes with all`;
}

/** The name of a percentile: `p95`, `p999`. */
const percentile = /^p(\d{2,3})$/;

/** What to write instead of a function that svcQL does not have; undefined for a function that is not in the table. */
export function findFunctionHint(name: string): string | undefined {
  const [, digits] = percentile.exec(name) ?? [];
  if (digits !== undefined) return `quantiles are quantile(0.${digits}, …)`;
  return Object.hasOwn(functionHints, name) ? functionHints[name] : undefined;
}

/**
 * What to write instead of a word that svcQL does not have after a series; undefined for a word that is not in the
 * table.
 */
export function findWordHint(name: string): string | undefined {
  const lower = name.toLowerCase();
  return Object.hasOwn(wordHints, lower) ? wordHints[lower] : undefined;
}
