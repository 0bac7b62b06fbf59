/** Routes: destinations that hear of the fires of many alerts, chosen by labels, beside the alerts' own actions. */

import * as z from "zod";
import { makeFieldRefusal } from "../throttle/refusal.ts";
import { type Action, actionShape, repeatSecondsShape } from "./alert.ts";
import { listedMax } from "./limits.ts";
import { sentId } from "./resource-id.ts";
import { integerFrom, labelMatchShape, listOf, nameText, strictObject } from "./schema.ts";
import { isTimeZone } from "./time-zone.ts";

const days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;
export type Day = (typeof days)[number];

const clockTime = z.string().regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/, "must be a time such as 22:30");

const muteTime = strictObject({
  /** Days on which the time begins; every day where absent. */
  days: listOf(z.enum(days)).optional(),
  /** 00:00 where absent. */
  from: clockTime.optional(),
  /** 24:00 where absent. A time up to `from` is one of the next day. */
  to: clockTime.optional(),
  /** An IANA name such as Europe/Berlin; UTC where absent. */
  timeZone: z.string().max(100).optional(),
});

/** A time of the week in which a route sends nothing. */
export type MuteTime = z.infer<typeof muteTime>;

/** Longest wait for other notifications of the same group. */
const groupWaitSecondsMax = 600;

export const notificationRouteShape = strictObject({
  id: sentId.optional(),
  displayName: nameText.optional(),
  /** Labels of the fires that it takes: all expressions must hold. Absent: every fire. */
  match: labelMatchShape.optional(),
  actions: z.array(actionShape).min(1).max(listedMax),
  /** Labels: instances with the same values share a message, where messages are grouped. Absent: all of an alert. */
  groupBy: listOf(nameText).optional(),
  /** How long a grouped message waits for others. */
  groupWaitSeconds: integerFrom(0, groupWaitSecondsMax).optional(),
  /** Sends the message again so often while the fire goes on. */
  repeatSeconds: repeatSecondsShape.optional(),
  /** Messages of these times wait until they are over. */
  muteTimes: z.array(muteTime).max(listedMax).optional(),
}).meta({ id: "NotificationRoute" });

export type NotificationRoute = z.infer<typeof notificationRouteShape>;

/** An action of a fire, and the route that it comes from. */
export type RoutedAction = Action & { routeId?: string };

/** Throws Refusal 400 naming the field below `path`. */
export function checkNotificationRoute({ muteTimes = [] }: NotificationRoute, path: string): void {
  for (const [i, { timeZone }] of muteTimes.entries()) {
    if (timeZone === undefined || isTimeZone(timeZone)) continue;
    const where = `${path}.muteTimes[${i}].timeZone`;
    throw makeFieldRefusal(where, `must be the IANA name of a time zone, got ${JSON.stringify(timeZone)}`);
  }
}

export const inhibitionShape = strictObject({
  id: sentId.optional(),
  displayName: nameText.optional(),
  /** Labels of a fire while which the others are held back. */
  source: labelMatchShape,
  /** Labels of the fires that are held back. */
  target: labelMatchShape,
  /** Labels that must have the same value in both. */
  equal: listOf(nameText).optional(),
}).meta({ id: "Inhibition" });

/** While a fire of the source is open, nobody is notified of fires of the target. */
export type Inhibition = z.infer<typeof inhibitionShape>;
