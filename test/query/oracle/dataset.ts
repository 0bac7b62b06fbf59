/** Random rows and samples with many edge cases, and a store that holds them. */
import type { LogRow, Sample, Store } from "../../../engine/index.ts";
import { generateRows } from "../../../fixtures/logs.ts";
import { Random } from "../../../fixtures/random.ts";
import { compareTimes, StagedRow } from "./row.ts";
import type { StoredRows } from "./selector.ts";
import type { StoredSeries } from "./series.ts";

/** Half an hour before midnight, so that ranges cross two partitions. */
export const dataStartMs = Date.UTC(2025, 2, 3, 23, 30);
export const dataSpanMs = 3_600_000;

export const services = ["/k8s/shop/web", "/k8s/shop/pay", "/k8s/shop/api", "/k8s/infra/job", "cart"];
export const paths = ["/cart", "/pay", "/a b", "/cart?id=7&x=1"];
const levels = [
  "INFO",
  "info",
  "Warn",
  "warning",
  "error",
  "ERR",
  "crit",
  "debug",
  "",
  "unknown",
  "fatal",
  "30",
  "3",
  "notice",
];
export const quantities = [
  "20ms",
  "1.9s",
  "1h30m",
  "250",
  "1KiB",
  "1.5 MB",
  "999us",
  "-3s",
  "2Ki",
  "fast",
  "1e3",
  "0.5s",
  "1500ms",
];
export const statuses = ["200", "502", "500", "404", "", "abc", "1e3", "-1", "200.0", "+5", ".5"];

export interface OracleData {
  rows: StoredRows;
  samples: StoredSeries[];
  resources: StoredSeries[];
}

const ids = Array.from({ length: 24 }, (_, i) => (i + 0xa0).toString(16).padStart(32, "0"));
const jsonEdges = [
  '{"a":1,"a":2,"b":{"c":"x","d":null,"e":{}},"f":[1, {"g":2}],"h":true}',
  '{"status":1.50,"message":"inner","log_level":"trace","service.name":"other"}',
  '{"a":"\\ud800x","u":"\\u00dcber \\ud83d\\ude00","n":12345678901234567890}',
  ' {"took":"20ms"} ',
  '{"a":1} x',
  '{"a":',
  "[1,2]",
  '"text"',
  "{}",
  '{"":"empty name","b":""}',
];
const otherEdges = [
  "",
  " ",
  "\t\n",
  "Überlast: 97 % of memory",
  "ÜBERLAST naïve Straße STRASSE 漢字 😀 İstanbul",
  "two\nlines error\r\nGET /cart 200 in 5ms",
  'a="open quote b=2',
  '=x "y" a=1=2 b="q\\"uoted\\\\" c= d="\\u00e9\\x" a=again',
  "payment failed: Connection refused by 10.0.0.7:5432",
  "connection reset $name \\d+ `ticks` 'single'",
];

function drawMessage(random: Random): string {
  const [path, status, took] = [random.pick(paths), random.pick(statuses), random.pick(quantities)];
  switch (random.below(9)) {
    case 0:
    case 1:
      return `${random.pick(["GET", "POST"])} ${path} ${status} in ${random.between(1, 3000)}ms`;
    case 2: {
      const user = { id: `u${random.below(4)}`, roles: ["a", random.pick(services)] };
      const code = random.oneIn(2) ? random.between(100, 600) : status;
      return JSON.stringify({ status: code, took, user, path });
    }
    case 3:
      return `level=${random.pick(levels)} took=${took.replace(" ", "")} path="${path}" status=${status} done`;
    case 4:
      return random.pick(jsonEdges);
    case 5:
      return random.pick(otherEdges);
    case 6:
      return `retry ${random.between(1, 3)} of 3: ${random.pick(["connection reset", "Connection refused", "timeout"])}`;
    case 7:
      return random.pick(["started job", "finished job", "error: timeout", "Error in job", "ok"]);
    default:
      return `${random.pick(["error", "warn", "ERROR"])} ${random.pick(services)} ${path} ${random.below(50)}`;
  }
}

function drawAttributes(random: Random): Record<string, string> {
  const attributes: Record<string, string> = {};
  const maybe = (oneIn: number, name: string, texts: readonly string[]) => {
    if (!random.oneIn(oneIn)) attributes[name] = random.pick(texts);
  };
  maybe(8, "service.name", services);
  maybe(3, "status", statuses);
  maybe(3, "took", quantities);
  maybe(3, "trace_id", ids);
  maybe(2, "k8s.namespace.name", ["shop", "infra", ""]);
  if (random.oneIn(4)) attributes.retry = random.pick(["", "1", "2"]);
  if (random.oneIn(12)) attributes.message = random.pick(["an attribute", "", "GET"]);
  if (random.oneIn(12)) attributes.log_level = random.pick(["WARN", "error"]);
  if (random.oneIn(10)) attributes.duration_ms = random.pick(["12", "1900.5", "250", "x"]);
  return attributes;
}

/** Times are whole milliseconds, and many are equal. */
function drawTimes(random: Random, count: number): bigint[] {
  let last = dataStartMs;
  return Array.from({ length: count }, () => {
    if (!random.oneIn(6))
      last = dataStartMs + random.below(dataSpanMs / 250) * 250 + (random.oneIn(4) ? random.below(250) : 0);
    return BigInt(last) * 1_000_000n;
  });
}

function drawLogs(random: Random, count: number): LogRow[] {
  const made = drawTimes(random, count).map((timeNs): LogRow => {
    return {
      timeNs,
      level: random.pick(levels),
      message: drawMessage(random),
      attributes: drawAttributes(random),
    };
  });
  const system = [
    ...generateRows({ profile: "system", seed: random.below(1000), rows: 60, startMs: dataStartMs }),
  ];
  const short = system.filter(({ message }) => message.length < 4000);
  return [...made, ...short.map((row) => ({ ...row, timeNs: (row.timeNs / 1_000_000n) * 1_000_000n }))];
}

function drawSpans(random: Random, count: number): LogRow[] {
  return drawTimes(random, count).map((timeNs, i): LogRow => {
    const attributes: Record<string, string> = {
      trace_id: random.pick(ids),
      span_id: (i + 4096).toString(16).padStart(16, "0"),
    };
    if (random.oneIn(2))
      attributes.parent_span_id = (4096 + random.below(count)).toString(16).padStart(16, "0");
    attributes.name = random.pick(["GET /cart", "GET /pay", "charge card", "", "SELECT a b", "GET Ü"]);
    attributes.kind = random.pick(["server", "client", "internal", "producer", "consumer"]);
    attributes.status_code = random.pick(["ok", "error", "unset"]);
    if (random.oneIn(4)) attributes.status_message = random.pick(["Connection refused", "timeout"]);
    attributes.duration_ms = String(random.oneIn(2) ? random.between(1, 3000) : random.below(4000) / 8);
    if (!random.oneIn(8)) attributes["service.name"] = random.pick(services);
    if (random.oneIn(3)) attributes["http.status"] = random.pick(statuses);
    if (random.oneIn(9)) attributes["attributes.name"] = "own name";
    return { timeNs, level: "", message: "", attributes };
  });
}

export const metrics: readonly { name: string; isCounter: boolean; type: Sample["type"] }[] = [
  { name: "http_requests_total", isCounter: true, type: "unknown" },
  { name: "jobs:done", isCounter: true, type: "counter" },
  { name: "memory_mb", isCounter: false, type: "gauge" },
  { name: "queue.length", isCounter: false, type: "unknown" },
  { name: "request_seconds_bucket", isCounter: true, type: "counter" },
];
const bounds = ["0.1", "0.5", "2.5", "+Inf"];

function* listLabels(metric: string): Generator<Record<string, string>> {
  for (const pod of ["web-1", "web-2", "pay-1", ""]) {
    for (const code of metric === "memory_mb" ? [""] : ["200", "500"]) {
      const labels = { code, pod, "service.name": pod.startsWith("web") ? services[0]! : "" };
      if (metric !== "request_seconds_bucket") yield labels;
      else for (const le of bounds) yield { ...labels, le };
    }
  }
}

function drawSamples(random: Random): Sample[] {
  const samples: Sample[] = [];
  for (const { name, type, isCounter } of metrics) {
    for (const labels of listLabels(name)) {
      let value = random.below(100);
      for (let at = random.below(60_000); at < dataSpanMs; at += 20_000 + random.below(60) * 1000) {
        const rises = isCounter && !random.oneIn(15);
        value = rises ? value + random.below(9) : random.below(400) / 4;
        const sent = random.oneIn(25) ? Number.NaN : value;
        const timeNs = BigInt(dataStartMs + at) * 1_000_000n;
        samples.push({ timeNs, name, type, unit: "", labels, value: sent });
        if (random.oneIn(20)) samples.push({ timeNs, name, type, unit: "", labels, value: value + 1 });
        if (random.oneIn(25)) at += 400_000;
      }
    }
  }
  return samples;
}

/** The series of samples; of equal times the last to arrive counts, and NaN is no sample. */
function toSeries(samples: readonly Sample[]): StoredSeries[] {
  const series = new Map<string, { first: Sample; byTime: Map<number, number> }>();
  for (const sample of samples) {
    const key = JSON.stringify([sample.name, sample.labels]);
    const own = series.get(key) ?? { first: sample, byTime: new Map<number, number>() };
    series.set(key, own);
    const timeMs = Number(sample.timeNs / 1_000_000n);
    if (!Number.isNaN(sample.value)) own.byTime.set(timeMs, sample.value);
  }
  return [...series.values()].map(({ first: { name, labels }, byTime }) => ({
    name,
    isCounter: metrics.find((metric) => metric.name === name)!.isCounter,
    labels: Object.fromEntries(Object.entries(labels).filter(([, text]) => text !== "")),
    samples: [...byTime].map(([timeMs, value]) => ({ timeMs, value })).sort((a, b) => a.timeMs - b.timeMs),
  }));
}

export const resourcePaths = ["spec.replicas", 'status["a.b"]', "spec.ports[1].number"];

function drawResources(random: Random): { stored: LogRow[]; series: StoredSeries[] } {
  const stored: LogRow[] = [];
  const series: StoredSeries[] = [];
  for (const name of ["web", "pay", "job"]) {
    const labels = {
      "k8s.namespace.name": name === "job" ? "infra" : "shop",
      "k8s.resource.kind": random.pick(["Deployment", "StatefulSet"]),
      "k8s.resource.name": name,
    };
    const read = new Map(resourcePaths.map((path) => [path, [] as { timeMs: number; value: number }[]]));
    for (
      let timeMs = dataStartMs + random.below(90_000);
      timeMs < dataStartMs + dataSpanMs;
      timeMs += 90_000
    ) {
      const [replicas, inner, port] = [random.below(9), random.below(50) / 4, random.between(80, 90)];
      const body: Record<string, unknown> = { spec: { replicas, ports: [{ number: 1 }, { number: port }] } };
      if (!random.oneIn(3)) body.status = { "a.b": inner };
      stored.push({
        timeNs: BigInt(timeMs) * 1_000_000n,
        level: "",
        message: JSON.stringify(body),
        attributes: labels,
      });
      read.get("spec.replicas")!.push({ timeMs, value: replicas });
      read.get("spec.ports[1].number")!.push({ timeMs, value: port });
      if ("status" in body) read.get('status["a.b"]')!.push({ timeMs, value: inner });
    }
    for (const [path, samples] of read) series.push({ name: path, isCounter: false, labels, samples });
  }
  return { stored, series };
}

export function stageRows(source: "logs" | "traces", stored: readonly LogRow[]): StagedRow[] {
  return stored.map((row, i) => new StagedRow(source, row, i)).sort(compareTimes);
}

/** Appends batches, some of which are sealed, and gives what was appended. */
export async function fillStore(store: Store, seed: number): Promise<OracleData> {
  const random = new Random(seed, 71);
  const [logs, spans, samples] = [drawLogs(random, 420), drawSpans(random, 160), drawSamples(random)];
  const resources = drawResources(random);
  const batches = 6;
  for (let i = 0; i < batches; i++) {
    const part = <T>(of: readonly T[]) =>
      of.slice(Math.floor((of.length * i) / batches), Math.floor((of.length * (i + 1)) / batches));
    await store.append("logs", part(logs));
    await store.append("traces", part(spans));
    await store.appendSamples(part(samples));
    await store.append("kubernetes_resources", part(resources.stored));
    if (i === 1 || i === 3) await store.seal();
  }
  return {
    rows: { logs: stageRows("logs", logs), traces: stageRows("traces", spans) },
    samples: toSeries(samples),
    resources: resources.series,
  };
}
