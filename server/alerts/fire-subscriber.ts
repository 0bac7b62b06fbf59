import type { StateChange } from "../../engine/index.ts";
import type { AlertEvent, EventMessage } from "../model/event.ts";
import type { AlertDefinition } from "./state/alert-definition.ts";
import type { Fire } from "./state/fire.ts";

/** What one commit of evaluation brings of fires. */
interface FireNews {
  nowMs: number;
  /** Begins and ends of fires that people are to be notified of. */
  messages: readonly EventMessage<AlertEvent>[];
  /** Fires that an evaluation sees open for the first time, silenced ones too. */
  firstSeen: readonly { fire: Fire; alert: AlertDefinition | undefined }[];
}

/** Hears of fires in the very commit that stores them. */
export interface FireSubscriber {
  /** `changes` are stored with the states of the alerts, all or nothing; `stored` is called when they are on disk. */
  prepare(news: FireNews): { changes: readonly StateChange[]; stored(): void };
}
