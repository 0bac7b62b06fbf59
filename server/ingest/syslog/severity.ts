/** Syslog's severities, which journald and GELF have, too. */

/** Names by their number, from 0. They are the levels of rows. */
export const severities = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"] as const;

/** The name of a number from 0 to 7; any other text is a level by itself. */
export function severityText(sent: string): string {
  return /^[0-7]$/.test(sent) ? severities[Number(sent)]! : sent;
}
