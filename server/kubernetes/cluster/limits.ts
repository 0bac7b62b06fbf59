/** Every limit of the client of an API server, each with its reason. */

const MiB = 1024 * 1024;

/** Objects of one page of a list: a page of alerts takes about half a megabyte. */
export const pageObjectsMax = 500;
/** Bytes of an answer, and of one event of a watch. An object has at most 1.5 MiB in etcd; a page may have 500. */
export const answerBytesMax = 256 * MiB;
export const eventBytesMax = 16 * MiB;
/** An answer that takes longer counts as lost. API servers give up after 60 seconds themselves. */
export const answerMsMax = 70_000;
/** A watch ends after so many seconds by the server, with jitter, so that watches do not end together. */
export const watchSecondsMin = 50;
export const watchSecondsMax = 60;
/** A watch that the server has not ended by then is silent for ever: its connection is lost. */
export const watchGraceMs = 10_000;
/** Everything is listed anew after this time: a change that no watch told of is found. */
export const relistMs = 600_000;
/** Pauses after a failure: the first and the longest. */
export const retryMsMin = 200;
export const retryMsMax = 30_000;
/** The longest pause that an API server can ask for: a wrong Retry-After must not stop a cluster for a day. */
export const retryAfterMsMax = 300_000;
/** A watch that lived this long was healthy: the next failure is the first again. */
export const healthyMsMin = 10_000;
/** A watch that ends sooner without an event counts as failed. Milliseconds. */
export const watchMsMin = 1_000;
/** A kind that the API server does not know or that may not be read is asked for again after this time. */
export const absentKindMs = 60_000;
/** A service account's token is read anew after this time: it is rotated about hourly. */
export const tokenMsMax = 30_000;
/** TCP keep-alive: half-open connections are found although watches are silent. */
export const keepAliveMs = 15_000;
