/** The colours of levels, which are those of their severity ranges (query/README.md, Levels), and of words like them. */

const levelGroups: readonly { pattern: RegExp; colour: string; rank: number }[] = [
  { pattern: /^(?:fatal|critical|emerg|panic)|^(?:ftl|f|60|0)$/, colour: "--level-fatal", rank: 0 },
  { pattern: /^(?:err|eror|severe|crit|alert|dpanic)|^(?:e|50|[1-3])$/, colour: "--level-error", rank: 1 },
  { pattern: /^(?:warn|wrn)|^(?:w|40|4)$/, colour: "--level-warn", rank: 2 },
  { pattern: /^(?:inf|notice|success)|^(?:i|30|[56])$/, colour: "--level-info", rank: 3 },
  {
    pattern: /^(?:debug|dbg|finer?$|config|verbose|vrb|http)|^(?:d|20|7)$/,
    colour: "--level-debug",
    rank: 4,
  },
  { pattern: /^(?:trace|trc|finest|silly)|^(?:t|10)$/, colour: "--level-trace", rank: 5 },
];
const unknown = { colour: "--level-none", rank: 6 };

/** The name of the custom property that holds the level's colour, and how grave it is: 0 is the gravest. */
export function styleOfLevel(level: string): { colour: string; rank: number } {
  const lower = level.toLowerCase();
  return levelGroups.find(({ pattern }) => pattern.test(lower)) ?? unknown;
}
