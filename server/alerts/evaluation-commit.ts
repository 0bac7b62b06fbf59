/** Stores the results of a step of evaluation in one commit: states, fires, and what subscribers add. */
import type { State, StateChange } from "../../engine/index.ts";
import type { Action } from "../model/alert.ts";
import type { AlertEvent, EventMessage } from "../model/event.ts";
import type { RoutedAction } from "../model/notification-route.ts";
import type { FireSubscriber } from "./fire-subscriber.ts";
import { applyNotificationPolicy } from "./notification-policy.ts";
import type { AlertRecords } from "./records.ts";
import type { AlertDefinition } from "./state/alert-definition.ts";
import type { AlertState } from "./state/alert-state.ts";
import type { Fire } from "./state/fire.ts";
import type { Advance } from "./state/judgement.ts";

export interface StepCommitOptions {
  state: State;
  now: () => number;
  /** Subscribers that store something about fires in the same commit. */
  subscribers: readonly FireSubscriber[];
  /** The id of the silence or inhibition that holds a fire back now. `openFires`: all, the same list for one commit. */
  silencedBy: (fire: Fire, openFires: () => readonly Fire[]) => string | undefined;
  /** The actions that report a fire: the rule's own, and those of routes. */
  actionsFor: (fire: Fire, own: readonly Action[]) => RoutedAction[];
  /** The wait for late data: how long rows may take to arrive. */
  delayMs: number;
}

export interface AlertStep extends Omit<Advance, "state"> {
  alertId: string;
  /** The wait for late data: how long rows may take to arrive. */
  delayMs: number;
  /** Undefined for a deleted alert. */
  alert: AlertDefinition | undefined;
  /** Undefined for a deleted alert. */
  state: AlertState | undefined;
}

export class StepCommit {
  readonly #options: StepCommitOptions;
  readonly #records: AlertRecords;

  constructor(options: StepCommitOptions, records: AlertRecords) {
    this.#options = options;
    this.#records = records;
  }

  /**
   * Stores the steps, together with `changes`, all or nothing. `isHead`: all complete buckets were judged. Returns the
   * state of each alert. In it, the fires of which people are notified are marked.
   */
  async store(
    steps: readonly AlertStep[],
    isHead: boolean,
    changes: readonly StateChange[],
  ): Promise<(AlertState | undefined)[]> {
    const { subscribers, silencedBy, actionsFor, state } = this.#options;
    const nowMs = this.#options.now();
    const records = this.#records;
    const all: StateChange[] = [...changes];
    const messages: EventMessage<AlertEvent>[] = [];
    const fires: Fire[] = [];
    // Those that open now count, too: a fire and what it holds back often begin together.
    let open: readonly Fire[] | undefined;
    const openFires = () => {
      open ??= [...records.openFires(), ...steps.flatMap(({ opened }) => opened)];
      return open;
    };
    const firstSeen: { fire: Fire; alert: AlertDefinition | undefined }[] = [];
    const states = steps.map((step) => {
      const { alertId, alert, delayMs } = step;
      const decision = applyNotificationPolicy(alert, step.state, step, {
        nowMs,
        delayMs,
        isHead,
        knownFire: (fireId) => records.fire(fireId),
        silencedBy: (fire) => silencedBy(fire, openFires),
        actionsFor,
      });
      messages.push(...decision.messages);
      const changed = [...decision.fires, ...retractedFires(step, records)];
      all.push(...records.fireChanges(changed));
      fires.push(...changed);
      if (decision.state === undefined) all.push(...records.removal(alertId));
      else
        all.push(
          records.stateChange(alertId, decision.state),
          ...records.history.append(alertId, step.transitions, nowMs),
        );
      firstSeen.push(...decision.noticed.map((fire) => ({ fire, alert })));
      return decision.state;
    });
    const prepared = subscribers.map((subscriber) => subscriber.prepare({ nowMs, messages, firstSeen }));
    await state.write([...all, ...prepared.flatMap(({ changes }) => changes)]);
    records.noteFires(fires);
    for (const each of prepared) each.stored();
    return states;
  }
}

/** Ended fires that should not have been. Whoever was notified of one knows that it has ended. */
function retractedFires({ retracted }: AlertStep, records: AlertRecords): Fire[] {
  return retracted.flatMap((id) => {
    const fire = records.fire(id);
    return fire === undefined ? [] : [{ ...fire, reason: "corrected" as const }];
  });
}
