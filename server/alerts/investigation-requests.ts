/** Stores a request for an investigation of each fire whose alert asks for one. */
import type { Json, State, StateChange } from "../../engine/index.ts";
import type { FireSubscriber } from "./fire-subscriber.ts";
import { investigationRequestsMax } from "./limits.ts";

/** The requests, by the id of the fire. */
const table = "investigation-requests";

/** A fire that waits for its investigation. */
export interface InvestigationRequest {
  fireId: string;
  alertId: string;
  requestedAtMs: number;
}

/** The newest requests are kept, up to `investigationRequestsMax`. */
export class InvestigationRequests implements FireSubscriber {
  readonly #state: State;
  /** Fire ids, the oldest first. */
  readonly #kept: Set<string>;
  #wake = (): void => undefined;

  constructor(state: State) {
    this.#state = state;
    this.#kept = new Set(this.list().map(({ fireId }) => fireId));
  }

  /** The oldest first. */
  list(): InvestigationRequest[] {
    const all = this.#state.list(table).map(({ value }) => value as unknown as InvestigationRequest);
    return all.sort((a, b) => a.requestedAtMs - b.requestedAtMs);
  }

  /** `wake` is called when requests have been stored. */
  onStored(wake: () => void): void {
    this.#wake = wake;
  }

  /** Deletes requests; to be stored with what became of them. */
  removal(fireIds: readonly string[]): StateChange[] {
    for (const id of fireIds) this.#kept.delete(id);
    return fireIds.map((id) => ({ table, id, value: undefined }));
  }

  prepare({
    firstSeen,
    nowMs,
  }: Parameters<FireSubscriber["prepare"]>[0]): ReturnType<FireSubscriber["prepare"]> {
    const changes = firstSeen
      .filter(({ alert }) => alert?.investigateOnFire === true)
      .map(({ fire: { id, alertId } }): StateChange => {
        this.#kept.add(id);
        const request: InvestigationRequest = { fireId: id, alertId, requestedAtMs: nowMs };
        return { table, id, value: request as unknown as Json };
      });
    if (changes.length === 0) return { changes, stored: () => undefined };
    // What a failed commit leaves behind is removed after the next start.
    const excess = this.#kept.keys().take(Math.max(0, this.#kept.size - investigationRequestsMax));
    return { changes: [...changes, ...this.removal(excess.toArray())], stored: () => this.#wake() };
  }
}
