/** Every cap of the node agent, with its reason. */

import { KiB, MiB } from "../../model/limits.ts";

/** Bytes read from one file before the next file has its turn. Larger reads are no faster, measured to 1 MiB. */
export const chunkBytes = 256 * KiB;
/**
 * One physical line. containerd and CRI-O split at 16 KiB unless they are told otherwise. Of a longer line the rest is
 * dropped, and `svc.cut` says how many bytes it had: the server takes no message above 2 MiB.
 */
export const lineBytesMax = 1 * MiB;
/** A line joined from partial ones. A longer one becomes several rows. */
export const joinedLineBytesMax = 1 * MiB;
/** Lines of one stack trace: the JVM prints 1,024 frames of each cause. */
export const traceLinesMax = 2_000;
/** Text of one stack trace, in UTF-16 units. */
export const traceLengthMax = 256 * KiB;
/** Milliseconds between two lines of one trace, by the times that the runtime gave them. */
export const traceGapMs = 1_000;
/** How long the last line of a file waits for lines that continue it. */
export const joinMs = 1_000;
/** How long a partial line waits for its rest: a program may pause within a line. */
export const partialMs = 10_000;
/**
 * Bytes of a file between the first line of an unfinished row and the newest line: a restart reads them again.
 */
export const openDistanceMax = 4 * MiB;
/** Text of unfinished rows of all files. Above it, the file that is being read finishes its rows early. */
export const openBytesMax = 32 * MiB;

/** Rows of one batch: 10,000 rows of usual logs are 5 MB of JSON, which the server takes in 50 ms. */
export const batchRowsMax = 10_000;
/** Messages and attributes of one batch, in UTF-16 units. Two batches are in memory, one of them on its way. */
export const batchLengthMax = 4 * MiB;
/** How long a row waits for others before its batch is sent. */
export const batchMs = 1_000;
/** First and last wait before a batch is sent again. */
export const retryMsMin = 200;
export const retryMsMax = 30_000;
/** How long closing waits for the batch that is on its way. A batch that is not acknowledged is sent after the start. */
export const closeMs = 5_000;

/** Time between looks at all files. A look takes 7 ms with 1,000 files (about 3,000 calls of stat). */
export const pollMs = 500;
/** Looks at a folder after its time changed: two changes within one tick of the kernel's clock leave the same time. */
export const settlePolls = 3;
/**
 * How long a file is still read after its last link or its last line: a writer may hold it open for a moment.
 */
export const unlinkedMs = 30_000;
/**
 * Bytes that were not yet read of files that have no name any more. They are on disk until the agent closes them, so
 * above this the oldest are given up.
 */
export const unlinkedBytesMax = 1024 * MiB;
/** Log files that are open at once. 250 pods a node with 4 containers have 1,000, each with some rotated ones. */
export const openFilesMax = 8_192;
/** Containers whose logs are tailed. */
export const containersMax = 4_096;
/** Compressed files that are open at once, at some 100 KiB each. */
export const openGzipFilesMax = 4;
/** First bytes of a file by which it is recognised: a line of a log begins with its time in nanoseconds. */
export const headBytesMax = 256;
/** Fewer bytes than a time and a space do not tell a copied file from others. */
export const headBytesMin = 32;
/** How long the logs of a new pod wait for the lookup of its service. */
export const podWaitMs = 10_000;
/** How long a start waits for files of the batch that has to be sent again: one may just be renamed. */
export const resendWaitMs = 2_000;
/** Size of the journal of positions at which it is written anew. */
export const journalBytesMax = 4 * MiB;

/** Attributes of a row that was a JSON object. A line with more stays text: the server refuses rows above 1,000. */
export const jsonAttributesMax = 256;
/** Characters of a line that is parsed as JSON, and so of every attribute: the server takes values up to 256 KiB. */
export const jsonLengthMax = 64 * KiB;
/** A time inside a JSON line that is further from the runtime's own is not believed. */
export const jsonTimeDriftMs = 24 * 60 * 60 * 1000;
/** Unreadable paths that are remembered, so that each is logged once. Beyond it they are logged again. */
export const refusedPathsMax = 1_000;
/** Labels of a pod that become attributes of its rows. */
export const podLabelsMax = 64;

/** Time between reads of the kubelet's metrics: cAdvisor itself collects every 10 to 30 s. */
export const scrapeMs = 30_000;
export const scrapeTimeoutMs = 10_000;
/** One answer of the kubelet. A node with 250 pods answers with some 10 MB. */
export const scrapeBytesMax = 64 * MiB;
/** One line of it. */
export const metricLineBytesMax = 64 * KiB;
/** Labels of one sample. */
export const metricLabelsMax = 64;
/** Samples that one read keeps. */
export const scrapeSamplesMax = 200_000;
/** Metric families whose type is remembered within one answer. */
export const metricFamiliesMax = 10_000;
/** Samples of one batch. */
export const sampleBatchMax = 5_000;
/** How often a batch of samples is sent before it is dropped: the next read comes anyway. */
export const sampleSendsMax = 3;
