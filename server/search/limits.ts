/** Every cap of searches and tails, each with its reason. */

const KiB = 1024;
const MiB = 1024 * KiB;

/**
 * Searches running or being read at once: scan threads are few, so more would only wait for each other until their deadline;
 * and each holds the rows that it found until they are written.
 */
export const searchesInFlightMax = 64;
/** Tails at once, and of one token: each holds a connection and up to a buffer of rows. */
export const tailsMax = 256;
export const tailsOfCallerMax = 32;
/** Rows, and bytes of them, that wait for a reader; beyond it rows are missed. Two rounds of a firehose, so that who keeps up misses none. */
export const tailRowsWaitingMax = 8_192;
export const tailBytesWaitingMax = 16 * MiB;
/** The same of all tails together. */
export const tailsBytesWaitingMax = 256 * MiB;
/** Rows that arrived, of which all tails get what they select in one round: few enough that their answers stay small. */
export const tailRoundRowsMax = 4_096;
/** From the end of a round to the next at least: many small batches are then looked at together. */
export const tailRoundMs = 50;
/** Rows of one page where a tail begins with what is stored, or goes on after a break. */
export const tailPageRowsMax = 1_000;
/** Arrived rows that are looked at for one page: a second's work, though few of them may match. */
export const tailPageSpanMax = 1_048_576;
/** Pages that are read at once, over all tails. */
export const tailPagesReadMax = 2;
/** A page for which there is no room is read again after this time. */
export const tailPageWaitMs = 1_000;
/** A tail that is further behind than this, and falls further back, goes on with the newest rows. */
export const tailLagRowsMax = 16_384;
/** Rows, and bytes of them, that are written in one go. */
export const tailSliceRowsMax = 64;
export const tailSliceBytesMax = 64 * KiB;
/** So often a quiet tail says that it lives: more often than proxies give up on one (60 s), and than the sockets do (10 s). */
export const tailHeartbeatMs = 3_000;
/** So often it is looked whether the reader may still read. */
export const tailCheckMs = 1_000;
/** Series of one answer: more than anybody draws; many points of each make an answer of tens of megabytes. */
export const seriesMax = 10_000;
/** And searches this long: whoever stops a server does not wait for a scan. */
export const searchDrainMsMax = 1_000;
