/** Makes the message that people read about one or more fires of one alert. */
import type { NotificationEvent } from "../model/event.ts";
import { rulesOf } from "./event-types.ts";
import { listedInstancesMax } from "./limits.ts";

export interface Message {
  title: string;
  description: string;
  /** One line for each instance that is listed, with what is found of it, and one that counts the others. */
  lines: string[];
  link: { url: string; text: string };
  icon: string;
  isResolved: boolean;
}

/** `events`: one or more, of one alert and one type. `publicUrl`: the URL at which people reach the server. */
export function messageOf(events: readonly NotificationEvent[], publicUrl: string): Message {
  const [first] = events as [NotificationEvent];
  const { verb, state, icon, link, details } = rulesOf(first.type);
  const count = events.length > 1 ? ` (${events.length} instances)` : "";
  const late = events.some((event) => event.late) ? " (late)" : "";
  return {
    title: `${verb}: ${first.alertName}${count}${late}`,
    description: first.alertDescription,
    lines: [
      ...events.slice(0, listedInstancesMax).flatMap((event) => [eventLine(event), ...details(event)]),
      ...(events.length > listedInstancesMax ? [`and ${events.length - listedInstancesMax} more`] : []),
    ],
    link: { url: deepLink(first, publicUrl), text: link.text },
    icon,
    isResolved: state === "resolved",
  };
}

/** One sentence about one event. */
export function eventLine(event: NotificationEvent): string {
  const { labels, rule } = event;
  const instance = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const where = instance.length === 0 ? rule : `${rule}, ${instance.join(", ")}`;
  return `${where}: ${rulesOf(event.type).text(event)}`;
}

export function deepLink(event: NotificationEvent, publicUrl: string): string {
  return `${publicUrl}${rulesOf(event.type).link.pathOf(event)}`;
}
