import { coloured, safeLine } from "./terminal.ts";

/** A span as the API gives it. */
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

/** Start, duration, service, name, status and trace of a span. */
export function spanLine(span: SpanEntry, inColour: boolean): string {
  const time = new Date(Number(BigInt(span.startTimeUnixNano) / 1_000_000n)).toISOString();
  const duration = `${span.durationMs?.toFixed(1) ?? "-"} ms`.padStart(durationWidth);
  const service = safeLine(span.attributes["service.name"] ?? "-");
  const name = safeLine(span.name);
  const failed = span.statusCode === "error";
  const status = failed
    ? ` error${span.statusMessage === undefined ? "" : `: ${safeLine(span.statusMessage)}`}`
    : "";
  const trace = safeLine(span.traceId);
  if (!inColour) return `${time} ${duration} ${service} ${name}${status} ${trace}`;
  return [
    coloured(time, "grey"),
    duration,
    coloured(service, "blue"),
    failed ? coloured(`${name}${status}`, "red") : name,
    coloured(trace, "grey"),
  ].join(" ");
}
