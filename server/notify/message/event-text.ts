/** What people read of an event: which instance, its value, what it is compared with, since when. */

import type { NotificationEvent } from "../../model/event.ts";
import { rulesOf } from "./event-types.ts";
import { lineLengthMax, oneLine, shorten, valueLengthMax } from "./plain-text.ts";

/** One line about one event. */
export function eventLine(event: NotificationEvent): string {
  const { labels, rule } = event;
  const instance = Object.entries(labels).map(
    ([name, value]) => `${oneLine(name, valueLengthMax)}=${oneLine(value, valueLengthMax)}`,
  );
  const where = [...(rule === "" ? [] : [oneLine(rule, valueLengthMax)]), ...instance].join(", ");
  const text = oneLine(rulesOf(event.type).text(event));
  if (where === "") return shorten(text, lineLengthMax);
  // The value and the time are never cut: they stand last, and are short.
  return `${shorten(where, Math.max(valueLengthMax, lineLengthMax - text.length))}: ${text}`;
}

/** The lines that every form of a message about one event has. */
export function eventMessage(event: NotificationEvent): string {
  return [
    eventLine(event),
    ...rulesOf(event.type)
      .details(event)
      .map((line) => oneLine(line)),
  ].join("\n");
}

/** The address of the page about an event. `publicUrl`: the URL at which people reach the server. */
export function deepLink(event: NotificationEvent, publicUrl: string): string {
  return `${publicUrl}${rulesOf(event.type).link.pathOf(event)}`;
}
