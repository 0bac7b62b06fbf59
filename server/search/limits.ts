/** Limits of searches and tails, each with its reason. */

import { KiB, MiB } from "../model/limits.ts";

/**
 * Searches that run, or whose answers are being written, at once. Scan threads are few: more searches would only wait
 * for each other until their deadline. Each also holds the rows that it found until they are written. One caller has no
 * more of them than it leaves free.
 */
export const searchesInFlightMax = 64;
/** Tails open at once. Each holds a connection and at most one queue of rows. */
export const tailsMax = 256;
/** Tails of one caller open at once. */
export const tailsOfCallerMax = 32;
/**
 * Rows in the queue of one tail; above this the tail misses rows. Two full rounds (`tailRoundRowsMax`) fit, so that a
 * reader who keeps up misses none.
 */
export const tailRowsWaitingMax = 8_192;
/** Bytes of rows in the queue of one tail; above this the tail misses rows. */
export const tailBytesWaitingMax = 16 * MiB;
/** Arrived rows that one round reads for all tails: few enough that the answers stay small. */
export const tailRoundRowsMax = 4_096;
/** Shortest pause between two rounds, so that one round reads many small batches together. */
export const tailRoundMs = 50;
/** A tail that catches up reads stored rows in pages of at most this many. */
export const tailPageRowsMax = 1_000;
/** Arrived rows that are scanned for one page: a second's work, however few of them match. */
export const tailPageSpanMax = 1_048_576;
/** Pages that all tails together read at once. */
export const tailPagesReadMax = 2;
/** A page that does not fit into the memory of all tails is read again after this time. */
export const tailPageWaitMs = 1_000;
/**
 * Each time that a tail reaches the row that was the newest when it last looked, it counts the rows that have arrived
 * since. Where these are more than this, and more than the time before, it counts them as missed and skips them.
 */
export const tailLagRowsMax = 16_384;
/** Rows that are written to a connection at once. */
export const tailSliceRowsMax = 64;
/** Bytes of rows that are written to a connection at once. */
export const tailSliceBytesMax = 64 * KiB;
/** Time between heartbeats of a tail: shorter than the idle timeouts of proxies (60 s) and of the sockets (10 s). */
export const tailHeartbeatMs = 3_000;
/** Time between checks that the callers of open tails may still read. */
export const tailCheckMs = 1_000;
/** Rows of one page of an export. A page is one search. */
export const exportPageRowsMax = 5_000;
/** Attributes that have a column of their own in CSV. */
export const exportColumnsMax = 100;
/** Time that the reader of an export may take for one piece. */
export const exportStallMsMax = 60_000;
/** Series of one answer: more than anybody draws. With many points each, the answer has tens of megabytes. */
export const seriesMax = 10_000;
/** Time that running searches get when the server stops: short, so that stopping does not wait for a scan. */
export const searchDrainMsMax = 1_000;
