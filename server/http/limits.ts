/** Every cap of connections, requests and answers, each with its reason. */

const KiB = 1024;
const MiB = 1024 * KiB;

/** Header block of a request: room for a bearer token of an identity provider. */
export const headerBytesMax = 16 * KiB;
/** Bytes of all request bodies that are being received or worked on: bounds memory under any number of clients. */
export const bodyBytesInFlightMax = 256 * MiB;
/** Requests being answered at once; beyond it the answer is 503 at once rather than after the deadline. */
export const requestsInFlightMax = 4_096;
/** After an early refusal the rest of a body is thrown away up to here, so that simple clients get to read the answer. */
export const lingerBytesMax = 128 * MiB;
export const lingerMsMax = 5_000;
/** A client that has sent nothing for this long after an early refusal has stopped sending. */
export const lingerIdleMs = 200;
/** A request whose body has not arrived whole after this time is dropped, however steadily it trickles. */
export const bodyReceiveMsMax = 120_000;
/** An answer that has not been read whole after this time is given up, however steadily it trickles: it holds its rows. */
export const answerSendMsMax = 120_000;
/** On SIGTERM, requests that are being answered get this long. */
export const drainMsMax = 20_000;
/** Requests of one caller a second, and at once, but for those that send rows: more are made by a program gone wrong. */
export const requestsPerSecondMax = 5_000;
export const requestsBurstMax = 20_000;
/** Requests from one address that fail to say who asks; a right token from there is taken all the same. */
export const failuresPerSecondMax = 50;
export const failuresBurstMax = 1_000;
