/** What alerts tell and notifications carry: the one thing that both know. */

/** Whom a rule tells, as the interface specification shapes it. */
export type Action =
  | { type: "slack"; slackDestination: { channel: string; notifyOnResolve?: boolean | undefined } }
  | { type: "email"; emailDestination: { emails: readonly string[]; notifyOnResolve?: boolean | undefined } }
  | { type: "pagerDuty"; pagerDutyDestination: PagerDutyDestination }
  | {
      type: "webhook";
      webhookDestination: {
        uuid: string;
        resolvedUuid?: string | undefined;
        notifyOnResolve?: boolean | undefined;
      };
    };

/** One of the three says where; what else stands there is the sender's own. */
interface PagerDutyDestination {
  routingKey?: string | undefined;
  serviceId?: string | undefined;
  serviceName?: string | undefined;
}

/**
 * `recovered`: the points say so; `gone`: the instance had no data for a day; `changed`: the rule or the query was edited;
 * `deleted`: the alert was.
 */
export type ResolveReason = "recovered" | "gone" | "changed" | "deleted";

export interface Datapoint {
  /** Start of the bucket, milliseconds since the epoch. */
  bucketMs: number;
  /** Null where it was the lack of a point that decided. */
  value: number | null;
}

/** A fire has begun or ended. */
export interface AlertEvent {
  /** The same however often it is told. */
  id: string;
  type: "alertFired" | "alertResolved";
  alertId: string;
  alertName: string;
  alertDescription: string;
  rule: string;
  query: string;
  bucketSeconds: number;
  /** The same from fire to resolve. */
  fireId: string;
  /** Of the instance. */
  labels: Readonly<Record<string, string>>;
  /** End of the bucket that decided, milliseconds since the epoch. */
  firedAtMs: number;
  /** The newest point that breached. */
  breached: Datapoint;
  resolvedAtMs?: number;
  reason?: ResolveReason;
  /** Told much later than it happened, e.g. after a stop. */
  late: boolean;
}

/** An event and whom it is for. */
export interface AlertMessage {
  event: AlertEvent;
  actions: readonly Action[];
}
