/** What the server answers about alerts, as far as the page reads it. */

import type { Managed } from "../api/managed.ts";

export type AlertStateName = "firing" | "unhealthy" | "noData" | "ok";

export type InstanceLabels = Record<string, string>;

/** An alert in the list of states; times are Unix ms. */
export interface AlertReading {
  id: string;
  name: string;
  folderPath: string;
  managed?: Managed;
  state: AlertStateName;
  since: number | null;
  firingRules: string[];
  firingInstances: number | null;
  silencedInstances: number | null;
  silenced: boolean | null;
  health: "ok" | "error" | "unknown";
  error: string | null;
  evaluatedThrough: number | null;
}

export interface StatesAnswer {
  states: AlertReading[];
  counts: { state: Record<AlertStateName, number>; health: Record<AlertReading["health"], number> };
  cursor?: string;
}

export interface RuleOperator {
  operator: string;
  threshold: number;
}

export interface Persistence {
  datapointsToAlarm: number;
  datapointsInEvaluationWindow: number;
  missingDatapointBehavior?: string;
}

export interface AlertAction {
  type: string;
  [destination: string]: unknown;
}

export interface AlertRule {
  name: string;
  static: { operators: RuleOperator[]; persistenceSettings: Persistence };
  actions?: AlertAction[];
}

/** An alert as it is saved. */
export interface SavedAlert {
  metadata: { id?: string; name: string; description?: string };
  investigateOnFire?: boolean;
  severity?: string;
  labels?: Record<string, string>;
  /** A link, or any other text. */
  runbook?: string;
  messageTemplate?: string;
  timeseries: {
    expression: { svcQLTimeseries: { query: string; bucketSize: number } };
    evaluationRules: AlertRule[];
  };
}

export interface AlertAnswer {
  alert: SavedAlert;
  createdAt: number;
  updatedAt: number;
  updatedBy: string;
  managed?: Managed;
}

export interface InstanceState {
  labels: InstanceLabels;
  rules: { rule: string; state: AlertStateName; since: number; fireId: string | null }[];
  silencedBy: string | null;
}

export interface AlertStateAnswer {
  state: AlertStateName;
  health: AlertReading["health"];
  error: string | null;
  evaluatedThrough: number | null;
  silences: { id: string; endsAt: number }[];
  instances: InstanceState[];
  unhealthySince: number | null;
  /** Sentences about actions that cannot be delivered. */
  undeliverable: string[];
  /** `awaitedUntil` is null where the rows that are missing are not awaited any more. */
  incompleteBuckets: { time: number; missingRows: string; awaitedUntil: number | null }[];
  lateRows: { judgedAgain: number; tooLate: number } | null;
  warnings?: string[];
}

export interface AlertFire {
  fireId: string;
  rule: string;
  labels: InstanceLabels;
  firedAt: number;
  resolvedAt: number | null;
  reason: string | null;
  breachingDatapoint: { time: number; value: number | null } | null;
  silencedBy?: string | null;
}

/** An investigation that names a fire among its own. */
export interface InvestigationOfFire {
  id: string;
  summary: string | null;
  problem: string | null;
}

/** Why a fire began; a point that is missing is null. */
export interface ExplanationAnswer {
  query: string;
  bucketSize: number;
  source: "stored" | "replayed" | "none";
  operators: RuleOperator[];
  points: [number, number | null][];
  breaching: (boolean | null)[];
  more: number;
  why: string;
  warnings?: string[];
}

export interface NotificationAnswer {
  id: string;
  type: string;
  alertId: string;
  alertName: string;
  fireId: string;
  destination: { type: string; name: string };
  createdAt: number;
  status: "waiting" | "delivered" | "givenUp" | "skipped";
  tries: number;
  nextTryAt: number | null;
  endedAt: number | null;
  problem: string | null;
}

export interface SilenceAnswer {
  id: string;
  comment?: string;
  startsAt?: number;
  endsAt: number;
  alertIds?: string[];
  match?: { matchExpressions: { key: string; operator: string; values?: string[] }[] };
}

/** What an alert would have done over a range. */
export interface PreviewAnswer {
  bucketSize: number;
  fireCount: number;
  rules: { rule: string; fireCount: number }[];
  fires: AlertFire[];
  instances: { labels: InstanceLabels; points: [number, number | null][] }[];
  more: number;
  warnings?: string[];
}
