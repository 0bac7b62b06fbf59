/** The six severity ranges of OpenTelemetry, and the spellings of log levels that belong to each. */

/** The names of the ranges, from the least to the most severe (specification, logs data model, "SeverityNumber"). */
export const severityRanges = ["trace", "debug", "info", "warn", "error", "fatal"] as const;
export type SeverityRange = (typeof severityRanges)[number];

/**
 * In lower case. After the appendix "SeverityNumber example mappings" of OpenTelemetry's logs data model, by which syslog's
 * `crit` and `alert` are errors (18 and 19) and `critical` of .NET and Python is fatal (21); with the abbreviations of
 * klog, Serilog and zerolog, the numbers of syslog (0 to 7, as journald and GELF write them) and those of pino and bunyan
 * (10 to 60).
 */
const spellings: Readonly<Record<SeverityRange, readonly string[]>> = {
  trace: ["trace2", "trace3", "trace4", "trc", "t", "finest", "silly", "10"],
  debug: [
    ...["debug2", "debug3", "debug4", "dbg", "d", "fine", "finer", "config", "verbose", "vrb", "http"],
    ...["7", "20"],
  ],
  info: [
    "info2",
    "info3",
    "info4",
    "inf",
    "i",
    "information",
    "informational",
    "notice",
    "success",
    "5",
    "6",
    "30",
  ],
  warn: ["warn2", "warn3", "warn4", "wrn", "w", "warning", "4", "40"],
  error: [
    ...["error2", "error3", "error4", "err", "eror", "e", "severe", "crit", "alert", "dpanic"],
    ...["1", "2", "3", "50"],
  ],
  fatal: ["fatal2", "fatal3", "fatal4", "ftl", "f", "critical", "emerg", "emergency", "panic", "0", "60"],
};

const rangeOfSpelling: ReadonlyMap<string, SeverityRange> = new Map(
  severityRanges.flatMap((range) =>
    [range, ...spellings[range]].map((spelling) => [spelling, range] as const),
  ),
);

/** Returns the range that a level belongs to, whatever its case; undefined for a level that belongs to none. */
export function severityRangeOf(level: string): SeverityRange | undefined {
  return rangeOfSpelling.get(level.toLowerCase());
}

/** Returns whether a text is the name of a range, whatever its case. */
export function isSeverityRange(text: string): boolean {
  const lower = text.toLowerCase();
  return severityRangeOf(lower) === lower;
}
