/** What people read of one or more fires of one alert. */
import type { AlertEvent } from "../model/event.ts";
import { listedMax } from "./limits.ts";

export interface Message {
  title: string;
  description: string;
  /** One for each instance that is listed. */
  lines: string[];
  /** Instances that are not. */
  more: number;
  link: string;
  isResolved: boolean;
}

/** `events`: one or more, of one alert and one type. `publicUrl`: where people reach the server. */
export function messageOf(events: readonly AlertEvent[], publicUrl: string): Message {
  const [first] = events as [AlertEvent];
  const isResolved = first.type === "alertResolved";
  const count = events.length > 1 ? ` (${events.length} instances)` : "";
  const late = events.some((event) => event.late) ? " (late)" : "";
  return {
    title: `${isResolved ? "Resolved" : "Firing"}: ${first.alertName}${count}${late}`,
    description: first.alertDescription,
    lines: events.slice(0, listedMax).map(eventLine),
    more: Math.max(0, events.length - listedMax),
    link: deepLink(first, publicUrl),
    isResolved,
  };
}

/** One sentence about one event. */
export function eventLine(event: AlertEvent): string {
  const { labels, rule, breached, firedAtMs, resolvedAtMs, reason } = event;
  const instance = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const where = instance.length === 0 ? rule : `${rule}, ${instance.join(", ")}`;
  if (event.type === "alertFired") {
    const value = breached.value === null ? "no data" : `value ${breached.value}`;
    return `${where}: ${value}, since ${time(firedAtMs)}`;
  }
  const why = reason === undefined || reason === "recovered" ? "" : ` (${reasons[reason]})`;
  return `${where}: fired at ${time(firedAtMs)}, ended at ${time(resolvedAtMs ?? firedAtMs)}${why}`;
}

const reasons = {
  gone: "it has had no data for a day",
  changed: "the alert was changed",
  deleted: "the alert was deleted",
} as const;

export function deepLink({ alertId, fireId }: AlertEvent, publicUrl: string): string {
  return `${publicUrl}/alerts/${encodeURIComponent(alertId)}?fire=${fireId}`;
}

export function time(ms: number): string {
  return new Date(ms).toISOString();
}
