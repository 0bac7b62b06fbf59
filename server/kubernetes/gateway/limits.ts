/** Every limit of the gateway, with its reason. Bodies have the limits of `server/ingest/limits.ts`. */

import { MiB } from "../../model/limits.ts";

/**
 * Time for which bodies are held until the first rules arrive; senders give up after 10 s by default
 * (OTEL_EXPORTER_OTLP_TIMEOUT).
 */
export const holdMsMax = 5_000;
/** Bytes of bodies that are held until the first rules arrive. */
export const heldBytesMax = 32 * MiB;
/** Bytes of all bodies that are received or worked on. Above it the answer is 503. */
export const bytesInFlightMax = 128 * MiB;
/** Requests that are received or worked on, besides their bytes. */
export const requestsInFlightMax = 1_024;
/** Time in which a request's body must arrive: a slower sender holds its place for others. */
export const receiveMsMax = 30_000;
/** Path, query and headers of a request: OTLP has short ones. */
export const headBytesMax = 16 * 1024;
/**
 * Time that the hub has to answer a body while its sender waits; then the body goes to the disk. Below the 10 s after
 * which senders give up.
 */
export const directMsMax = 4_000;
/** Time that the hub has to answer a body from the disk; the hub itself gives up after 60 s. */
export const forwardMsMax = 90_000;
/** Bytes of an answer of the hub that are read: an OTLP answer is a sentence. */
export const answerBytesMax = 64 * 1024;
/** Waits between tries are random up to a bound, which doubles from the first of these to the second. */
export const retryMsFirst = 200;
export const retryMsMax = 30_000;
/** The longest pause that a hub can ask for: a wrong Retry-After must not stop a cluster for a day. */
export const retryAfterMsMax = 300_000;
/** Bytes on disk while the hub is away, where the settings name no others: 8 MiB/min of packed bodies for two hours. */
export const bufferBytesDefault = 1024 * MiB;
/** Share of the buffer from which on rows that are kept elsewhere wait there, such as lines of log files. */
export const waitingShare = 0.75;
/** Bytes of one segment of the buffer, at most: what overflows is dropped by segments. */
export const segmentBytesMax = 16 * MiB;
/** Share of the buffer that one segment may have, so that a small buffer does not drop half of what it holds. */
export const segmentsMin = 8;
/** Bodies from this size on are packed again when they were changed: smaller ones gain nothing. */
export const packBytesMin = 1_024;
