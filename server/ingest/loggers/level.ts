/** Finds the level of a row under the names that loggers and agents give it. */

import { severityRanges } from "../../../engine/index.ts";
import { scalarText } from "../json/json-row.ts";
import { severityIndex } from "../otlp/severity.ts";

/** In the order of preference. */
export const levelNames = [
  ...["log_level", "level", "log.level", "severity", "severity_text", "severityText", "detected_level"],
  ...[
    "levelname",
    "loglevel",
    "lvl",
    "@l",
    "LogLevel",
    "Level",
    "@fields.level",
    "syslog_severity",
    "PRIORITY",
  ],
] as const;
/** OpenTelemetry's number, of rows without a text. */
export const severityNumberNames = ["severity_number", "severityNumber"] as const;

/** The place of each name in the order of preference. */
export const levelRanks: ReadonlyMap<string, number> = new Map(
  [...levelNames, ...severityNumberNames].map((name, rank) => [name, rank]),
);
/** From this place on a level is a number that stands for a text. */
export const levelNumberRank = levelNames.length;

/** A level and the name under which it was found. */
interface FoundLevel {
  name: string;
  text: string;
}

/** The first level that is not empty; `valueUnder` gives the value under a name. A level stays what it is, a number too. */
export function findLevel(valueUnder: (name: string) => unknown): FoundLevel | undefined {
  for (const name of levelNames) {
    const text = textOfLevel(valueUnder(name));
    if (text !== "") return { name, text };
  }
  for (const name of severityNumberNames) {
    const text = severityRanges[severityIndex(Number(scalarText(valueUnder(name))))];
    if (text !== undefined) return { name, text };
  }
  return undefined;
}

/** The level among a row's attributes; "" for none. It stays an attribute, too. */
export function levelOfAttributes(attributes: Readonly<Record<string, string>>): string {
  return findLevel((name) => (Object.hasOwn(attributes, name) ? attributes[name] : undefined))?.text ?? "";
}

/** The text of a level; "" for what is none. */
export function textOfLevel(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
