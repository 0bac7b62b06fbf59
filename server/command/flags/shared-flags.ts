/** Flags that several commands share. */

import { isTimeZone } from "../../model/time-zone.ts";
import { parseSwitch, parseText, takeLast } from "./flag.ts";
import { parseAge, parseSize, parseTime, parseUrl, UsageError } from "./units.ts";
import { Zone } from "./zone.ts";

/** The parts that flags of one kind have in common. */
export const switchFlag = { placeholder: null, default: "false", parse: takeLast(parseSwitch) } as const;
export const ageFlag = { placeholder: "AGE", parse: takeLast(parseAge) } as const;
export const sizeFlag = { placeholder: "SIZE", parse: takeLast(parseSize) } as const;
/** As the engine has it, which is loaded by commands that need it alone. */
export const memoryBytesMin = 440 * 2 ** 20;

/** What a process may take that opens a data folder. */
export const memoryFlag = {
  placeholder: "SIZE",
  parse: takeLast((text: string) => {
    const bytes = parseSize(text);
    if (bytes < memoryBytesMin) throw new UsageError("a size of 440MiB or more");
    return bytes;
  }),
  help: "memory that the whole process may take, 440MiB or more; it decides on threads, caches, queues and chunks",
  defaultText: "half of the machine's, or of the container's",
} as const;
export const timeFlag = {
  placeholder: "TIME",
  parse: takeLast((text: string) => parseTime(text, Date.now())),
} as const;

/** A time whose zone another flag says. */
export const zonedTimeFlag = {
  placeholder: "TIME",
  parse: takeLast((text: string) => {
    const nowMs = Date.now();
    parseTime(text, nowMs);
    return (zone: Zone) => parseTime(text, nowMs, zone);
  }),
} as const;

/** In which zone times are read and printed. */
export const zoneFlags = {
  zone: {
    placeholder: "ZONE",
    help: "prints times in this zone, such as Europe/Berlin, or local; times in flags are of it too",
    default: "UTC",
    parse: takeLast(parseZone),
  },
  utc: { ...switchFlag, help: "prints times in UTC whatever SVC_ZONE says" },
} as const;

function parseZone(text: string): Zone {
  if (text === "local") return new Zone(Intl.DateTimeFormat().resolvedOptions().timeZone);
  if (!isTimeZone(text))
    throw new UsageError("the IANA name of a time zone such as Europe/Berlin, UTC or local");
  return new Zone(text);
}

export const dataFlag = {
  placeholder: "DIR",
  help: "the data folder",
  default: "./data",
  parse: takeLast(parseText),
} as const;

export const configFlag = {
  placeholder: "FILE",
  help: "a YAML file with settings",
  defaultText: "none",
  parse: takeLast(parseText),
} as const;

export const jsonFlag = {
  ...switchFlag,
  help: "prints one JSON object a line, as the API gives it",
} as const;

/** Flags of commands that call a running server: its address and the token. */
export const serverFlags = {
  url: {
    placeholder: "URL",
    help: "the server",
    defaultText: "the one that has the data folder open, else http://127.0.0.1:8080",
    parse: takeLast(parseUrl),
  },
  token: {
    placeholder: "TOKEN",
    help: "the token to send",
    defaultText: "the admin-token file of the data folder, for the server that has it open",
    isSecret: true,
    parse: takeLast(parseText),
  },
  data: {
    ...dataFlag,
    help: "the data folder that names the server and its admin token where they are not given",
  },
  timeout: {
    ...ageFlag,
    help: "gives up where the server sends nothing for so long; more than its --query-deadline",
    default: "1m",
  },
  config: configFlag,
} as const;

/** Throws UsageError where a command whose only place is the data folder is given operands. */
export function refuseOperands(command: string, [operand]: readonly string[]): void {
  if (operand === undefined) return;
  throw new UsageError(`${command} takes no ${JSON.stringify(operand)}: the folder goes after --data`);
}
