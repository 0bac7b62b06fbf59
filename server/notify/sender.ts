import type { Json } from "../../engine/index.ts";
import type { Action } from "../model/alert.ts";
import type { NotificationEvent } from "../model/event.ts";

/** One try to send a message. */
export interface Delivery<A extends Action = Action> {
  /** Id of the message, the same on every try. */
  id: string;
  action: A;
  /** One event; where messages are grouped, one or more of one alert and one type. */
  events: readonly NotificationEvent[];
  /** For ends of fires: the receipts that the sender returned for the messages about their begins. */
  receipts: readonly Json[];
  nowMs: number;
}

export type Outcome =
  | { kind: "delivered"; receipt?: Json }
  /** The message is tried again. `afterMs`: the shortest pause, where the receiver asked for one. */
  | { kind: "retry"; problem: string; afterMs?: number }
  /** No further try can succeed. */
  | { kind: "final"; problem: string };

/** Tries to send a message. After any error that it throws, the message is tried again. */
export type Sender<A extends Action> = (delivery: Delivery<A>) => Promise<Outcome>;

export interface Senders {
  slack: Sender<Extract<Action, { type: "slack" }>>;
  email: Sender<Extract<Action, { type: "email" }>>;
  pagerDuty: Sender<Extract<Action, { type: "pagerDuty" }>>;
  webhook: Sender<Extract<Action, { type: "webhook" }>>;
}
