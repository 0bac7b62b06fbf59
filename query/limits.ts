/** Every cap of the language, each with its reason. */

/** Characters of a query: generated queries with long lists of values stay far below; parsing this much takes milliseconds. */
export const queryLengthMax = 65_536;
/** Names, texts, numbers and signs of a structured query: the parser takes about 10 µs for each, on the thread that serves others. */
export const tokensMax = 10_000;
/** Brackets inside brackets: the parser recurses once a bracket, and its stack must hold whatever a caller sends. */
export const nestingMax = 100;
/** Operators between series in one query: the tree is as deep as its longest chain, and readers of it recurse. */
export const operatorsMax = 500;
/** Stages behind one selector: every extraction stage reads the message of every row again. */
export const stagesMax = 100;
/** Conditions (matchers, texts, terms) in one query: each costs a look at every row. */
export const conditionsMax = 1_000;
/** Characters of one regular expression: compiling takes up to 0.1 ms a character. */
export const patternLengthMax = 4_096;
/** Characters of all regular expressions of a query together, for the same reason. */
export const patternLengthTotalMax = 8_192;
/** Size of a regular expression once its counted repetitions are written out; a search costs time in proportion. */
export const patternSizeMax = 10_000;
/** Points that a query calculates with at one time: 16 bytes and more each, on the thread that serves others. */
export const pointsMax = 1_000_000;
/** Alternatives up to which a pattern of plain words is searched as words rather than as a pattern. */
export const patternWordsMax = 50;
