import { EvaluationLog } from "./evaluation-log.ts";
import type { QueryGroup } from "./query-group.ts";
import type { AlertDefinition } from "./state/alert-definition.ts";
import { type AlertState, hasUnnotifiedFire } from "./state/alert-state.ts";

/** One alert under evaluation. Its state changes only in turns, each of which ends when the new state is stored. */
export class EvaluatedAlert {
  alert: AlertDefinition;
  group: QueryGroup<EvaluatedAlert> | undefined;
  readonly log = new EvaluationLog();
  /** Other than what is stored: it is written with the next step. */
  isUnsaved = false;
  #state: AlertState;
  #isUnsettled: boolean | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(alert: AlertDefinition, state: AlertState) {
    this.alert = alert;
    this.#state = state;
  }

  get state(): AlertState {
    return this.#state;
  }

  set state(state: AlertState) {
    this.#state = state;
    this.#isUnsettled = undefined;
  }

  /** Waits for the turns before. */
  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** End of the newest bucket that was judged or passed over; null before the first. */
  throughMs(): number | null {
    const { window, throughMs } = this.#state;
    const { group } = this;
    return group !== undefined && window === group.id ? (group.window?.throughMs ?? null) : throughMs;
  }

  /** Another form of the alert, under the state that goes with it. */
  adopt(alert: AlertDefinition, state: AlertState): void {
    this.alert = alert;
    this.state = state;
    this.isUnsaved = false;
  }

  /** A rule waits to be judged for the first time, or a fire to be told. */
  isUnsettled(): boolean {
    this.#isUnsettled ??= hasNewRule(this.alert, this.#state) || hasUnnotifiedFire(this.#state);
    return this.#isUnsettled;
  }
}

function hasNewRule(
  { timeseries: { evaluationRules } }: AlertDefinition,
  { instances }: AlertState,
): boolean {
  return Object.values(instances).some(({ rules }) =>
    evaluationRules.some(({ name }) => rules[name] === undefined),
  );
}
