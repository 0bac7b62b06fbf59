/**
 * The fires that are open, as samples of the metric `svc_alert_firing`: by it alerts are rules over the states of other
 * alerts, and charts show when they fired.
 */

import type { Sample, Store } from "../../engine/index.ts";
import { PeriodicTask } from "../throttle/periodic-task.ts";
import { firingSamplesMax } from "./limits.ts";
import type { AlertRecords } from "./records.ts";
import type { Fire } from "./state/fire.ts";

const firingMetric = "svc_alert_firing";
/** Interval of the samples. */
const sampleEveryMs = 10_000;

export interface FiringSamplesOptions {
  store: Pick<Store, "appendSamples">;
  records: Pick<AlertRecords, "openFires">;
  now: () => number;
  log: (level: "warn" | "error", message: string) => void;
}

export class FiringSamples {
  readonly #options: FiringSamplesOptions;
  readonly #task: PeriodicTask;
  /** Labels of the samples that were written last, by the id of their fire. */
  #written = new Map<string, Sample["labels"]>();
  #leftOut = 0;

  constructor(options: FiringSamplesOptions) {
    this.#options = options;
    this.#task = new PeriodicTask(
      sampleEveryMs,
      () => this.write(),
      (error) => options.log("error", `samples of fires: ${String(error)}`),
    );
  }

  run(): void {
    this.#task.run();
  }

  async close(): Promise<void> {
    await this.#task.close();
  }

  /** Writes 1 for each open fire, and 0 once for each that has ended since the last call. */
  async write(): Promise<void> {
    const firing = this.#takeOpen();
    const ended = [...this.#written].flatMap(([id, labels]) => (firing.has(id) ? [] : [labels]));
    const timeNs = BigInt(this.#options.now()) * 1_000_000n;
    const sampleOf = (labels: Sample["labels"], value: number): Sample => {
      return { timeNs, name: firingMetric, type: "gauge", unit: "", labels, value };
    };
    const begun = new Set([...firing.values()].map((labels) => JSON.stringify(labels)));
    const samples = [
      ...[...firing.values()].map((labels) => sampleOf(labels, 1)),
      // A fire that began at once where another ended has the same labels, and so the same series.
      ...ended.filter((labels) => !begun.has(JSON.stringify(labels))).map((labels) => sampleOf(labels, 0)),
    ];
    if (samples.length > 0) await this.#options.store.appendSamples(samples);
    this.#written = firing;
  }

  /** Labels of the open fires, by id: those that began first where there are too many. */
  #takeOpen(): Map<string, Sample["labels"]> {
    const open = [...this.#options.records.openFires()];
    const taken =
      open.length <= firingSamplesMax
        ? open
        : open.sort((a, b) => a.firedAtMs - b.firedAtMs).slice(0, firingSamplesMax);
    const leftOut = open.length - taken.length;
    if (leftOut > 0 && this.#leftOut === 0)
      this.#options.log(
        "warn",
        `${open.length} fires are open: ${firingMetric} has the oldest ${taken.length}`,
      );
    this.#leftOut = leftOut;
    return new Map(taken.map((fire) => [fire.id, labelsOf(fire)]));
  }
}

/** The labels of the instance, which keep the row-level rules about its rows, and those of the alert. */
function labelsOf({ alertId, alertName, rule, severity, alertLabels = {}, labels }: Fire): Sample["labels"] {
  const own = Object.entries(alertLabels).map(([key, value]) => [`alert.labels.${key}`, value]);
  return {
    ...labels,
    ...Object.fromEntries(own),
    "alert.id": alertId,
    "alert.name": alertName,
    "alert.rule": rule,
    "alert.severity": severity ?? "",
  };
}
