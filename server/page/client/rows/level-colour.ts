/** The colours of levels, by the names that senders give them. */

const levelGroups: readonly { pattern: RegExp; colour: string; rank: number }[] = [
  { pattern: /^(fatal|critical|crit|emerg|alert|panic)/, colour: "--level-fatal", rank: 0 },
  { pattern: /^(error|err|severe)/, colour: "--level-error", rank: 1 },
  { pattern: /^warn/, colour: "--level-warn", rank: 2 },
  { pattern: /^(info|notice)/, colour: "--level-info", rank: 3 },
  { pattern: /^debug/, colour: "--level-debug", rank: 4 },
  { pattern: /^trace/, colour: "--level-trace", rank: 5 },
];
const unknown = { colour: "--level-none", rank: 6 };

/** The name of the custom property that holds the level's colour, and how grave it is: 0 is the gravest. */
export function styleOfLevel(level: string): { colour: string; rank: number } {
  const lower = level.toLowerCase();
  return levelGroups.find(({ pattern }) => pattern.test(lower)) ?? unknown;
}
