/** Every limit of the language, each with its reason. "The query thread" is the thread that serves all requests. */

/** Characters of a query. Generated queries with long lists of values stay far below; parsing takes milliseconds. */
export const queryLengthMax = 65_536;
/** Tokens of a structured query. The parser takes about 10 µs for each and blocks the query thread. */
export const tokensMax = 10_000;
/** Depth of nested brackets. The parser recurses once per bracket, and no query may overflow its stack. */
export const nestingMax = 100;
/**
 * Operators between series in one query. A chain of operators makes a tree as deep as it is long, and walking a tree
 * recurses.
 */
export const operatorsMax = 500;
/** Stages of one selector. Every extraction stage reads the message of every row again. */
export const stagesMax = 100;
/** Conditions (matchers, line filter texts, search terms) in one query. Each is evaluated for every row. */
export const conditionsMax = 1_000;
/** Characters of one regular expression. Compiling takes up to 0.1 ms per character. */
export const regexpLengthMax = 4_096;
/** Characters of all regular expressions of a query together. Compiling takes up to 0.1 ms per character. */
export const regexpLengthTotalMax = 8_192;
/** Characters of a regular expression with its counted repetitions written out. Matching takes time in proportion. */
export const regexpSizeMax = 10_000;
/** Seconds of a window or an offset: ten years, more than any store keeps. */
export const durationMax = 315_360_000;
/** Windows that are each read by themselves, as quantiles and averages are. Each read takes a millisecond or more. */
export const windowReadsMax = 2_000;
/** Points that a query holds at one time. Each takes 16 bytes or more of the query thread's memory. */
export const pointsMax = 1_000_000;
/** Rows that a stage over several rows puts in order. Each takes some 50 bytes of the query thread's memory. */
export const orderedRowsMax = 2_000_000;
/** How many rows away `lag` and `lead` look. Each row takes as many steps. */
export const assignedRowsMax = 100;
/** Words of a pattern such as `a|b|c`. Up to this many are searched as a list of words, not as a regular expression. */
export const regexpWordsMax = 50;
