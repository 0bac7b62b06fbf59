/** Reads metrics in Prometheus' text format, as the kubelet writes them. */

import { metricFamiliesMax, metricLabelsMax } from "./limits.ts";

export type TextMetricType = "counter" | "gauge" | "histogram" | "summary" | "untyped";

/** One sample of the text. */
export interface TextSample {
  name: string;
  type: TextMetricType;
  labels: Record<string, string>;
  value: number;
  /** Milliseconds since the epoch; undefined where the text gives none. */
  timestampMs: number | undefined;
}

const typeForm = /^#\s+TYPE\s+([a-zA-Z_:][\w:]*)\s+(counter|gauge|histogram|summary|untyped)\s*$/;
const nameForm = /^[a-zA-Z_:][\w:]*/;
const labelForm = /\s*([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?/y;
const valueForm = /^\s+([^\s]+)(?:\s+(-?\d{1,16}))?\s*$/;
const escapes: Readonly<Record<string, string>> = { "\\\\": "\\", '\\"': '"', "\\n": "\n" };

/** Reads line by line: types stand before the samples that they are of. */
export class PrometheusText {
  readonly #types = new Map<string, TextMetricType>();
  readonly #isWanted: (name: string) => boolean;

  /** Lines of other names are passed over before anything else of them is read. */
  constructor(isWanted: (name: string) => boolean) {
    this.#isWanted = isWanted;
  }

  /** Returns the sample of a line; undefined for comments and samples of other names, "bad" for what cannot be read. */
  readLine(line: string): TextSample | "bad" | undefined {
    if (line.charCodeAt(0) === 0x23) {
      const [, name, type] = typeForm.exec(line) ?? [];
      if (name !== undefined && this.#types.size < metricFamiliesMax)
        this.#types.set(name, type as TextMetricType);
      return undefined;
    }
    if (line.trim() === "") return undefined;
    const name = nameForm.exec(line)?.[0];
    if (name === undefined) return "bad";
    if (!this.#isWanted(name)) return undefined;
    const labels = readLabels(line, name.length);
    const [, value, timestamp] = (labels && valueForm.exec(line.slice(labels.end))) ?? [];
    const number = value === undefined ? undefined : readNumber(value);
    if (labels === undefined || number === undefined) return "bad";
    return {
      name,
      type: this.#types.get(name) ?? "untyped",
      labels: labels.labels,
      value: number,
      timestampMs: timestamp === undefined ? undefined : Number(timestamp),
    };
  }
}

function readLabels(line: string, from: number): { labels: Record<string, string>; end: number } | undefined {
  const labels: Record<string, string> = Object.create(null);
  if (line[from] !== "{") return { labels, end: from };
  let at = from + 1;
  for (let count = 0; count <= metricLabelsMax; count++) {
    labelForm.lastIndex = at;
    const [all, key, value] = labelForm.exec(line) ?? [];
    if (all === undefined) break;
    labels[key!] = value!.includes("\\") ? value!.replace(/\\["\\n]/g, (each) => escapes[each]!) : value!;
    at += all.length;
  }
  while (line[at] === " ") at++;
  return line[at] === "}" ? { labels, end: at + 1 } : undefined;
}

function readNumber(text: string): number | undefined {
  if (text === "NaN") return Number.NaN;
  if (text === "+Inf" || text === "Inf") return Number.POSITIVE_INFINITY;
  if (text === "-Inf") return Number.NEGATIVE_INFINITY;
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : undefined;
}
