/** What `svc serve` can be told of rows on their way in: how many, how large, how old. */

import type { AdmissionSettings, SenderLimits } from "../../ingest/admission-settings.ts";
import type { Settings } from "./flag.ts";
import { one } from "./flag.ts";
import { parseAge, parseInteger, parseSize, UsageError } from "./units.ts";

/** Less would not hold the names of a row. */
const rowBytesMin = 1024;
const largeRows = ["refuse", "cut"] as const;

export const admissionFlags = {
  "ingest-rows-per-second": {
    value: "N",
    help: "rows that one token may send a second, on average over ten seconds, where the token says nothing else",
    defaultSays: "any number",
    parse: one((text: string) => parseInteger(text, 1, 1_000_000_000)),
  },
  "ingest-bytes-per-second": {
    value: "SIZE",
    help: "the same for bytes of bodies, unpacked",
    defaultSays: "any number",
    parse: one(parseSize),
  },
  "row-bytes-max": {
    value: "SIZE",
    help: "the largest row: level, message and attributes together",
    defaultSays: "2MiB of message beside the attributes",
    parse: one((text: string) => {
      const bytes = parseSize(text);
      if (bytes < rowBytesMin) throw new UsageError(`a size of ${rowBytesMin} bytes or more`);
      return bytes;
    }),
  },
  "large-rows": {
    value: "WHAT",
    help: "what becomes of logs that are larger: refuse, or cut, which shortens the message and notes its length in svc.cut",
    default: "refuse",
    parse: one((text: string) => {
      const found = largeRows.find((each) => each === text);
      if (found === undefined) throw new UsageError(`one of ${largeRows.join(", ")}`);
      return found;
    }),
  },
  "accept-past": {
    value: "AGE",
    help: "refuses rows that are further behind the clock",
    defaultSays: "all since 1970 are taken",
    parse: one(parseAge),
  },
  "accept-future": {
    value: "AGE",
    help: "refuses rows that are further ahead of the clock",
    default: "1d",
    parse: one(parseAge),
  },
  "clock-skew": {
    value: "AGE",
    help: "counts rows in /metrics that are further off the clock, either way",
    default: "1h",
    parse: one(parseAge),
  },
} as const;

export function admissionSettings(settings: Settings<typeof admissionFlags>): {
  entry: AdmissionSettings;
  senderLimits: SenderLimits;
} {
  return {
    entry: {
      acceptPastMs: settings["accept-past"] ?? undefined,
      acceptFutureMs: settings["accept-future"],
      clockSkewMs: settings["clock-skew"],
      rowBytesMax: settings["row-bytes-max"] ?? undefined,
      cutsLargeRows: settings["large-rows"] === "cut",
    },
    senderLimits: {
      rowsPerSecond: settings["ingest-rows-per-second"],
      bytesPerSecond: settings["ingest-bytes-per-second"],
    },
  };
}
