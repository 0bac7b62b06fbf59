/** Reads and writes the stored tables of alerting: states, windows and fires, and those of the history. */
import { Failure, type Json, type State, type StateChange } from "../../engine/index.ts";
import {
  deletedAlertsFiresMax,
  resolvedFiresMax,
  resolvedFiresMin,
  resolvedFiresTotalMax,
} from "./limits.ts";
import { type AlertState, readStoredState } from "./state/alert-state.ts";
import type { Fire } from "./state/fire.ts";
import { type Window, windowVersion } from "./state/window.ts";
import { TransitionHistory } from "./transition-history.ts";

const stateTable = "alert-states";
/** Windows, by the id of their group: written with every bucket, once for all alerts of the group. */
const windowTable = "alert-windows";
const fireTable = "alert-fires";

export class AlertRecords {
  readonly #state: State;
  /** Ids of resolved fires of each alert, the oldest first. */
  readonly #resolved = new Map<string, string[]>();
  /** By their ids. */
  readonly #open = new Map<string, Fire>();
  /** What `openFires` returns, until the fires change. */
  #openList: readonly Fire[] | undefined;
  /** Ids of resolved fires of alerts that were deleted, the oldest first. */
  readonly #resolvedOfDeleted: string[] = [];
  readonly history: TransitionHistory;

  constructor(state: State, historyAgeMs: number) {
    this.#state = state;
    this.history = new TransitionHistory(state, historyAgeMs);
    const fires = state.list(fireTable).map(({ value }) => value as unknown as Fire);
    fires.sort((a, b) => (a.resolvedAtMs ?? 0) - (b.resolvedAtMs ?? 0));
    for (const fire of fires) {
      if (fire.resolvedAtMs === null) this.#open.set(fire.id, fire);
      else this.#resolvedOf(fire.alertId).push(fire.id);
    }
  }

  /** The fires that are open, of all alerts: the same list until one of them changes. */
  openFires(): readonly Fire[] {
    this.#openList ??= [...this.#open.values()];
    return this.#openList;
  }

  /** To be called after the commit of fires. */
  noteFires(fires: readonly Fire[]): void {
    if (fires.length > 0) this.#openList = undefined;
    for (const fire of fires) {
      if (fire.resolvedAtMs === null) this.#open.set(fire.id, fire);
      else this.#open.delete(fire.id);
    }
  }

  /** The stored states of all alerts. Throws an Error if a later version of svc wrote one. */
  states(): [alertId: string, state: AlertState][] {
    return this.#state.list(stateTable).map(({ id, value }) => [id, readStoredState(id, value as never)]);
  }

  /** A window whose stored value is damaged counts as absent: its buckets are read again. */
  window(id: string): Window | undefined {
    try {
      const window = this.#state.get(windowTable, id) as unknown as Window | undefined;
      return window?.version === windowVersion ? window : undefined;
    } catch (error) {
      if (error instanceof Failure && error.kind === "damage") return undefined;
      throw error;
    }
  }

  windowIds(): string[] {
    return this.#state.list(windowTable).map(({ id }) => id);
  }

  windowChange(id: string, window: Window | undefined): StateChange {
    return { table: windowTable, id, value: json(window) };
  }

  fire(id: string): Fire | undefined {
    return this.#state.get(fireTable, id) as unknown as Fire | undefined;
  }

  /** The stored fires of an alert, the newest first. */
  fires(alertId: string): Fire[] {
    const open = [...this.#open.values()].filter((fire) => fire.alertId === alertId);
    // Those of a deleted alert are among the ones of all deleted alerts.
    const ids = this.#resolved.get(alertId) ?? this.#resolvedOfDeleted;
    const resolved = ids.flatMap((id) => this.fire(id) ?? []);
    return [
      ...open,
      ...resolved.filter((fire) => fire.alertId === alertId && fire.resolvedAtMs !== null),
    ].sort((a, b) => b.firedAtMs - a.firedAtMs || (a.id < b.id ? -1 : 1));
  }

  /** The stored fires of all alerts that began from `startMs` to before `endMs`, the oldest first. */
  firesBetween(startMs: number, endMs: number): Fire[] {
    const all = this.#state.list(fireTable).map(({ value }) => value as unknown as Fire);
    const found = all.filter(({ firedAtMs }) => firedAtMs >= startMs && firedAtMs < endMs);
    return found.sort((a, b) => a.firedAtMs - b.firedAtMs);
  }

  stateChange(alertId: string, state: AlertState): StateChange {
    return { table: stateTable, id: alertId, value: json(state) };
  }

  /** Deletes the state and the history of a deleted alert. Its fires are kept among the newest of deleted alerts. */
  removal(alertId: string): StateChange[] {
    return [
      { table: stateTable, id: alertId, value: undefined },
      ...this.history.removal(alertId),
      ...this.unusedFireChanges((each) => each !== alertId),
    ];
  }

  /** Deletes the oldest resolved fires of alerts that are not configured, beyond `deletedAlertsFiresMax`. */
  unusedFireChanges(isConfigured: (alertId: string) => boolean): StateChange[] {
    for (const [alertId, ids] of this.#resolved) {
      if (isConfigured(alertId)) continue;
      this.#resolved.delete(alertId);
      this.#resolvedOfDeleted.push(...ids);
    }
    const excess = this.#resolvedOfDeleted.length - deletedAlertsFiresMax;
    const removed = this.#resolvedOfDeleted.splice(0, Math.max(0, excess));
    return removed.map((id) => ({ table: fireTable, id, value: undefined }));
  }

  /**
   * Stores fires, and deletes the oldest resolved fires of an alert beyond `resolvedFiresMax`: fewer where so many alerts
   * have some that all together would be more than `resolvedFiresTotalMax`.
   */
  fireChanges(fires: readonly Fire[]): StateChange[] {
    const changes: StateChange[] = fires.map((fire) => ({
      table: fireTable,
      id: fire.id,
      value: json(fire),
    }));
    for (const { id, alertId, resolvedAtMs } of fires) {
      if (resolvedAtMs === null) continue;
      const resolved = this.#resolvedOf(alertId);
      if (!resolved.includes(id)) resolved.push(id);
      const share = Math.floor(resolvedFiresTotalMax / this.#resolved.size);
      const kept = Math.max(resolvedFiresMin, Math.min(resolvedFiresMax, share));
      for (const oldId of resolved.splice(0, Math.max(0, resolved.length - kept))) {
        changes.push({ table: fireTable, id: oldId, value: undefined });
      }
    }
    return changes;
  }

  #resolvedOf(alertId: string): string[] {
    const ids = this.#resolved.get(alertId) ?? [];
    this.#resolved.set(alertId, ids);
    return ids;
  }
}

/** The values are plain data. The cast is needed because an interface without an index signature is not a `Json`. */
function json<T extends object | undefined>(value: T): T extends undefined ? undefined : Json {
  return value as unknown as T extends undefined ? undefined : Json;
}
