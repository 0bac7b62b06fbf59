/** Makes the message that people read about one or more fires of one alert. */
import type { NotificationEvent } from "../../model/event.ts";
import { listedInstancesMax } from "../limits.ts";
import { persistenceText, thresholdText } from "./condition-text.ts";
import { deepLink, eventMessage } from "./event-text.ts";
import { rulesOf } from "./event-types.ts";
import { oneLine, shorten } from "./plain-text.ts";
import { fillText } from "./template.ts";
import { variablesOf } from "./variables.ts";

export interface Message {
  /** One line. */
  title: string;
  /** What whoever wrote the alert says of it; "" for nothing. */
  description: string;
  /** What is measured, what it is compared with, and whose the alert is: a name and one line each. */
  facts: { name: string; text: string }[];
  /** The lines about each instance that is listed. */
  instances: string[];
  /** Instances that are not listed. */
  more: number;
  link: { url: string; text: string };
  /** What to do; `url` where it is an address. */
  runbook: { text: string; url?: string } | undefined;
  icon: string;
  isResolved: boolean;
}

/** Characters of a query that a message shows. */
const queryLengthMax = 1_000;

/** `events`: one or more, of one alert and one type. `publicUrl`: the URL at which people reach the server. */
export function messageOf(events: readonly NotificationEvent[], publicUrl: string): Message {
  const [first] = events as [NotificationEvent];
  const { state, icon, link } = rulesOf(first.type);
  return {
    title: titleOf(events),
    description: descriptionOf(first, publicUrl),
    facts: factsOf(first),
    instances: events.slice(0, listedInstancesMax).map(eventMessage),
    more: Math.max(0, events.length - listedInstancesMax),
    link: { url: deepLink(first, publicUrl), text: link.text },
    runbook: runbookOf(first.runbook),
    icon,
    isResolved: state === "resolved" || state === "healthy",
  };
}

/** Says what happened to which alert, how bad it is, and to how many instances. */
export function titleOf(events: readonly NotificationEvent[]): string {
  const [first] = events as [NotificationEvent];
  const severity = first.severity === undefined ? "" : ` (${first.severity})`;
  const count = events.length > 1 ? ` (${events.length} instances)` : "";
  const late = events.some((event) => event.late) ? " (late)" : "";
  return `${rulesOf(first.type).verb(first)}${severity}: ${oneLine(first.alertName)}${count}${late}`;
}

/** The alert's template with its variables replaced; without one its description. */
export function descriptionOf(event: NotificationEvent, publicUrl: string): string {
  const { messageTemplate } = event;
  if (messageTemplate === undefined || messageTemplate === "") return event.alertDescription;
  return fillText(messageTemplate, variablesOf(event, publicUrl), oneLine);
}

function factsOf({ query, bucketSeconds, condition, alertLabels = {}, firingInstances }: NotificationEvent) {
  const facts = [{ name: "Query", text: shorten(oneLine(query), queryLengthMax) }];
  if (condition !== undefined) {
    const text = `${thresholdText(condition)} in ${persistenceText(condition, bucketSeconds)}`;
    facts.push({ name: "Condition", text });
  }
  if (firingInstances !== undefined) facts.push({ name: "Firing now", text: String(firingInstances) });
  const labels = Object.entries(alertLabels).map(([name, value]) => `${oneLine(name)}=${oneLine(value)}`);
  if (labels.length > 0) facts.push({ name: "Labels", text: labels.join(", ") });
  return facts;
}

function runbookOf(runbook = ""): Message["runbook"] {
  if (runbook === "") return undefined;
  const isUrl = /^https?:\/\/\S+$/.test(runbook) && URL.canParse(runbook);
  return isUrl ? { text: "Runbook", url: runbook } : { text: runbook };
}

/** What a message says of the instances that it does not list; undefined where it lists all. */
export function moreText({ more, link }: Pick<Message, "more" | "link">): string | undefined {
  return more === 0 ? undefined : `and ${more} more: ${link.url}`;
}
