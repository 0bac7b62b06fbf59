/** Flags of `svc serve` for admission: how many rows a sender may send, how large and how old rows may be. */

import type { IngestSettings } from "../../ingest/part.ts";
import { type Settings, takeLast } from "./flag.ts";
import { ageFlag, sizeFlag } from "./shared-flags.ts";
import { parseInteger, parseSize, UsageError } from "./units.ts";

/** A smaller limit would not hold the attribute names of a row. */
const rowBytesMin = 1024;
const largeRows = ["refuse", "cut"] as const;

export const admissionFlags = {
  "ingest-rows-per-second": {
    placeholder: "N",
    help: "rows that one token may send a second, on average over ten seconds, where the token says nothing else",
    defaultText: "any number",
    parse: takeLast((text: string) => parseInteger(text, 1, 1_000_000_000)),
  },
  "ingest-bytes-per-second": {
    ...sizeFlag,
    help: "the same for bytes of bodies, unpacked",
    defaultText: "any number",
  },
  "row-bytes-max": {
    placeholder: "SIZE",
    help: "the largest row: level, message and attributes together",
    defaultText: "2MiB of message beside the attributes",
    parse: takeLast((text: string) => {
      const bytes = parseSize(text);
      if (bytes < rowBytesMin) throw new UsageError(`a size of ${rowBytesMin} bytes or more`);
      return bytes;
    }),
  },
  "large-rows": {
    placeholder: "WHAT",
    help: "what becomes of logs that are larger: refuse, or cut, which shortens the message and notes its length in svc.cut",
    default: "refuse",
    parse: takeLast((text: string) => {
      const found = largeRows.find((each) => each === text);
      if (found === undefined) throw new UsageError(`one of ${largeRows.join(", ")}`);
      return found;
    }),
  },
  "accept-past": {
    ...ageFlag,
    help: "refuses rows that are further behind the clock",
    defaultText: "all since 1970 are taken",
  },
  "accept-future": { ...ageFlag, help: "refuses rows that are further ahead of the clock", default: "1d" },
  "clock-skew": {
    ...ageFlag,
    help: "counts rows in /metrics that are further off the clock, either way",
    default: "1h",
  },
} as const;

export function admissionSettings(
  settings: Settings<typeof admissionFlags>,
): Required<Pick<IngestSettings, "admission" | "senderLimits">> {
  return {
    admission: {
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
