/** A profile or a Kubernetes resource as a line of text. */

import { addColour, escapeLine, type LineStyle } from "./terminal.ts";

/** A row in an answer of the API. */
export interface BodyEntry {
  timestamp: number;
  body: string;
  attributes: Record<string, string>;
}

/** Formats time, kind and name of the resource, what happened to it, and its body. */
export function formatBodyLine(
  { timestamp, body, attributes }: BodyEntry,
  { inColour, zone }: LineStyle,
): string {
  const time = zone.print(timestamp);
  const {
    "k8s.resource.kind": kind,
    "k8s.namespace.name": namespace,
    "k8s.resource.name": name,
  } = attributes;
  const place = [kind, namespace, name].filter((part) => part !== undefined).join("/");
  const what = escapeLine(place === "" ? (attributes["service.name"] ?? "-") : place);
  const change = attributes["k8s.resource.change"];
  const happened = change === undefined ? "" : `${escapeLine(change)} `;
  const text = `${happened}${escapeLine(body)}`;
  return inColour
    ? `${addColour(time, "grey")} ${addColour(what, "blue")} ${text}`
    : `${time} ${what} ${text}`;
}
