/** Reads the time and the level at the beginning of a line of plain text. Times without a zone are UTC. */

import { isoNanos } from "../iso-time.ts";
import { readTime } from "./log-time.ts";

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
const apacheError =
  /^\[[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d(?:\.\d+)?) (\d{4})\] \[(?:\w*:)?(\w+)\]/;
const ruby = /^[DIWEFA], \[(\S{19,40}) #\d+\] {1,2}(\w+) -- /;
const logfmt = /^(?:time|ts|t|timestamp)=(?:"([^"]{1,64})"|(\S{1,64}))(?= |$)/;
const logfmtLevel = /(?:^| )(?:level|lvl|severity)="?(\w+)/;
const syslog = /^(?:<\d{1,3}>)?([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d) /;
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const levels =
  "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|SEVERE|FATAL|CRIT|CRITICAL|ALERT|EMERG|PANIC|LOG" as const;
/** How much of a line after its time is searched for a level, in characters. */
const levelWithin = 200;
/** A level as the first word. */
const firstLevel = new RegExp(`^[\\s[(<-]{0,20}(${levels})\\b`, "i");
/** In capitals as one of the first words: threads, loggers and numbers may stand before it. */
const capitalLevel = new RegExp(`^\\s*(?:\\S+\\s+){1,5}?[[(<|]?(${levels})(?=[\\])>|:,\\s]|$)`);
/** In brackets or before a colon as one of the first words. */
const markedLevel = new RegExp(
  `^\\s*(?:\\S+\\s+){1,5}?(?:[[(<](${levels})[\\])>]|(${levels}):)(?=\\s|$)`,
  "i",
);
const klogLevels: Readonly<Record<string, string>> = { I: "info", W: "warn", E: "error", F: "fatal" };
const dayMs = 86_400_000;

/** Reads a line. Its message is the whole line; for a line of CRI, the part after the head. */
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
  const [, errorMonth, errorDay, errorClock, errorYear, errorLevel] = apacheError.exec(line) ?? [];
  if (errorYear !== undefined) {
    const date = `${errorYear}-${monthOf(errorMonth!)}-${errorDay!.padStart(2, "0")}`;
    return { form: "Apache's error log", timeNs: isoNanos(`${date}T${errorClock}`), level: errorLevel! };
  }
  const [, rubyTime, rubyLevel] = ruby.exec(line) ?? [];
  if (rubyTime !== undefined) return { form: "Ruby's logger", timeNs: isoNanos(rubyTime), level: rubyLevel! };
  const [, quotedTime, bareTime] = logfmt.exec(line) ?? [];
  const pairsTime = readTime(quotedTime ?? bareTime);
  if (pairsTime !== undefined) {
    return { form: "logfmt", timeNs: pairsTime.nanos, level: logfmtLevel.exec(line)?.[1] ?? "" };
  }
  const [syslogHead, syslogMonth, syslogDay, syslogClock] = syslog.exec(line) ?? [];
  if (syslogMonth !== undefined) {
    const timeNs = withoutYear(monthOf(syslogMonth), syslogDay!.padStart(2, "0"), syslogClock!, nowMs);
    return { form: "syslog file", timeNs, ...readLevel(line.slice(syslogHead!.length)) };
  }
  const [, pairsLevel] = logfmtLevel.exec(line.slice(0, levelWithin)) ?? [];
  const level = pairsLevel === undefined ? readLevel(line) : { level: pairsLevel };
  return { form: "text without times", timeNs: undefined, ...level };
}

function readLevel(text: string): { level: string } {
  const head = text.slice(0, levelWithin);
  const [, first, second] = firstLevel.exec(head) ?? capitalLevel.exec(head) ?? markedLevel.exec(head) ?? [];
  return { level: first ?? second ?? "" };
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
