import type { Json } from "../../engine/index.ts";
import type { Action } from "../model/alert.ts";
import type { NotificationEvent } from "../model/event.ts";

/** One try to hand over a message. */
export interface Delivery<A extends Action = Action> {
  /** The same on every try. */
  id: string;
  action: A;
  /** One or more of one alert and one type; more only where messages are grouped. */
  events: readonly NotificationEvent[];
  /** What the sender answered when it told of the fires that these events end. */
  receipts: readonly Json[];
  nowMs: number;
}

export type Outcome =
  | { kind: "delivered"; receipt?: Json }
  /** Try again; not before `afterMs` where the receiver asked for that. */
  | { kind: "retry"; problem: string; afterMs?: number }
  /** No further try will do. */
  | { kind: "final"; problem: string };

/** Throws what goes wrong on the way, which is tried again. */
export type Sender<A extends Action> = (delivery: Delivery<A>) => Promise<Outcome>;

export interface Senders {
  slack: Sender<Extract<Action, { type: "slack" }>>;
  email: Sender<Extract<Action, { type: "email" }>>;
  pagerDuty: Sender<Extract<Action, { type: "pagerDuty" }>>;
  webhook: Sender<Extract<Action, { type: "webhook" }>>;
}
