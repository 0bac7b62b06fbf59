/** Bounds of what a language model is asked, and of what it may ask and answer. */

/** Requests of one narrative. */
export const requestsMax = 6;
/** Questions about the telemetry in one answer of the model. */
export const questionsMax = 4;
/** Milliseconds for all requests of one narrative. */
export const narrativeMs = 30_000;
/** Tokens of all requests and answers of one narrative, as the model's server counts them. */
export const tokensMax = 60_000;
/** Tokens of one answer. */
export const answerTokensMax = 1_200;
export const answerBytesMax = 256 * 1_024;
/** Characters of what is found for one question. */
export const foundLengthMax = 4_000;
/** Rows, or series, that one question finds. */
export const rowsMax = 20;
/** Milliseconds of one question. */
export const questionMs = 5_000;
export const sentencesMax = 12;
export const sentenceLengthMax = 400;
