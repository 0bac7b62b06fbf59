/** Every cap of ingestion, each with its reason. */

const KiB = 1024;
const MiB = 1024 * KiB;

/** One body of telemetry on the wire. Agents send 1 to 10 MiB. */
export const ingestBodyBytesMax = 32 * MiB;
/** The same body unpacked: 4 to 8 times is usual, and one worker holds it whole. */
export const ingestUnpackedBytesMax = 128 * MiB;
/** Rows of one body: the smallest has three bytes, and takes some hundred in memory while it is decoded. */
export const ingestRowsMax = 1_000_000;
/** Distinct attribute keys of one body: each is a column of its batch for a moment, at about 2 KiB. */
export const ingestKeysMax = 131_072;
/** Bytes of small bodies that are decoded in one trip to a worker: a trip costs as much as some hundred rows. */
export const decodeGroupBytes = 1 * MiB;
/** Bodies in one trip. */
export const decodeGroupBodies = 64;
/** Bytes of bodies that wait for a decoding thread; beyond it the answer is 503 rather than a long wait. */
export const decodeWaitingBytesMax = 256 * MiB;
/** Refused rows that an answer lists; the count is always whole. */
export const refusedRowsListed = 100;
/** Objects inside objects whose members become attributes; what is nested deeper stays JSON text, as in the language. */
export const flatDepthMax = 32;
/** Keys are kept in memory by the hundred thousand. */
export const idempotencyKeyLengthMax = 256;
/** Attributes of one row at which flattening is given up; the engine's own cap is lower and gives the better reason. */
export const flatKeysMax = 10_000;
/** A sender's bound on rows and bytes holds on average over so many seconds: agents send what gathered during an outage at once. */
export const senderBurstSeconds = 10;
/** Senders whose rate is remembered, about 300 bytes each. */
export const rateLimitedSendersMax = 20_000;
/** How long a body is known again by the name that its sender gave it: a retry may come after a night's outage. */
export const namedKeyAgeMs = 24 * 60 * 60 * 1000;
/** And by its content alone, where every row has its own time: long enough for retries of agents that name nothing. */
export const contentKeyAgeMs = 60 * 60 * 1000;
/** Events, and links, of one span as JSON text: what the engine takes as one value. */
export const spanListBytesMax = 256 * KiB;
/** One message of syslog; longer lines are cut, longer counted messages end the connection. */
export const syslogMessageBytesMax = 1 * MiB;
/** Messages of syslog are stored together: each batch waits for the disk. */
export const syslogBatchMs = 50;
export const syslogBatchBytesMax = 1 * MiB;
/** Messages of syslog that wait to be stored: beyond it TCP waits and UDP is dropped. */
export const syslogWaitingBytesMax = 32 * MiB;
/** Connections of syslog: each may hold a message that is not whole. */
export const syslogConnectionsMax = 1_024;
/** Metric families whose type is remembered for remote write, about 200 bytes each on every thread. */
export const metricFamiliesMax = 50_000;
/**
 * Bytes that the rows of one body have from what it says once for many of them (a resource, the labels of a stream or a series): a
 * small body must not become an endless one.
 */
export const ingestRepeatedBytesMax = 1024 * MiB;
