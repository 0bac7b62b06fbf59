/** Reads the metrics of the node's kubelet at intervals, and hands them to a sink. */

import { createHash } from "node:crypto";
import { withJoinedSignal } from "../../throttle/joined-signal.ts";
import type { ApiClient } from "../cluster/api-client.ts";
import { ApiError } from "../cluster/api-error.ts";
import { pause } from "../cluster/pause.ts";
import { describe } from "./container-folder.ts";
import {
  defaultMetricNames,
  type KubeletPath,
  kubeletPaths,
  type MetricNames,
  type SampleRow,
  toSampleRow,
} from "./kubelet-sample.ts";
import {
  metricLineBytesMax,
  retryMsMin,
  sampleBatchMax,
  sampleSendsMax,
  scrapeBytesMax,
  scrapeMs as scrapeMsDefault,
  scrapeSamplesMax,
  scrapeTimeoutMs,
} from "./limits.ts";
import type { FindPod } from "./pod-lookup.ts";
import { PrometheusText } from "./prometheus-text.ts";

/** Samples to be sent. A batch that is sent again has the same key. */
interface SampleBatch {
  key: string;
  rows: readonly SampleRow[];
}

export interface KubeletScraperOptions {
  node: string;
  /** The kubelet. Throws ApiError from every method. */
  client: Pick<ApiClient, "open">;
  sink: (batch: SampleBatch) => Promise<void>;
  pods: FindPod;
  warn: (message: string) => void;
  /** Wall clock, for samples without a time of their own. */
  now: () => number;
  names?: MetricNames | undefined;
  scrapeMs?: number | undefined;
}

/** Counters since the start of the agent. */
export interface ScrapeCounts {
  scrapes: number;
  failedScrapes: number;
  samples: number;
  badLines: number;
  droppedSamples: number;
}

export class KubeletScraper {
  readonly counts: ScrapeCounts = {
    scrapes: 0,
    failedScrapes: 0,
    samples: 0,
    badLines: 0,
    droppedSamples: 0,
  };
  readonly #options: KubeletScraperOptions;
  readonly #names: Readonly<Record<KubeletPath, ReadonlySet<string>>>;
  readonly #closing = new AbortController();

  constructor(options: KubeletScraperOptions) {
    this.#options = options;
    const names = options.names ?? defaultMetricNames;
    this.#names = {
      "/metrics/cadvisor": new Set(names["/metrics/cadvisor"]),
      "/metrics/resource": new Set(names["/metrics/resource"]),
    };
  }

  /** Reads until `close`. */
  async run(): Promise<void> {
    const { signal } = this.#closing;
    const intervalMs = this.#options.scrapeMs ?? scrapeMsDefault;
    // Nodes start together, and would be read together.
    await pause(Math.random() * Math.min(intervalMs, 1_000), signal);
    while (!signal.aborted) {
      const startedMs = performance.now();
      for (const path of kubeletPaths) await this.#scrape(path);
      await pause(Math.max(0, intervalMs - (performance.now() - startedMs)), signal);
    }
  }

  close(): void {
    this.#closing.abort();
  }

  async #scrape(path: KubeletPath): Promise<void> {
    const { warn } = this.#options;
    try {
      const rows = await this.#read(path);
      this.counts.scrapes++;
      for (let at = 0; at < rows.length; at += sampleBatchMax) {
        await this.#send(path, rows.slice(at, at + sampleBatchMax), at);
      }
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.counts.failedScrapes++;
      warn(`the kubelet's ${path} was not read: ${describe(error)}`);
    }
  }

  #read(path: KubeletPath): Promise<SampleRow[]> {
    const sources = [this.#closing.signal, AbortSignal.timeout(scrapeTimeoutMs)];
    return withJoinedSignal(sources, (signal) => this.#readUntil(path, signal));
  }

  async #readUntil(path: KubeletPath, signal: AbortSignal): Promise<SampleRow[]> {
    const { now, node, pods } = this.#options;
    const answer = await this.#open(path, signal);
    const names = this.#names[path];
    const text = new PrometheusText((name) => names.has(name));
    const rows: SampleRow[] = [];
    const nowMs = now();
    for await (const line of linesOf(answer)) {
      const sample = line === undefined ? "bad" : text.readLine(line);
      if (sample === undefined) continue;
      if (sample === "bad") this.counts.badLines++;
      else if (rows.length >= scrapeSamplesMax) this.counts.droppedSamples++;
      else rows.push(...[toSampleRow(sample, nowMs, node, pods) ?? []].flat());
    }
    return rows;
  }

  async #open(path: KubeletPath, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    try {
      return await this.#options.client.open(path, { signal });
    } catch (error) {
      if (!(error instanceof ApiError) || ![401, 403].includes(error.status)) throw error;
      throw new Error(`status ${error.status}: the agent's service account needs get on nodes/metrics`);
    }
  }

  async #send(path: KubeletPath, rows: readonly SampleRow[], part: number): Promise<void> {
    const { node, sink, warn } = this.#options;
    const about = JSON.stringify([node, path, part, rows]);
    const key = `node-metrics-${createHash("sha256").update(about).digest("base64url")}`;
    for (let sends = 1; !this.#closing.signal.aborted; sends++) {
      try {
        await sink({ key, rows });
        this.counts.samples += rows.length;
        return;
      } catch (error) {
        if (sends < sampleSendsMax) {
          await pause(retryMsMin * 2 ** sends, this.#closing.signal);
          continue;
        }
        this.counts.droppedSamples += rows.length;
        warn(`${rows.length} samples are dropped: ${describe(error)}`);
        return;
      }
    }
  }
}

/** Lines of an answer; undefined for one that is too long. Throws where the answer is. */
async function* linesOf(answer: AsyncIterable<Uint8Array>): AsyncGenerator<string | undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  let bytes = 0;
  let isTooLong = false;
  for await (const chunk of answer) {
    bytes += chunk.length;
    if (bytes > scrapeBytesMax) throw new Error(`the answer is longer than ${scrapeBytesMax} bytes`);
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      yield isTooLong || line.length > metricLineBytesMax ? undefined : line;
      isTooLong = false;
    }
    if (rest.length <= metricLineBytesMax) continue;
    rest = "";
    isTooLong = true;
  }
  if (rest !== "" || isTooLong) yield isTooLong ? undefined : rest;
}
