/** Makes rows of records, in the form that `POST /api/v1/ingest/logs` takes. */

import { isoNanos } from "../../ingest/iso-time.ts";
import { flattenMessage } from "../../ingest/json/flat-message.ts";
import { jsonAttributesMax, jsonLengthMax, jsonTimeDriftMs } from "./limits.ts";
import { streamNames } from "./log-line.ts";
import { millisOf } from "./log-time.ts";
import type { PodName } from "./pod-folder.ts";
import { attributesOfPod, type PodInfo } from "./pod-lookup.ts";
import type { TailedRecord } from "./record-assembler.ts";

/** One log row. `attributes` may be shared with other rows. */
export interface TailRow {
  /** Nanoseconds since the epoch, as digits. Absent where the line has no time: then the time of arrival counts. */
  timeUnixNano?: string;
  log_level: string;
  message: string;
  attributes: Readonly<Record<string, string>>;
}

/** Keys of a JSON line that hold its time: the first that can be read. */
const timeKeys = ["time", "timestamp", "ts", "@timestamp"];
/** Time units of numbers that log libraries write: seconds, milliseconds, microseconds and nanoseconds. */
const unitsPerSecond = [1, 1e3, 1e6, 1e9];

/** Makes the rows of one container. */
export class RowMaker {
  readonly #pod: PodName;
  readonly #container: string;
  readonly #node: string;
  #info: PodInfo | undefined;
  /** Attributes of the rows of each stream. */
  #attributes: readonly Record<string, string>[] = [];

  constructor(pod: PodName, container: string, node: string) {
    this.#pod = pod;
    this.#container = container;
    this.#node = node;
    this.setInfo(undefined);
  }

  /** Sets what is known of the pod, for the rows from now on. */
  setInfo(info: PodInfo | undefined): void {
    if (info === this.#info && this.#attributes.length > 0) return;
    this.#info = info;
    const pod = attributesOfPod(this.#pod, info);
    this.#attributes = streamNames.map((stream) =>
      Object.freeze({
        ...pod,
        "k8s.container.name": this.#container,
        "k8s.node.name": this.#node,
        stream,
      }),
    );
  }

  make({ stream, time, message, lines, cutBytes }: TailedRecord): TailRow {
    const base = this.#attributes[stream]!;
    const attributes = cutBytes > 0 ? { ...base, "svc.cut": String(cutBytes) } : base;
    const canBeJson = lines === 1 && message.charCodeAt(0) === 0x7b && message.length <= jsonLengthMax;
    const row = canBeJson ? flatten(time, message, attributes) : undefined;
    return row ?? makeRow(time, "", message, attributes);
  }
}

/** Reads a JSON line as the server does where it is asked to, and its time. Undefined where it stays text. */
function flatten(
  time: string,
  text: string,
  attributes: Readonly<Record<string, string>>,
): TailRow | undefined {
  const given = { timeNs: 0n, level: "", message: text, attributes };
  const flat = flattenMessage(given);
  if (flat === given || Object.keys(flat.attributes).length > jsonAttributesMax) return undefined;
  const isLong = Object.keys(flat.attributes).some((key) => Buffer.byteLength(key) > keyBytesMax);
  if (isLong || flat.level.length > levelLengthMax) return undefined;
  return makeRow(timeInside(flat.attributes, time) ?? time, flat.level, flat.message, flat.attributes);
}

/** Longer keys and levels are refused by the server. */
const keyBytesMax = 1_024;
const levelLengthMax = 64;

function makeRow(
  time: string,
  level: string,
  message: string,
  attributes: Readonly<Record<string, string>>,
): TailRow {
  const row = { log_level: level, message, attributes };
  return time === "" ? row : { timeUnixNano: time, ...row };
}

/** The time that a JSON line names, where it is close to the one that the runtime gave. */
function timeInside(attributes: Readonly<Record<string, string>>, time: string): string | undefined {
  if (time === "") return undefined;
  for (const key of timeKeys) {
    const text = attributes[key];
    const nanos = text === undefined || text.length > 40 ? undefined : nanosOfText(text);
    if (nanos === undefined) continue;
    if (Math.abs(millisOf(nanos) - millisOf(time)) <= jsonTimeDriftMs) return nanos;
  }
  return undefined;
}

function nanosOfText(text: string): string | undefined {
  // A time without a zone may be of any zone.
  if (/(?:[Zz]|[+-]\d\d:?\d\d)$/.test(text) && text.includes(":")) {
    const nanos = isoNanos(text);
    return nanos !== undefined && nanos >= 0n ? String(nanos) : undefined;
  }
  const [, whole, fraction = ""] = /^(\d{10,19})(?:\.(\d{1,9}))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  // Ten digits are seconds until the year 2286, and each further three a finer unit.
  const unit = unitsPerSecond[Math.floor((whole.length - 10) / 3)]!;
  const digits = 9 - Math.round(Math.log10(unit));
  return whole + fraction.slice(0, digits).padEnd(digits, "0");
}
