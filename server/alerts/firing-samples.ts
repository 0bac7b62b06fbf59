/**
 * The fires that are open, as samples of the metric `svc_alert_firing`: by it alerts are rules over the states of other
 * alerts, and charts show when they fired.
 */

import { setImmediate } from "node:timers/promises";
import type { Sample, Store } from "../../engine/index.ts";
import { PeriodicTask } from "../throttle/periodic-task.ts";
import { firingSamplesMax } from "./limits.ts";
import type { AlertRecords } from "./records.ts";
import type { Fire } from "./state/fire.ts";

const firingMetric = "svc_alert_firing";
/** Interval of the samples. */
const sampleEveryMs = 10_000;
/** Samples encoded before other work of the thread may run. */
const samplesATurn = 500;

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
    const timeNs = BigInt(this.#options.now()) * 1_000_000n;
    const sampleOf = (labels: Sample["labels"], value: number): Sample => {
      return { timeNs, name: firingMetric, type: "gauge", unit: "", labels, value };
    };
    const samples = [
      ...[...firing.values()].map((labels) => sampleOf(labels, 1)),
      ...this.#labelsEnded(firing).map((labels) => sampleOf(labels, 0)),
    ];
    for (let from = 0; from < samples.length; from += samplesATurn) {
      await this.#options.store.appendSamples(samples.slice(from, from + samplesATurn));
      await setImmediate();
    }
    this.#written = firing;
  }

  /** Labels of the fires that have ended. A fire that began at once where another ended has the same series. */
  #labelsEnded(firing: ReadonlyMap<string, Sample["labels"]>): Sample["labels"][] {
    const ended = [...this.#written].flatMap(([id, labels]) => (firing.has(id) ? [] : [labels]));
    if (ended.length === 0) return ended;
    const goingOn = new Set([...firing.values()].map((labels) => JSON.stringify(labels)));
    return ended.filter((labels) => !goingOn.has(JSON.stringify(labels)));
  }

  /** Labels of the open fires, by id: those that began first where there are too many. */
  #takeOpen(): Map<string, Sample["labels"]> {
    const open = this.#options.records.openFires();
    const taken =
      open.length <= firingSamplesMax
        ? open
        : open.toSorted((a, b) => a.firedAtMs - b.firedAtMs).slice(0, firingSamplesMax);
    const leftOut = open.length - taken.length;
    if (leftOut > 0 && this.#leftOut === 0)
      this.#options.log(
        "warn",
        `${open.length} fires are open: ${firingMetric} has the oldest ${taken.length}`,
      );
    this.#leftOut = leftOut;
    return new Map(taken.map((fire) => [fire.id, this.#written.get(fire.id) ?? labelsOf(fire)]));
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
