/** Messages about fires that go on, in the model. */
import type { RoutedAction } from "../../../../server/model/notification-route.ts";
import type { ModelHolds } from "./holds.ts";
import type { ModelAlert, ModelFire } from "./model.ts";
import { second } from "./plan.ts";
import { nameOf } from "./receivers.ts";

/**
 * One look at the open fires of an alert. Every so often a fire has a message again. Those of times in which it was kept
 * back, in which nobody had been told yet, or in which the server was away, are not made up for.
 */
export function tellAgain(
  alert: ModelAlert,
  nowMs: number,
  isHeld: (fire: ModelFire) => boolean,
  { routes }: ModelHolds,
  isStored: boolean,
): void {
  for (const fire of alert.openFires()) {
    if (fire.heldMs === null || fire.told !== "yes") fire.heldMs = nowMs;
    if (fire.told !== "yes") continue;
    for (const action of fire.actions) {
      const { routeId } = action as RoutedAction;
      const seconds = routeId === undefined ? fire.repeatSeconds : routes.get(routeId)?.repeatSeconds;
      if (seconds === undefined) continue;
      const everyMs = seconds * second;
      const repeat = Math.floor((nowMs - fire.firedAtMs) / everyMs);
      if (repeat <= (fire.repeats.get(nameOf(action)) ?? 0)) continue;
      if (isHeld(fire)) fire.heldMs = nowMs;
      else if (isStored && fire.firedAtMs + repeat * everyMs >= fire.heldMs) {
        fire.repeats.set(nameOf(action), repeat);
        const event = { fire, type: "alertFired", actions: [action], late: false, repeat } as const;
        alert.events.push({ ...event, resolvedAtMs: null, reason: null });
      }
    }
  }
}
