/** Parses one syslog message (RFC 5424, RFC 3164, or rsyslog's own forwarding format) into a log row. */

import type { LogRow } from "../../../engine/index.ts";
import { isoNanos } from "../iso-time.ts";
import type { RowSink } from "../row-sink.ts";
import { severities } from "./severity.ts";

/** Names of the facilities by their number (RFC 5424, section 6.2.1), as syslog.h calls them. */
const facilities = [
  ..."kern user mail daemon auth syslog lpr news uucp cron authpriv ftp ntp audit alert clock".split(" "),
  ..."local0 local1 local2 local3 local4 local5 local6 local7".split(" "),
];
const priorityMax = facilities.length * severities.length - 1;

const priority = /^<(\d{1,3})>/;
const header5424 = /^1 (\S+) (\S+) (\S+) (\S+) (\S+) ?/;
const header3164 =
  /^(?:([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d)|(\d{4}-\d\d-\d\dT\S+)) (?:([\w.:-]+) )?/;
const tag3164 = /^([^\s:[\]]{1,128})(?:\[([^\]\s]{0,128})\])?: ?/;
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const dayMs = 86_400_000;

/** Makes a row of a message. A text that is not syslog becomes the row's message as a whole. */
export function readMessageRow(text: string, sink: RowSink): LogRow {
  const attributes: Record<string, string> = Object.create(null);
  const [matched = "", number] = priority.exec(text) ?? [];
  const value = Number(number ?? -1);
  const isPriority = value >= 0 && value <= priorityMax;
  const rest = isPriority ? text.slice(matched.length) : text;
  if (isPriority) {
    attributes["syslog.facility"] = facilities[value >> 3]!;
    attributes["syslog.severity"] = severities[value & 7]!;
  }
  const level = isPriority ? severities[value & 7]! : "";
  const header = header5424.exec(rest);
  const read =
    header === null ? read3164(rest, attributes, sink.arrivalMs) : read5424(header, rest, attributes);
  return { level, attributes, message: read.message, timeNs: read.timeNs ?? sink.arrivalNs() };
}

interface ParsedMessage {
  message: string;
  timeNs: bigint | undefined;
}

function putAttribute(attributes: Record<string, string>, key: string, text: string | undefined): void {
  if (text !== undefined && text !== "" && text !== "-") attributes[key] = text;
}

function read5424(header: RegExpExecArray, text: string, attributes: Record<string, string>): ParsedMessage {
  const [matched, time = "", host, application, process, message] = header;
  putAttribute(attributes, "host.name", host);
  putAttribute(attributes, "service.name", application);
  putAttribute(attributes, "syslog.procid", process);
  putAttribute(attributes, "syslog.msgid", message);
  const at = readStructure(text, matched.length, attributes);
  return { message: text.slice(at).replace(/^ ?\ufeff?/, ""), timeNs: isoNanos(time) };
}

const elementStart = /\[([^\s=\]"]{1,128})/y;
const parameter = /\s+([^\s=\]"]{1,128})="((?:[^"\\\]]|\\.)*)"/sy;

/**
 * Reads structured data into attributes `<id>.<name>`. Returns the position after the last element, before the first
 * element without an id, or `from` where an element is malformed.
 */
function readStructure(text: string, from: number, attributes: Record<string, string>): number {
  if (text[from] === "-") return from + 1;
  let at = from;
  while (text[at] === "[") {
    elementStart.lastIndex = at;
    const [, id] = elementStart.exec(text) ?? [];
    if (id === undefined) return at;
    at = elementStart.lastIndex;
    parameter.lastIndex = at;
    for (let match = parameter.exec(text); match !== null; match = parameter.exec(text)) {
      attributes[`${id}.${match[1]}`] = match[2]!.replace(/\\(["\\\]])/g, "$1");
      at = parameter.lastIndex;
    }
    if (text[at] !== "]") return from;
    at++;
  }
  return at;
}

function read3164(text: string, attributes: Record<string, string>, arrivalMs: number): ParsedMessage {
  const header = header3164.exec(text);
  const [matched = "", month, day, hours, minutes, seconds, iso, host] = header ?? [];
  putAttribute(attributes, "host.name", host);
  const rest = text.slice(matched.length);
  const [tag = "", application, process] = header === null ? [] : (tag3164.exec(rest) ?? []);
  putAttribute(attributes, "service.name", application);
  putAttribute(attributes, "syslog.procid", process);
  const ms =
    month === undefined ? undefined : toLocalMs(month, [day, hours, minutes, seconds].map(Number), arrivalMs);
  const timeNs = iso === undefined ? (ms === undefined ? undefined : BigInt(ms) * 1_000_000n) : isoNanos(iso);
  return { message: rest.slice(tag.length), timeNs };
}

/**
 * Milliseconds of a time that has neither year nor zone: in the server's zone, and in the latest year in which it is
 * less than a day ahead.
 */
function toLocalMs(
  month: string,
  [day = 1, hours, minutes, seconds]: number[],
  arrivalMs: number,
): number | undefined {
  const monthIndex = months.indexOf(month);
  if (monthIndex < 0) return undefined;
  const year = new Date(arrivalMs).getFullYear() + 1;
  for (let back = 0; back < 3; back++) {
    const ms = new Date(year - back, monthIndex, day, hours, minutes, seconds).getTime();
    if (ms < arrivalMs + dayMs) return ms;
  }
  return undefined;
}
