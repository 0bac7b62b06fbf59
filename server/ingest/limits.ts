/** Every cap of ingestion, with its reason. */

import { KiB, MiB } from "../model/limits.ts";

/** One body on the wire. Agents send 1 to 10 MiB. */
export const ingestBodyBytesMax = 32 * MiB;
/** One body of JSON lines on the wire. `svc ingest` sends so many lines together that they fill a chunk. */
export const jsonLinesBodyBytesMax = 64 * MiB;
/** Bytes of a journal that are stored at a time while more of it comes in. */
export const journalPartBytes = 4 * MiB;
/**
 * The largest body after decompression, which is usually 4 to 8 times its size on the wire; less where memory is scarce.
 * A decoding thread holds the whole body.
 */
export const ingestUnpackedBytesMax = 128 * MiB;
/** Rows of one body. The smallest row has three bytes, but takes some hundred in memory while it is decoded. */
export const ingestRowsMax = 1_000_000;
/** Distinct attribute keys of one body. Each is a column of the batch while it is built, at about 2 KiB. */
export const ingestKeysMax = 131_072;
/**
 * Bytes of the small bodies that go to a decoding thread in one message. A message costs as much as some hundred rows.
 */
export const decodeGroupBytes = 1 * MiB;
/** Bodies in one message to a decoding thread. */
export const decodeGroupBodies = 64;
/**
 * CPU time in which a thread decodes a group of bodies; then it is ended and replaced. The largest body of the slowest
 * format takes 14 s (128 MiB of OTLP in JSON), and up to twice as long on a slower machine.
 */
export const decodeMsMax = 30_000;
/**
 * How many times as long decoding may take by the clock. On a busy machine a thread waits for its turns; one that gets a
 * tenth of a core helps nobody any more.
 */
export const decodeWallFactor = 10;
/** New objects of one decoding thread, in its heap. Larger ones make no body faster, and each thread keeps its own. */
export const decodeYoungGenerationMiB = 12;
/** A sender with a group of bodies that took more CPU time counts as slow: a group of usual bodies takes 10 ms. */
export const slowDecodeMs = 2_000;
/** For this time a sender counts as slow. All slow senders together leave one decoding thread to the others. */
export const slowSenderMs = 60_000;
/** Refused rows that an answer lists. Their count is always complete. */
export const refusedRowsListed = 100;
/** Depth to which nested objects become attributes. Deeper ones stay JSON text, as in svcQL. */
export const flatDepthMax = 32;
/**
 * UTF-16 units of the JSON text of one row of an unusual shape. JSON.parse cannot be interrupted; it makes up to 20
 * times as many bytes of objects.
 */
export const jsonRowLengthMax = 16 * MiB;
/** A JSON body up to this size is parsed without its values being counted before. */
export const jsonBodyUncountedBytesMax = 16 * MiB;
/**
 * Values (commas and opening brackets) in a JSON body that is parsed as a whole, each up to 60 bytes in memory. Most
 * telemetry has one value in 10 bytes or more.
 */
export const jsonValuesMax = 16_777_216;
/**
 * Length of the name of an object whose members become attributes, with the names around it. The engine takes no longer
 * attribute key, and each member copies the name.
 */
export const flatNameLengthMax = 1 * KiB;
/** Attributes that rows share: rows with more are refused before they copy them. The engine takes no more in one row. */
export const sharedAttributesMax = 1_000;
/** Bytes charged for an attribute that rows share, besides its text: copying one costs as much as copying these bytes. */
export const sharedAttributeCost = 32;
/** Buckets of one histogram: each becomes a sample. Senders keep some hundred. */
export const histogramBucketsMax = 10_000;
/** Buckets times labels of one histogram: each of its samples has a copy of the labels. */
export const histogramLabelCopiesMax = 1_000_000;
/** Characters of an idempotency key. Hundreds of thousands of keys are kept in memory. */
export const idempotencyKeyLengthMax = 256;
/**
 * Attributes of one row at which flattening stops with an error. The engine's own cap is lower and gives the better
 * reason.
 */
export const flatKeysMax = 10_000;
/**
 * A sender's limits of rows and bytes a second hold on average over this time: after an outage, agents send everything
 * that they buffered.
 */
export const senderBurstSeconds = 10;
/** Senders whose rate is remembered, at about 300 bytes each. */
export const rateLimitedSendersMax = 20_000;
/** Bytes of a document's id, as in Elasticsearch. */
export const documentIdBytesMax = 512;
/** Documents with ids in one body: the main thread looks each of them up. */
export const bodyDocumentIdsMax = 100_000;
/** Ids of documents that are remembered, at about 150 bytes each. The oldest are forgotten first. */
export const documentIdsMax = 500_000;
/** How long the id of a document is remembered: as long as an idempotency key. */
export const documentIdAgeMs = 24 * 60 * 60 * 1000;
/** Newest rows among which the ids of documents are read after a restart. 300,000 ids took 2.0 s on two cores. */
export const documentIdRowsMax = 1_000_000;
/**
 * How often a body is read again, since documents with its ids were stored in the meantime. Senders that store the same
 * ids at once more often than that try again.
 */
export const documentReadsMax = 5;
/** How long an idempotency key from the sender is remembered: a retry may come after an outage of a night. */
export const namedKeyAgeMs = 24 * 60 * 60 * 1000;
/** How long a key made from a body's content is remembered: long enough for retries of agents that send no key. */
export const contentKeyAgeMs = 60 * 60 * 1000;
/** JSON text of the events, or of the links, of one span: the largest value that the engine takes. */
export const spanListBytesMax = 256 * KiB;
/** One syslog message. Longer lines are split; a longer message with a length prefix ends the connection. */
export const syslogMessageBytesMax = 1 * MiB;
/** Time for which syslog messages are collected into a batch, since each batch waits for the disk. */
export const syslogBatchMs = 50;
export const syslogBatchBytesMax = 1 * MiB;
/**
 * Memory of syslog messages that wait to be stored: their bytes, and `syslogMessageOverhead` for each. Above it TCP
 * connections wait and UDP messages are dropped.
 */
export const syslogWaitingBytesMax = 32 * MiB;
/** Memory that a message takes besides its bytes: it and its length prefix are objects. */
export const syslogMessageOverhead = 256;
/**
 * Bytes of the incomplete messages of all connections. A connection that would exceed it is closed: nobody who connects
 * has shown a token.
 */
export const syslogIncompleteBytesMax = 64 * MiB;
/** Connections of syslog, and of GELF: each may hold an incomplete message. */
export const syslogConnectionsMax = 1_024;
/** One message of GELF unpacked, and chunks of one, as in Graylog. */
export const gelfMessageBytesMax = 8 * MiB;
export const gelfChunksMax = 128;
/** How long the chunks of one message may take to come, as in Graylog. */
export const gelfChunkMs = 5_000;
/**
 * Memory of chunks whose messages are incomplete: their bytes, `gelfChunkOverhead` for each, and
 * `gelfIncompleteOverhead` for each message. The oldest are forgotten first: senders over UDP are not known.
 */
export const gelfChunksBytesMax = 16 * MiB;
/** Bytes of memory that a chunk takes in addition to its content. An estimate. */
export const gelfChunkOverhead = 256;
/** Bytes of memory that an incomplete message takes in addition to its chunks. An estimate. */
export const gelfIncompleteOverhead = 512;
/** Connections of Fluent's forward protocol: each may hold an incomplete message. */
export const fluentConnectionsMax = 1_024;
/** Bytes of the first message where a key is asked for, and the time for it: nobody has shown the key so far. */
export const fluentHandshakeBytesMax = 4 * KiB;
export const fluentHandshakeMs = 10_000;
/** Time until messages are tried again that the store does not take now. */
export const fluentRetryMs = 1_000;
/**
 * Bytes of Fluent's messages that are read together. So few have no more keys than a body may have (`ingestKeysMax`):
 * none is refused for the keys of others.
 */
export const fluentTogetherBytesMax = 128 * KiB;
/** Metric families that one body of remote write describes; the rest of them is ignored. Prometheus sends 2,000 at most. */
export const bodyFamiliesMax = 10_000;
/**
 * Memory of the types and units of metric families that are remembered for remote write, on every thread. A sender has
 * half of it at most: room for 50,000 families.
 */
export const metricFamiliesBytesMax = 16 * MiB;
/** Memory that a family takes besides its texts. */
export const metricFamilyOverhead = 80;
/**
 * How long a family is remembered that its sender does not describe again. Prometheus does so each minute; samples that
 * waited for the end of an outage of a night may come before their description.
 */
export const metricFamilyAgeMs = 24 * 60 * 60 * 1000;
/** Bytes of families that may be shared in a second: to write them takes some 5% of the time of the main thread. */
export const sharedFamilyBytesPerSecond = 8 * MiB;
/**
 * Bytes that rows copy from parts of the body that hold for many rows (a resource, the labels of a stream or a series).
 * Bounds the memory that a small body can expand to.
 */
export const ingestRepeatedBytesMax = 1024 * MiB;
