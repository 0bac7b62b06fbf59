/** Every limit of connections, requests and answers, each with its reason. */

import { KiB, MiB } from "../model/limits.ts";

/** Bytes of a request's path, query and headers: room for a bearer token of an identity provider. */
export const headBytesMax = 16 * KiB;
/**
 * Bytes of a request's head up to which the library hands it over, so that the answer above `headBytesMax` has the form
 * of the server's other errors. Above it the library answers by itself, in HTML. Each connection may hold this much.
 */
export const headBytesReadMax = 64 * KiB;
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
/** Headers of one request. uWebSockets.js takes no more. */
export const headersMax = 100;
/** Connections of gRPC. An SDK keeps one, a collector a few. */
export const grpcConnectionsMax = 1_024;
/** Calls at once on a connection of gRPC; the client holds back more. Collectors have ten by default. */
export const grpcStreamsMax = 100;
/**
 * Bytes that a client may send on a stream of gRPC before they are read. Each request that waits for room may have them
 * in memory.
 */
export const grpcWindowBytesOfStream = 128 * KiB;
/** Bytes that a client may send on all streams of a connection before the server has received them. */
export const grpcWindowBytesOfConnection = 1 * MiB;
/** Time without a byte of a message of gRPC; then the call is refused. */
export const grpcBodyIdleMsMax = 10_000;
/** Time for which what a client of gRPC still sends is discarded after an early refusal. */
export const grpcRefusalLingerMs = 1_000;
/** Time for which a call of gRPC waits until its message may be read. Clients of OTLP give up after ten seconds. */
export const grpcRoomWaitMsMax = 5_000;
/** How often a call that waits looks whether there is room for its message. */
export const grpcRoomLookMs = 50;
/** Time in which a connection of gRPC has to show that it speaks HTTP/2. */
export const grpcSilentMsMax = 10_000;
/** Time without a call after which a connection of gRPC is closed; the client opens another one with its next call. */
export const grpcIdleMsMax = 300_000;
/** How often connections of gRPC are looked at. */
export const grpcSweepMs = 2_000;
/** Pings of a client between two calls. One every ten seconds, the least that gRPC's own servers take, makes 30. */
export const grpcPingsMax = 100;
/** Time that clients of gRPC get to close their connections when the server stops, after the last answer. */
export const grpcLingerMs = 500;
