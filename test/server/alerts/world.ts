/** A world of series in virtual time: points arrive when they arrive, and the query sees what has. */

import { Evaluator } from "../../../server/alerts/evaluator.ts";
import type { EvaluatorOptions, SeriesRequest } from "../../../server/alerts/evaluator-options.ts";
import { InvestigationRequests } from "../../../server/alerts/investigation-requests.ts";
import type { AlertDefinition } from "../../../server/alerts/state/alert-definition.ts";
import type { ReadSeries } from "../../../server/alerts/state/read-series.ts";
import { Metrics } from "../../../server/metrics/metrics.ts";
import type { EvaluationRule } from "../../../server/model/alert.ts";
import type { AlertEvent, EventMessage } from "../../../server/model/event.ts";
import { Disk } from "./disk.ts";

interface Point {
  value: number;
  arrivedMs: number;
  /** What the bucket has from a later time on. */
  later?: Point;
}

export interface WorldSeries {
  labels: Record<string, string>;
  /** By the start of the bucket. */
  points: Map<number, Point>;
}

export const delayMs = 30_000;

export class World {
  nowMs: number;
  readonly state = new Disk().open();
  /** By query. */
  readonly series = new Map<string, WorldSeries[]>();
  /** Queries that fail just now. */
  readonly failing = new Set<string>();
  readonly silenced = new Set<string>();
  readonly asked: SeriesRequest[] = [];
  readonly logged: string[] = [];
  metrics = new Metrics();
  evaluator: Evaluator;

  constructor(nowMs: number) {
    this.nowMs = nowMs;
    this.evaluator = this.open();
  }

  open(changes: Partial<EvaluatorOptions> = {}): Evaluator {
    this.metrics = new Metrics();
    this.evaluator = new Evaluator({
      state: this.state,
      now: () => this.nowMs,
      query: async (asked) => this.#answer(asked),
      shapeOf: (query) => ({
        unlabelled: query.startsWith("plain"),
        selector: query,
        signals: ["logs"],
        missing: { effect: "change", spillsOver: false, windowMs: 0, offsetMs: 0 },
      }),
      arrivals: { position: () => this.nowMs, oldestMs: (_, position) => this.#oldestSince(position) },
      subscribers: [
        new InvestigationRequests(this.state),
        {
          prepare: ({ messages }) => ({
            changes: messages.map((message) => ({
              table: "sent",
              id: `${String(this.nowMs).padStart(15, "0")} ${message.event.type} ${message.event.id}`,
              value: JSON.parse(JSON.stringify(message)) as Record<string, never>,
            })),
            stored: () => undefined,
          }),
        },
      ],
      silencedBy: ({ labels }) => [...this.silenced].find((name) => labels.name === name),
      actionsFor: (_fire, own) => [...own],
      delayMs,
      signalDelaysMs: {},
      historyAgeMs: 30 * 24 * 3_600_000,
      lateRowsMs: 0,
      retryWaitMs: 0,
      aliveMark: undefined,
      bucketsWithRows: async () => [],
      metrics: this.metrics,
      log: (level, message) => this.logged.push(`${level} ${message}`),
      ...changes,
    });
    return this.evaluator;
  }

  /** Evaluates all that comes due until `untilMs`; signs of life in between. */
  async runUntil(untilMs: number): Promise<void> {
    while (this.nowMs < untilMs) {
      await this.settle();
      this.nowMs = Math.min(
        untilMs,
        Math.max(this.nowMs + 1, this.evaluator.nextDueMs()),
        this.nowMs + 30_000,
      );
    }
    await this.settle();
  }

  /** Evaluates until nothing is due. */
  async settle(): Promise<void> {
    do await this.evaluator.evaluateDue();
    while (this.evaluator.nextDueMs() <= this.nowMs);
  }

  put(
    query: string,
    labels: Record<string, string>,
    bucketMs: number,
    value: number,
    arrivedMs = bucketMs,
  ): void {
    const all = this.series.get(query) ?? [];
    this.series.set(query, all);
    let one = all.find((each) => JSON.stringify(each.labels) === JSON.stringify(labels));
    if (one === undefined) {
      one = { labels, points: new Map() };
      all.push(one);
    }
    one.points.set(bucketMs, { value, arrivedMs });
  }

  /** Rows that arrive later give a point that is there another value. */
  replace(
    query: string,
    labels: Record<string, string>,
    bucketMs: number,
    value: number,
    arrivedMs: number,
  ): void {
    const one = this.series
      .get(query)!
      .find((each) => JSON.stringify(each.labels) === JSON.stringify(labels))!;
    one.points.get(bucketMs)!.later = { value, arrivedMs };
  }

  messages(): EventMessage<AlertEvent>[] {
    return this.state.list("sent").map(({ value }) => value as unknown as EventMessage<AlertEvent>);
  }

  /** "fired a", "resolved a recovered": what was told, in its order; `a` is the label `name`. */
  told(): string[] {
    return this.messages().map(({ event: { type, labels, reason, late } }) => {
      const parts = [
        type === "alertFired" ? "fired" : "resolved",
        labels.name,
        reason,
        late ? "late" : undefined,
      ];
      return parts.filter((part) => part !== undefined).join(" ");
    });
  }

  metric(name: string): number {
    const line = this.metrics
      .text()
      .split("\n")
      .find((each) => each.startsWith(name) && !each.startsWith("#"));
    return line === undefined ? 0 : Number(line.split(" ").at(-1));
  }

  #oldestSince(positionMs: number): number | undefined {
    const all = [...this.series.values()].flat().flatMap(({ points }) => [...points]);
    const times = all.flatMap(([bucketMs, { arrivedMs, later }]) =>
      [arrivedMs, later?.arrivedMs ?? 0].some((ms) => ms > positionMs && ms <= this.nowMs) ? [bucketMs] : [],
    );
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #answer(asked: SeriesRequest): ReadSeries[] {
    this.asked.push(asked);
    if (this.failing.has(asked.query)) throw new Error("the store is on fire");
    const found: ReadSeries[] = [];
    for (const { labels, points } of this.series.get(asked.query) ?? []) {
      const seen: [number, number][] = [];
      const widthMs = asked.bucketSeconds * 1000;
      for (let bucketMs = asked.startMs; bucketMs <= asked.endMs; bucketMs += widthMs) {
        const first = points.get(bucketMs);
        const isReplaced = first?.later !== undefined && first.later.arrivedMs <= this.nowMs;
        const point = isReplaced ? first.later : first;
        if (point !== undefined && point.arrivedMs <= this.nowMs) seen.push([bucketMs, point.value]);
      }
      if (seen.length > 0) found.push({ labels, points: seen });
    }
    return found;
  }
}

export interface RuleSettings {
  name?: string;
  above?: number;
  m?: number;
  n?: number;
  missing?: "notBreaching" | "breaching" | "ignore" | "missing";
  actions?: EvaluationRule["actions"];
}

export function ruleOf({
  name = "high",
  above = 5,
  m = 1,
  n = 1,
  missing,
  actions,
}: RuleSettings = {}): EvaluationRule {
  return {
    name,
    static: {
      operators: [{ operator: "greaterThan", threshold: above }],
      persistenceSettings: {
        datapointsToAlarm: m,
        datapointsInEvaluationWindow: n,
        ...(missing === undefined ? {} : { missingDatapointBehavior: missing }),
      },
    },
    actions: actions ?? [{ type: "webhook", webhookDestination: { uuid: "hook", notifyOnResolve: true } }],
  };
}

export function alertOf(
  id: string,
  query: string,
  rules: EvaluationRule[] = [ruleOf()],
  bucketSize = 60,
): AlertDefinition {
  return {
    metadata: { id, name: `alert ${id}` },
    timeseries: { expression: { svcQLTimeseries: { query, bucketSize } }, evaluationRules: rules },
  };
}
