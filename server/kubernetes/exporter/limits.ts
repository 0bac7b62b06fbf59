/** Every limit of the exporter's synchronisation, each with its reason. */

/** Objects of one request to the hub, which takes no more. */
export const objectsAtOnceMax = 250;
/** JSON characters of one request: the hub takes bodies of two megabytes. */
export const requestCharactersMax = 1_500_000;
/** Pause before a first change is sent: changes that come together share a request. */
export const gatherMs = 100;
/** Pauses after the hub could not be reached: the first, and the longest. */
export const retryMsMin = 500;
export const retryMsMax = 30_000;
/** Answers of the hub that take longer count as lost. Longer than the hub's own deadline. */
export const hubAnswerMsMax = 70_000;
/** Bytes of an answer of the hub: rules of a cluster are the longest. */
export const hubAnswerBytesMax = 64 * 1024 * 1024;
/** Characters of a condition's message: it stands in the output of kubectl. */
export const messageLengthMax = 2_000;
