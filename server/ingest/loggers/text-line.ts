/** Reads the time and the level at the beginning of a line of plain text. Times without a zone are UTC. */

import { isoNanos } from "../iso-time.ts";

export interface TextLine {
  form: string;
  timeNs: bigint | undefined;
  level: string;
  message: string;
  attributes: Record<string, string>;
  /** The next line of CRI goes on with this message. */
  isPartial: boolean;
}

const cri = /^(\d{4}-\d\d-\d\dT\S+) (stdout|stderr) ([FP])(?::\S*)? ?(.*)$/s;
const iso = /^\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)\]?(?=\s|$)/;
const klog = /^([IWEF])(\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d+)/;
const access = /^\S+ \S+ \S+ \[(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d{4})\] "/;
const nginxError = /^(\d{4})\/(\d\d)\/(\d\d) (\d\d:\d\d:\d\d) \[(\w+)\]/;
const syslog = /^(?:<\d{1,3}>)?([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d) /;
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/** A level among the first words behind the time; threads and loggers in brackets may stand before it. */
const level =
  /^(?:\s|\[[^\]]*\]|-){0,20}?\[?\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|SEVERE|FATAL|CRIT|CRITICAL|ALERT|EMERG|PANIC)\b/i;
const klogLevels: Readonly<Record<string, string>> = { I: "info", W: "warn", E: "error", F: "fatal" };
const dayMs = 86_400_000;

/** Reads a line, whose message is the line itself (of CRI, the part behind its head). */
export function readTextLine(line: string, nowMs = Date.now()): TextLine {
  const found = cri.exec(line);
  if (found !== null) {
    const [, time, stream, flag, message] = found;
    const inner = { ...readLevel(message!), message: message!, attributes: { stream: stream! } };
    return { form: "CRI", timeNs: isoNanos(time!), ...inner, isPartial: flag === "P" };
  }
  return { ...readHead(line, nowMs), message: line, attributes: {}, isPartial: false };
}

function readHead(line: string, nowMs: number): Pick<TextLine, "form" | "timeNs" | "level"> {
  const [isoHead, isoTime] = iso.exec(line) ?? [];
  if (isoTime !== undefined) {
    const timeNs = isoNanos(isoTime.replace(/ (?=Z|[+-]\d\d)/, ""));
    return { form: "text with dates", timeNs, ...readLevel(line.slice(isoHead!.length)) };
  }
  const [, letter, month, day, clock] = klog.exec(line) ?? [];
  if (letter !== undefined) {
    return { form: "klog", timeNs: withoutYear(month!, day!, clock!, nowMs), level: klogLevels[letter]! };
  }
  const [, accessDay, name, accessYear, accessClock, zone] = access.exec(line) ?? [];
  if (name !== undefined) {
    const date = `${accessYear}-${monthOf(name)}-${accessDay}`;
    return { form: "access log", timeNs: isoNanos(`${date}T${accessClock}${zone}`), level: "" };
  }
  const [, year, nginxMonth, nginxDay, nginxClock, nginxLevel] = nginxError.exec(line) ?? [];
  if (year !== undefined) {
    const timeNs = isoNanos(`${year}-${nginxMonth}-${nginxDay}T${nginxClock}`);
    return { form: "nginx's error log", timeNs, level: nginxLevel! };
  }
  const [syslogHead, syslogMonth, syslogDay, syslogClock] = syslog.exec(line) ?? [];
  if (syslogMonth !== undefined) {
    const timeNs = withoutYear(monthOf(syslogMonth), syslogDay!.padStart(2, "0"), syslogClock!, nowMs);
    return { form: "syslog file", timeNs, ...readLevel(line.slice(syslogHead!.length)) };
  }
  return { form: "text without times", timeNs: undefined, ...readLevel(line) };
}

function readLevel(text: string): { level: string } {
  return { level: level.exec(text)?.[1] ?? "" };
}

function monthOf(name: string): string {
  return String(months.indexOf(name) + 1).padStart(2, "0");
}

/** A time without a year is of the newest year in which it is not more than a day ahead. */
function withoutYear(month: string, day: string, clock: string, nowMs: number): bigint | undefined {
  const year = new Date(nowMs).getUTCFullYear();
  const nanos = isoNanos(`${year}-${month}-${day}T${clock}`);
  const isAhead = nanos !== undefined && nanos / 1_000_000n > BigInt(nowMs + dayMs);
  return isAhead ? isoNanos(`${year - 1}-${month}-${day}T${clock}`) : nanos;
}
