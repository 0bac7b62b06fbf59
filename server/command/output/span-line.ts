/** A span as a line of text. */

import { addColour, escapeLine } from "./terminal.ts";

/** A span in an answer of the API. */
export interface SpanEntry {
  traceId: string;
  name: string;
  startTimeUnixNano: string;
  durationMs?: number;
  statusCode?: string;
  statusMessage?: string;
  attributes: Record<string, string>;
}

const durationWidth = 10;

/** Formats start, duration, service, name, status and trace id. */
export function formatSpanLine(span: SpanEntry, inColour: boolean): string {
  const time = new Date(Number(BigInt(span.startTimeUnixNano) / 1_000_000n)).toISOString();
  const duration = `${span.durationMs?.toFixed(1) ?? "-"} ms`.padStart(durationWidth);
  const service = escapeLine(span.attributes["service.name"] ?? "-");
  const name = escapeLine(span.name);
  const failed = span.statusCode === "error";
  const status = failed
    ? ` error${span.statusMessage === undefined ? "" : `: ${escapeLine(span.statusMessage)}`}`
    : "";
  const trace = escapeLine(span.traceId);
  if (!inColour) return `${time} ${duration} ${service} ${name}${status} ${trace}`;
  return [
    addColour(time, "grey"),
    duration,
    addColour(service, "blue"),
    failed ? addColour(`${name}${status}`, "red") : name,
    addColour(trace, "grey"),
  ].join(" ");
}
