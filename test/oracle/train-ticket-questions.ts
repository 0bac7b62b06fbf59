/** Questions of a person on call about a day of Train Ticket: each with its query, and a loop over the raw lines. */
import type { RawDay } from "./train-ticket-day.ts";
import {
  averagePods,
  avg,
  count,
  divideSeries,
  durationOf,
  extendToAllTime,
  filterPoints,
  isError,
  type LoopSeries,
  listLogItems,
  listSpanItems,
  max,
  quantile,
  samplesOf,
  selectTop,
  serviceOf,
  stddev,
  sum,
  type TimedItem,
  tabulate,
  toMs,
} from "./train-ticket-loops.ts";

export interface OnCallQuestion {
  asks: string;
  query: string;
  startMs: number;
  /** Inclusive. */
  endMs: number;
  bucketSeconds: number;
  answer: (day: RawDay, question: OnCallQuestion) => LoopSeries[];
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const day = { startMs: Date.UTC(2023, 0, 29, 8), endMs: Date.UTC(2023, 0, 29, 16) - 1 };
/** Times of injected faults, from faults.json of the dataset. */
const contactsCpuMs = 1_674_999_114_000;
const basicExceptionMs = 1_674_984_339_000;
const foodReturnMs = 1_674_984_609_000;
const travelExceptionMs = 1_674_986_674_000;
const verificationCpuMs = 1_675_002_211_000;
const contactsPod = "ts-contacts-service-866bd68c97-xcqfx";

const around = (ms: number, beforeMinutes: number, afterMinutes: number) => ({
  startMs: ms - beforeMinutes * minuteMs,
  endMs: ms + afterMinutes * minuteMs - 1,
});
const service = (name: string) => `/k8s/train-ticket/ts-${name}-service`;
const errorsOf = (name: string) => `count(logs{service.name="${service(name)}", log_level="error"})`;

export const questions: readonly OnCallQuestion[] = [
  {
    asks: "How slow were the slowest twentieth of spans of contacts while its processor was taken away?",
    query: `trace_duration_quantile(0.95, traces{service.name="${service("contacts")}"})`,
    ...around(contactsCpuMs, 30, 60),
    bucketSeconds: 600,
    answer: (data, question) => {
      const own = (span: RawDay["spans"][number]) =>
        serviceOf(span) === service("contacts") ? "" : undefined;
      return tabulate(listSpanItems(data, own), question, null, quantile(0.95));
    },
  },
  {
    asks: "Which operation of verification-code was slow, by its median?",
    query: `quantile(0.5, duration_ms, traces{service.name="${service("verification-code")}"}) by (name)`,
    ...around(verificationCpuMs, 30, 30),
    bucketSeconds: 300,
    answer: (data, question) => {
      const own = (span: RawDay["spans"][number]) =>
        serviceOf(span) === service("verification-code") ? span.name : undefined;
      return tabulate(listSpanItems(data, own), question, "name", quantile(0.5));
    },
  },
  {
    asks: "What share of the lines of basic were errors around the exception?",
    query: `${errorsOf("basic")} / count(logs{service.name="${service("basic")}"})`,
    ...around(basicExceptionMs, 20, 20),
    bucketSeconds: 300,
    answer: (data, question) => {
      const own = (line: RawDay["logs"][number]) => (serviceOf(line) === service("basic") ? "" : undefined);
      const errors = listLogItems(data, (line) => (isError(line) ? own(line) : undefined));
      return divideSeries(
        tabulate(errors, question, null, count),
        tabulate(listLogItems(data, own), question, null, count),
      );
    },
  },
  {
    asks: "The same of food, with 0 where there was no error?",
    query: `(${errorsOf("food")} default 0) / count(logs{service.name="${service("food")}"})`,
    ...around(foodReturnMs, 30, 30),
    bucketSeconds: 120,
    answer: (data, question) => {
      const isOwn = (line: RawDay["logs"][number]) => serviceOf(line) === service("food");
      const weighed = data.logs
        .filter(isOwn)
        .map((line): TimedItem => [toMs(line.timeNs), "", isError(line) ? 1 : 0]);
      return tabulate(weighed, question, null, avg);
    },
  },
  {
    asks: "Which five services log the most errors?",
    query: 'topk(5, count(logs{log_level="error"}) by (service.name))',
    ...day,
    bucketSeconds: 3_600,
    answer: (data, question) => {
      const errors = listLogItems(data, (line) => (isError(line) ? serviceOf(line) : undefined));
      return selectTop(tabulate(errors, question, "service.name", count), 5);
    },
  },
  {
    asks: "How many spans come a minute?",
    query: "count(traces)",
    ...around(contactsCpuMs, 30, 30),
    bucketSeconds: 60,
    answer: (data, question) =>
      tabulate(
        listSpanItems(data, () => ""),
        question,
        null,
        count,
      ),
  },
  {
    asks: "How many spans a second does each service make, seen from the middle of a bucket to the middle of another?",
    query: "sum(rate(traces)) by (service.name)",
    startMs: day.startMs + hourMs + 123_456,
    endMs: day.startMs + 2 * hourMs + 654_321,
    bucketSeconds: 600,
    answer: (data, question) =>
      tabulate(listSpanItems(data, serviceOf), question, "service.name", (values, bucketMs) => {
        const endMs = Math.min(bucketMs + 600_000, question.endMs + 1);
        return values.length / ((endMs - Math.max(bucketMs, question.startMs)) / 1000);
      }),
  },
  {
    asks: "How much processor did the pod of contacts use?",
    query: `avg(cpu_usage_m{k8s.pod.name="${contactsPod}"})`,
    ...around(contactsCpuMs, 60, 60),
    bucketSeconds: 300,
    answer: (data, question) => {
      const own = samplesOf(data, "cpu_usage_m").filter(
        ({ labels }) => labels["k8s.pod.name"] === contactsPod,
      );
      return tabulate(
        own.map(({ ms, value }): TimedItem => [ms, "", value]),
        question,
        null,
        avg,
      );
    },
  },
  {
    asks: "What share of all lines are errors, hour by hour?",
    query: 'count(logs{log_level="error"}) / count(logs)',
    ...day,
    bucketSeconds: 3_600,
    answer: (data, question) => {
      const errors = tabulate(
        listLogItems(data, (line) => (isError(line) ? "" : undefined)),
        question,
        null,
        count,
      );
      return divideSeries(
        errors,
        tabulate(
          listLogItems(data, () => ""),
          question,
          null,
          count,
        ),
      );
    },
  },
  {
    asks: "How many traces took longer than a second, as their first span says?",
    query: 'count_distinct(trace_id, traces{duration_ms > 1000, parent_span_id = ""})',
    ...day,
    bucketSeconds: 1_800,
    answer: (data, question) => {
      const slow = data.spans.filter((span) => span.parentSpanId === "" && durationOf(span) > 1_000);
      const numbers = new Map(
        [...new Set(slow.map(({ traceId }) => traceId))].map((id, index) => [id, index]),
      );
      const items = slow.map((span): TimedItem => [toMs(span.startNs), "", numbers.get(span.traceId)!]);
      return tabulate(items, question, null, (values) => new Set(values).size);
    },
  },
  {
    asks: "Which services have spans longer than a second?",
    query: "count(traces{duration_ms > 1000}) by (service.name)",
    ...day,
    bucketSeconds: 3_600,
    answer: (data, question) => {
      const slow = listSpanItems(data, (span) => (durationOf(span) > 1_000 ? serviceOf(span) : undefined));
      return tabulate(slow, question, "service.name", count);
    },
  },
  {
    asks: "How much memory does a pod of each service take at most?",
    query: "max(memory_usage_mi) by (service.name)",
    ...day,
    bucketSeconds: 3_600,
    answer: (data, question) => {
      const own = samplesOf(data, "memory_usage_mi");
      const items = own.map(({ ms, labels, value }): TimedItem => [ms, labels["service.name"]!, value]);
      return tabulate(items, question, "service.name", max);
    },
  },
  {
    asks: "Which three pods used the most processor around the fault?",
    query: "topk(3, avg(cpu_usage_m) by (k8s.pod.name))",
    ...around(contactsCpuMs, 10, 20),
    bucketSeconds: 300,
    answer: (data, question) => {
      const pods = averagePods(data, question, "cpu_usage_m", "k8s.pod.name");
      return selectTop(tabulate(pods, extendToAllTime(question), "k8s.pod.name", avg), 3);
    },
  },
  {
    asks: "How many pods report at all?",
    query: "count(cpu_usage_m)",
    ...day,
    bucketSeconds: 600,
    answer: (data, question) =>
      tabulate(averagePods(data, question, "cpu_usage_m", null), extendToAllTime(question), null, count),
  },
  {
    asks: "How many services log errors?",
    query: 'count_distinct(service.name, logs{log_level="error"})',
    ...day,
    bucketSeconds: 3_600,
    answer: (data, question) => {
      const names = [...new Set(data.logs.map(serviceOf))];
      const errors = data.logs.filter(isError);
      const items = errors.map((line): TimedItem => [toMs(line.timeNs), "", names.indexOf(serviceOf(line))]);
      return tabulate(items, question, null, (values) => new Set(values).size);
    },
  },
  {
    asks: "In which services are more than a tenth of the lines warnings?",
    query: 'count(logs{log_level="warn"}) by (service.name) / count(logs) by (service.name) > 0.1',
    ...day,
    bucketSeconds: 3_600,
    answer: (data, question) => {
      const warnings = listLogItems(data, (line) => (line.level === "warn" ? serviceOf(line) : undefined));
      const all = tabulate(listLogItems(data, serviceOf), question, "service.name", count);
      return filterPoints(
        divideSeries(tabulate(warnings, question, "service.name", count), all),
        (value) => value > 0.1,
      );
    },
  },
  {
    asks: "Which five operations had the longest spans?",
    query: "topk(5, max(duration_ms, traces) by (name))",
    ...day,
    bucketSeconds: 7_200,
    answer: (data, question) =>
      selectTop(
        tabulate(
          listSpanItems(data, ({ name }) => name),
          question,
          "name",
          max,
        ),
        5,
      ),
  },
  {
    asks: "Who logs exceptions after the fault of travel?",
    query: 'count(logs |= "Exception") by (service.name)',
    ...around(travelExceptionMs, 10, 50),
    bucketSeconds: 600,
    answer: (data, question) => {
      const own = listLogItems(data, (line) =>
        line.message.includes("Exception") ? serviceOf(line) : undefined,
      );
      return tabulate(own, question, "service.name", count);
    },
  },
  {
    asks: "How uneven are the durations of calls by POST?",
    query: 'stddev(duration_ms, traces{name="HTTP POST"})',
    ...day,
    bucketSeconds: 1_800,
    answer: (data, question) => {
      const posts = listSpanItems(data, ({ name }) => (name === "HTTP POST" ? "" : undefined));
      return tabulate(posts, question, null, stddev);
    },
  },
  {
    asks: "How much does each service work, over all of its pods?",
    query: "sum(pod_workload_ops) by (service.name)",
    ...around(foodReturnMs, 60, 60),
    bucketSeconds: 600,
    answer: (data, question) =>
      tabulate(
        averagePods(data, question, "pod_workload_ops", "service.name"),
        extendToAllTime(question),
        "service.name",
        sum,
      ),
  },
  {
    asks: "How slow are the slowest tenth of all that pods report of their slowest hundredth?",
    query: "quantile(0.9, pod_server_latency_p99_s)",
    ...day,
    bucketSeconds: 3_600,
    answer: (data, question) => {
      const own = samplesOf(data, "pod_server_latency_p99_s");
      return tabulate(
        own.map(({ ms, value }): TimedItem => [ms, "", value]),
        question,
        null,
        quantile(0.9),
      );
    },
  },
  {
    asks: "Which services log errors in a quarter of an hour in which no span of theirs took longer than half a second?",
    query:
      'count(logs{log_level="error"}) by (service.name) unless count(traces{duration_ms > 500}) by (service.name)',
    ...day,
    bucketSeconds: 900,
    answer: (data, question) => {
      const errors = listLogItems(data, (line) => (isError(line) ? serviceOf(line) : undefined));
      const slow = listSpanItems(data, (span) => (durationOf(span) > 500 ? serviceOf(span) : undefined));
      const spans = tabulate(slow, question, "service.name", count);
      const isThere = (labels: Record<string, string>, ms: number) =>
        spans.some(
          (each) =>
            each.labels["service.name"] === labels["service.name"] && each.points.some(([at]) => at === ms),
        );
      return tabulate(errors, question, "service.name", count)
        .map(({ labels, points }) => ({ labels, points: points.filter(([ms]) => !isThere(labels, ms)) }))
        .filter(({ points }) => points.length > 0);
    },
  },
];
