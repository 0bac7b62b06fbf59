/** Messages about fires that go on: sent again in the interval that a rule or a route sets, until the fire ends. */

import type { State } from "../../engine/index.ts";
import type { AlertEvent, EventMessage } from "../model/event.ts";
import type { NotificationRoute, RoutedAction } from "../model/notification-route.ts";
import { stableId } from "../model/stable-id.ts";
import { destinationKey } from "../notify/destination.ts";
import { PeriodicTask } from "../throttle/periodic-task.ts";
import type { FireSubscriber } from "./fire-subscriber.ts";
import type { AlertRecords } from "./records.ts";
import { type Fire, makeFiredEvent } from "./state/fire.ts";

export interface RepeatsOptions {
  state: State;
  records: AlertRecords;
  /** The outbox, which stores the notifications. */
  outbox: FireSubscriber;
  routeOf: (id: string) => NotificationRoute | undefined;
  /** Runs `act` while no evaluation changes fires of an alert; not where the alert is not evaluated. */
  inAlertTurn: (alertId: string, act: () => Promise<void>) => Promise<void>;
  /** The id of the silence or inhibition that holds a fire back now. */
  silencedBy: (fire: Fire, openFires: () => readonly Fire[]) => string | undefined;
  now: () => number;
  log: (level: "warn" | "error", message: string) => void;
}

/** Interval at which fires that go on are looked through. */
const lookEveryMs = 5_000;

export class Repeats {
  readonly #options: RepeatsOptions;
  readonly #task: PeriodicTask;
  /**
   * When each open fire was held back or not told last, or seen for the first time since the start. Messages that were
   * due before are not made up for.
   */
  #heldMs = new Map<string, number>();

  constructor(options: RepeatsOptions) {
    this.#options = options;
    this.#task = new PeriodicTask(
      lookEveryMs,
      () => this.sendDue(),
      (error) => options.log("error", `repeated notifications: ${String(error)}`),
    );
  }

  run(): void {
    this.#task.run();
  }

  async close(): Promise<void> {
    await this.#task.close();
  }

  /** Stores the messages that are due. Those that were missed, as during a stop, are not made up for. */
  async sendDue(): Promise<void> {
    this.#noteHeld();
    const due = this.#findDue().map(({ alertId }) => alertId);
    for (const alertId of new Set(due)) await this.#options.inAlertTurn(alertId, () => this.#repeat(alertId));
  }

  #noteHeld(): void {
    const { records, silencedBy, now } = this.#options;
    const open = records.openFires();
    const nowMs = now();
    const isHeld = (fire: Fire) =>
      fire.told !== "yes" ||
      !this.#heldMs.has(fire.id) ||
      (this.#dueOf(fire).length > 0 && silencedBy(fire, () => open) !== undefined);
    this.#heldMs = new Map(open.map((fire) => [fire.id, isHeld(fire) ? nowMs : this.#heldMs.get(fire.id)!]));
  }

  #findDue(): Fire[] {
    const { records, silencedBy } = this.#options;
    const open = records.openFires();
    return open.filter((fire) => {
      const isDue = fire.told === "yes" && this.#dueOf(fire).length > 0;
      return isDue && silencedBy(fire, () => open) === undefined;
    });
  }

  /** To be called while no evaluation changes fires of the alert. */
  async #repeat(alertId: string): Promise<void> {
    const { state, records, outbox, now } = this.#options;
    const firing = Map.groupBy(records.openFires(), (fire) => JSON.stringify([fire.alertId, fire.rule]));
    const repeated = this.#findDue()
      .filter((fire) => fire.alertId === alertId)
      .map((fire) => {
        const firingInstances = firing.get(JSON.stringify([fire.alertId, fire.rule]))!.length;
        return repeatFire(fire, this.#dueOf(fire), firingInstances);
      });
    if (repeated.length === 0) return;
    const fires = repeated.map(({ fire }) => fire);
    const messages = repeated.flatMap((each) => each.messages);
    const prepared = outbox.prepare({ nowMs: now(), messages, firstSeen: [] });
    await state.write([...records.fireChanges(fires), ...prepared.changes]);
    records.noteFires(fires);
    prepared.stored();
  }

  #dueOf(fire: Fire): DueRepeat[] {
    const nowMs = this.#options.now();
    return fire.actions.flatMap((action) => this.#dueRepeat(fire, action, nowMs) ?? []);
  }

  /** The number of the message that is due to an action's destination; undefined where none is. */
  #dueRepeat(fire: Fire, action: RoutedAction, nowMs: number): DueRepeat | undefined {
    const seconds = this.#secondsOf(fire, action);
    if (seconds === undefined) return undefined;
    const repeat = Math.floor((nowMs - fire.firedAtMs) / (seconds * 1_000));
    const sent = fire.repeats?.[destinationKey(action)] ?? 0;
    const isHeld = fire.firedAtMs + repeat * seconds * 1_000 < (this.#heldMs.get(fire.id) ?? nowMs);
    return repeat > sent && !isHeld ? { action, repeat } : undefined;
  }

  #secondsOf({ repeatSeconds }: Fire, { routeId }: RoutedAction): number | undefined {
    return routeId === undefined ? repeatSeconds : this.#options.routeOf(routeId)?.repeatSeconds;
  }
}

interface DueRepeat {
  action: RoutedAction;
  /** From 1. */
  repeat: number;
}

interface RepeatedFire {
  fire: Fire;
  messages: EventMessage<AlertEvent>[];
}

function repeatFire(fire: Fire, due: readonly DueRepeat[], firingInstances: number): RepeatedFire {
  const repeats = { ...fire.repeats };
  const messages = due.map(({ action, repeat }) => {
    repeats[destinationKey(action)] = repeat;
    const id = stableId("repeated", fire.id, repeat);
    return { event: { ...makeFiredEvent(fire, false, firingInstances), id, repeat }, actions: [action] };
  });
  return { fire: { ...fire, repeats }, messages };
}
