/** Every limit of connections, requests and answers, each with its reason. */

import { KiB, MiB } from "../model/limits.ts";

/** Bytes of a request's path, query and headers: room for a bearer token of an identity provider. */
export const headBytesMax = 16 * KiB;
/**
 * Bytes of a request's head up to which the library hands it over, so that the answer above `headBytesMax` has the form
 * of the server's other errors. Above it the library answers by itself, in HTML. Each connection may hold this much.
 */
export const headBytesReadMax = 64 * KiB;
/**
 * Bytes of all request bodies being received or processed: bounds memory under any number of clients. The bodies of one
 * caller have no more of them than they leave free.
 */
export const bodyBytesInFlightMax = 256 * MiB;
/** Small chunks of a body are collected in blocks of this size. */
export const bodyBlockBytes = 64 * KiB;
/**
 * Requests being answered; above it the answer is 503 at once, rather than after the deadline. One caller has no more of
 * them than it leaves free.
 */
export const requestsInFlightMax = 4_096;
/** Bytes of a body that are discarded after an early refusal, so that simple clients get to read the answer. */
export const lingerBytesMax = 128 * MiB;
/** Time for which bytes of a body are discarded after an early refusal. */
export const lingerMsMax = 5_000;
/** After an early refusal, a client that sent nothing for this long has stopped sending. */
export const lingerIdleMs = 200;
/** Time for receiving a body: after it the request is dropped, however steadily its bytes trickle in. */
export const bodyReceiveMsMax = 120_000;
/** Time for sending an answer, which holds its rows: after it the client is dropped, however steadily it reads. */
export const answerSendMsMax = 120_000;
/** Time that requests get to finish on SIGTERM: half of what a stop may take. */
export const drainMsMax = 5_000;
/** Requests of one caller per second, except those that send rows: only a faulty program makes more. */
export const requestsPerSecondMax = 5_000;
/** Requests of one caller in a burst, except those that send rows. */
export const requestsBurstMax = 20_000;
/** Requests per second from one address that fail to authenticate. Above it, a valid token is still accepted. */
export const failuresPerSecondMax = 50;
/** Requests in a burst from one address that fail to authenticate. */
export const failuresBurstMax = 1_000;
/** Shorter answers are not compressed: they fit into one packet as they are. */
export const compressedBytesMin = 1_400;
