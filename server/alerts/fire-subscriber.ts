/** The contract of a subscriber, which stores something about fires in the commit that stores the fires. */
import type { StateChange } from "../../engine/index.ts";
import type { AlertEvent, EventMessage } from "../model/event.ts";
import type { AlertDefinition } from "./state/alert-definition.ts";
import type { Fire } from "./state/fire.ts";

/** What one commit of evaluation changes in fires. */
interface FireUpdate {
  nowMs: number;
  /** Events of fires that people are to be notified of. */
  messages: readonly EventMessage<AlertEvent>[];
  /** Fires that an evaluation notices for the first time, including silenced ones. */
  firstSeen: readonly { fire: Fire; alert: AlertDefinition | undefined }[];
}

export interface FireSubscriber {
  /** Returns changes, which are stored with the states of the alerts, all or nothing. Then `stored` is called. */
  prepare(update: FireUpdate): { changes: readonly StateChange[]; stored(): void };
}
