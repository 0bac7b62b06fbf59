import type { Json } from "../../../engine/index.ts";
import type { Action } from "../../model/alert.ts";
import type { NotificationEvent } from "../../model/event.ts";
import { senderMsMax } from "../limits.ts";

/** One try to send a message. */
export interface Delivery<A extends Action = Action> {
  /** Id of the message, the same on every try. */
  id: string;
  action: A;
  /** One event; where messages are grouped, one or more of one alert and one type. */
  events: readonly NotificationEvent[];
  /** For ends of fires: the receipts that the sender returned for the messages about their begins. */
  receipts: readonly Json[];
  /** Whether people were told of further fires of the same incident that have not ended. */
  othersFire?: boolean | undefined;
  nowMs: number;
}

export type Outcome =
  | { kind: "delivered"; receipt?: Json }
  /**
   * The message is tried again. `afterMs`: the shortest pause, where the receiver asked for one. `isRefused`: the
   * receiver cannot have taken the message, since it said so or was not reached.
   */
  | { kind: "retry"; problem: string; afterMs?: number; isRefused?: boolean }
  /** No further try can succeed. */
  | { kind: "final"; problem: string };

/** The receiver was not reached: it has got nothing. */
export class NotReached extends Error {}

/** Tries to send a message. After any error that it throws, the message is tried again. */
type Sender<A extends Action> = (delivery: Delivery<A>) => Promise<Outcome>;

export interface Senders {
  slack: Sender<Extract<Action, { type: "slack" }>>;
  email: Sender<Extract<Action, { type: "email" }>>;
  pagerDuty: Sender<Extract<Action, { type: "pagerDuty" }>>;
  webhook: Sender<Extract<Action, { type: "webhook" }>>;
}

/** Sends a message once. Whatever goes wrong, and a sender that does not answer in time, is an outcome. */
export async function tryToSend(senders: Senders, delivery: Delivery): Promise<Outcome> {
  const send = senders[delivery.action.type] as Sender<Action>;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Outcome>((resolve) => {
    const problem = `no end after ${senderMsMax / 1000} s`;
    timer = setTimeout(() => resolve({ kind: "retry", problem }), senderMsMax);
  });
  try {
    return await Promise.race([send(delivery), late]);
  } catch (error) {
    const problem = (error as Error).message;
    return { kind: "retry", problem, ...(error instanceof NotReached ? { isRefused: true } : {}) };
  } finally {
    clearTimeout(timer);
  }
}
