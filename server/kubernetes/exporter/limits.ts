/** Every limit of the exporter's synchronisation, each with its reason. */

/** Objects of one request to the hub, which takes no more. */
export const objectsAtOnceMax = 250;
/** JSON bytes of one request: the hub takes bodies of two megabytes. */
export const requestBytesMax = 1_500_000;
/** Names of one part of a sweep: the hub takes twice as many. */
export const keptNamesMax = 10_000;
/** JSON bytes around a namespace and a name. */
export const nameBytesAround = 30;
/** JSON bytes that a deletion takes of a request, at most: a kind, a namespace and a name. */
export const removalBytes = 500;
/** Pause before a first change is sent: changes that come together share a request. */
export const gatherMs = 100;
/** Pauses after the hub could not be reached: the first, and the longest. */
export const retryMsMin = 500;
export const retryMsMax = 30_000;
/**
 * An object that the hub cannot take now is sent again after this time at the latest. Longer than the pauses above: objects
 * beyond a quota may be thousands, and are refused one by one. Chosen, not measured.
 */
export const putOffMsMax = 60_000;
/** Answers of the hub that take longer count as lost. Longer than the hub's own deadline. */
export const hubAnswerMsMax = 70_000;
/** Bytes of an answer of the hub: rules of a cluster are the longest. */
export const hubAnswerBytesMax = 64 * 1024 * 1024;
/** Characters of a condition's message: it stands in the output of kubectl. */
export const messageLengthMax = 2_000;
/** Objects whose status is written at a time. */
export const statusesAtOnce = 8;
/** The same warning is not recorded twice in this time: API servers keep Events for an hour. */
export const eventRepeatMs = 3_600_000;
/** Warnings that are remembered for that, so that memory is bounded. */
export const eventsRememberedMax = 10_000;
/** Characters of an Event's message: API servers take no more. */
export const eventMessageLengthMax = 1_024;
/** Documents of one key of a ConfigMap. */
export const documentsMax = 200;
/** Everything is sent to the hub again after this time, changed or not. */
export const resendMs = 3_600_000;
/** Node agents ask for the ingestion rules this often, with jitter: 100 nodes ask ten times a second. */
export const rulesMs = 10_000;
/** The same line of a node agent's log is written once in this time, of so many lines. */
export const sameLineMs = 300_000;
export const linesRememberedMax = 1_000;
/** How long the agent of a node waits for the list of its pods before it reads logs and metrics without it. */
export const podsWaitMsMax = 15_000;
export const podsPollMs = 50;
