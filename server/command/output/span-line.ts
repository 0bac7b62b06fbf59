/** A span as a line of text. */

import { addColour, escapeLine, type LineStyle } from "./terminal.ts";

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

/** Unix milliseconds of the begin of a span. */
export function startMsOf({ startTimeUnixNano }: SpanEntry): number {
  return Number(BigInt(startTimeUnixNano) / 1_000_000n);
}

const durationWidth = 10;

/** Formats start, duration, service, name, status and trace id. */
export function formatSpanLine(span: SpanEntry, { inColour, zone }: LineStyle): string {
  const time = zone.print(startMsOf(span));
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
