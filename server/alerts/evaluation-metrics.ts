/** The metrics of alert evaluation. */
import type { Counter, Histogram, Metrics } from "../metrics/metrics.ts";

const secondsBounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export class EvaluationMetrics {
  readonly evaluations: Counter;
  readonly missed: Counter;
  readonly lateBuckets: Counter;
  readonly beyondWindow: Counter;
  readonly corrections: Counter;
  readonly queries: Counter;
  readonly querySeconds: Histogram;
  readonly evaluationSeconds: Histogram;
  readonly transitions: Counter;

  constructor(metrics: Metrics) {
    const count = (name: string, help: string) => metrics.counter(`svc_alert_${name}_total`, help);
    this.evaluations = count("evaluations", "Evaluations of alerts, by outcome.");
    this.missed = count("missed_buckets", "Buckets of alerts that were not judged in their time.");
    this.lateBuckets = count(
      "late_buckets",
      "Judged buckets that read otherwise later: rows came after the delay.",
    );
    this.beyondWindow = count(
      "rows_beyond_window",
      "Readings of alerts before which rows of their signals came that are too old to judge anything again.",
    );
    this.corrections = count(
      "corrections",
      "Fires that rows which came late demanded (fired), or took back (corrected).",
    );
    this.queries = count("queries", "Queries of evaluations: one serves all alerts that ask the same.");
    this.transitions = count("transitions", "Changes of state, by the new state.");
    this.evaluationSeconds = metrics.histogram(
      "svc_alert_evaluation_seconds",
      "Duration of evaluations, each of all alerts that ask the same, until what follows is stored.",
      secondsBounds,
    );
    this.querySeconds = metrics.histogram(
      "svc_alert_query_seconds",
      "Duration of evaluations' queries.",
      secondsBounds,
    );
  }
}
