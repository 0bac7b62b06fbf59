/** One alert under evaluation: its definition, its state, and the group whose query it shares. */
import { EvaluationLog } from "./evaluation-log.ts";
import type { QueryGroup } from "./query-group.ts";
import type { AlertDefinition } from "./state/alert-definition.ts";
import { type AlertState, hasUnnotifiedFire, valueOfRule } from "./state/alert-state.ts";
import { type FiringSummary, summarizeFiring } from "./state/firing-summary.ts";

/** The definition and the state are changed one change at a time (`inTurn`), each until the new state is stored. */
export class EvaluatedAlert {
  alert: AlertDefinition;
  group: QueryGroup<EvaluatedAlert> | undefined;
  readonly log = new EvaluationLog();
  /** True where the state differs from the stored one. It is stored with the next step. */
  isUnsaved = false;
  #state: AlertState;
  /** Result of `hasPendingWork`; undefined until it is computed for the present state. */
  #hasPendingWork: boolean | undefined;
  /** Result of `summary`; undefined until it is computed for the present state. */
  #summary: FiringSummary | undefined;
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
    this.#hasPendingWork = undefined;
    this.#summary = undefined;
  }

  /** Runs `act` once the `act` of every earlier call has settled. */
  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** End of the newest bucket that was judged or skipped; null before the first. */
  throughMs(): number | null {
    const { window, throughMs } = this.#state;
    const { group } = this;
    return group !== undefined && window === group.id ? (group.window?.throughMs ?? null) : throughMs;
  }

  /** Sets the definition, and the state that goes with it, which is stored already. */
  adopt(alert: AlertDefinition, state: AlertState): void {
    this.alert = alert;
    this.state = state;
    this.isUnsaved = false;
  }

  /** What lists say of the state. */
  summary(): FiringSummary {
    this.#summary ??= summarizeFiring(this.#state);
    return this.#summary;
  }

  /** Returns whether a rule waits to be judged for the first time, or people have not been notified of an open fire. */
  hasPendingWork(): boolean {
    this.#hasPendingWork ??= hasNewRule(this.alert, this.#state) || hasUnnotifiedFire(this.#state);
    return this.#hasPendingWork;
  }
}

function hasNewRule(
  { timeseries: { evaluationRules } }: AlertDefinition,
  { instances }: AlertState,
): boolean {
  return Object.values(instances).some(({ rules }) =>
    evaluationRules.some(({ name }) => valueOfRule(rules, name) === undefined),
  );
}
