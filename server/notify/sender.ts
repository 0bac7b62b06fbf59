import type { Json } from "../../engine/index.ts";
import type { Action } from "../model/alert.ts";
import type { NotificationEvent } from "../model/event.ts";
import { senderMsMax } from "./limits.ts";

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
  /**
   * Try again; not before `afterMs` where the receiver asked for that. `isRefused`: the receiver cannot have taken the
   * message, since it said so or was not reached.
   */
  | { kind: "retry"; problem: string; afterMs?: number; isRefused?: boolean }
  /** No further try will do. */
  | { kind: "final"; problem: string };

/** The receiver was not reached, so that it has got nothing. */
export class NotReached extends Error {}

/** Throws what goes wrong on the way, which is tried again. */
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
