/** Every cap of the engine, with its reason; those that follow from the memory of the process are in memory-budget.ts. */

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

/** One message. As long as the longest line that log shippers send whole, so that a row still fits a result. */
export const messageBytesMax = 2 * MiB;
/** An attribute key. Keys are names; a longer one is misplaced data and would inflate every chunk header. */
export const attributeKeyBytesMax = 1 * KiB;
/** An attribute value: room for a stack trace or a request body. */
export const attributeValueBytesMax = 256 * KiB;
/** Attributes of one row; real rows have 5 to 60. */
export const attributesPerRowMax = 1_000;
/** A log level, which is a word. */
export const levelBytesMax = 256;

/** Labels of one series: Prometheus has some 20 at most, resources of OpenTelemetry 60. */
export const labelsPerSeriesMax = 128;
/** The name of a metric. */
export const metricNameBytesMax = 1 * KiB;
/** A unit, which is a word. */
export const unitBytesMax = 256;
/** Name and labels of a series together: each query and each chunk holds them in memory. */
export const seriesBytesMax = 16 * KiB;
/** Default cap on series that were active today or yesterday: some 1 KiB each in the memory of all threads. */
export const defaultSeriesMax = 1_000_000;

/**
 * Attribute columns of a chunk. The rarest keys beyond it share one column of overflow attributes, so that 100,000 keys
 * do not become 100,000 stored values.
 */
export const attributeColumnsMax = 512;
/**
 * Rows of a chunk: enough that headers and tree pages hardly add to its size, few enough that one scan task is short.
 */
export const chunkRowsMax = 131_072;
/** Bytes of messages in a chunk. Where rows are long, this bounds the memory of one scan task. */
export const chunkMessageBytesMax = 64 * MiB;
/** Samples of a chunk of metrics. More than rows of logs, because a sample takes a few bytes only. */
export const chunkSamplesMax = 1_048_576;
/**
 * Samples of chunks that overlap in time. Above this a query reads a day in slices: columns take some 16 bytes a
 * sample.
 */
export const sliceSamplesMax = 8 * 1_048_576;
/**
 * Minimum number of samples in one `value` column of a chunk, unless the chunk has fewer. They are enough to compress
 * well, and few enough that a query for one metric reads little else.
 */
export const valueBlockSamples = 131_072;
/** Distinct values of a column whose counts a chunk header lists. */
export const headerValuesMax = 256;
/** Bytes of such values, for one column. */
export const headerValueBytesMax = 16 * KiB;
/**
 * Bytes of such values and their counts, for all columns of a chunk of rows: those of few values are listed first. A query
 * reads the headers of all chunks. Usual logs stay far below; events of 200 keys had 600 KB in each header before.
 */
export const headerListsBytesMax = 64 * KiB;

/**
 * Rows in memory up to which the query thread scans them itself: passing a task to another thread and back costs more.
 */
export const queryThreadRowsMax = 4_096;
/**
 * Chunks up to which the query thread reads their headers itself: some 20 microseconds each once they are open. As many
 * as a thread keeps open (`openChunksMax`), since the scan threads would read columns of all chunks beyond it.
 */
export const queryThreadChunksMax = 4_096;
/**
 * From this many unopened chunks on, the query thread leaves their headers and filters to the scan threads, which read them
 * in parallel. A header with its filters takes 1 to 3 ms; waking a thread takes 0.2 ms.
 */
export const unopenedChunksMin = 4;
/** Memory for templates of sealed chunks on the query thread, as a share of that cache and in addition to it. */
export const queryThreadTemplatesShare = 1 / 2;
/** Where a filter tests row by row, it does so in blocks of this many rows: other queries run between two blocks. */
export const blockRows = 2_048;

/**
 * Days of rows that one batch may have: a year of history in any order. Each day is a part and later a partition of its
 * own, so rows of more days cost far more than their number.
 */
export const batchDaysMax = 400;
/** Days (of any signal) with rows in memory that start a seal of all of them. */
export const unsealedDaysMax = 800;
/** Such days above which appends wait for the seal: what is done for each of them in turn stays short. */
export const unsealedDaysStop = 1_600;
/** A row is sealed after this time at the latest, so that the journal stays short. */
export const unsealedAgeMsMax = 5 * 60 * 1000;
/**
 * Retention by age removes up to this many days at once, or up to this share of the stored days where that is more. If
 * more became too old at once, the clock may be wrong. Chosen, not measured: after a weekend's standstill it goes on.
 */
export const retentionDaysMin = 3;
export const retentionDaysShare = 0.1;
/** Retention by size counts the journal as well, but at most as this share of the bytes to keep. */
export const retentionJournalShare = 0.25;
/** Parts with fewer rows than this are small: `smallPartsMax` of them are compacted. */
export const smallPartRows = 16_384;
/**
 * Rows of a day in one batch that become chunks ready for disk, where the batch is not to be gathered with others. Fewer do
 * where their messages have so many bytes.
 */
export const packedRowsMin = 16_384;
export const packedMessageBytesMin = 2 * MiB;
/** Small parts of a partition that start a compaction, so that a search does not visit hundreds of parts. */
export const smallPartsMax = 16;

/** A journal segment. */
export const journalSegmentBytes = 64 * MiB;
/** Batches of a journal segment, where they are small: one that is sealed is removed, and no start reads it again. */
export const journalSegmentBatches = 4_096;
/**
 * Batches in the journal that start a seal of all rows. A start reads each of them, and the first search each that is
 * not sealed yet, so this bounds both where batches are small (`node bench/starts.ts`). Twice a segment, because the
 * newest segment stays after a seal.
 */
export const journalBatchesMax = 2 * journalSegmentBatches;

/** How long an idempotency key is remembered at least, by default. */
export const keyAgeMs = 60 * 60 * 1000;
/** Idempotency keys held in memory (about 100 bytes each). Above it the oldest are forgotten. */
export const idempotencyKeysMax = 1_000_000;

/**
 * By default, rows with a time further ahead of the clock are refused: they would head every search result for days.
 */
export const futureNsMax = 86_400_000_000_000n;
/**
 * Upper bound of a configured offset ahead of the clock: a hundred years. It keeps stored times within the range of a
 * JavaScript Date.
 */
export const clockOffsetMsMax = 100 * 365 * 86_400_000;

/** LMDB environments that one thread keeps open. */
export const openPartitionsMax = 32;

/** Sealed chunks whose headers one scan thread keeps open, some 20 KiB each. */
export const openChunksMax = 4_096;
/** Parts that one thread keeps open: about as many as there are before they are compacted and sealed. */
export const openPartsMax = 32;
/** Upper bound of the column cache of one thread: what 32-bit addresses reach. */
export const columnCacheBytesMax = 4 * GiB - 64 * KiB;

/** Chunks with fewer rows than this share of a full chunk are small: `mergeChunksMin` of them are merged. */
export const mergeShare = 1 / 4;
/**
 * A chunk of at least this many stored bytes is not small, however few rows it has. A full chunk of usual logs has five
 * times as many. Events of 2 KB reach this size with 12,000 rows, which the largest body of a request holds. Few of their
 * chunks could be merged, since the bytes of messages in a chunk are limited, too; merging them took as much CPU time as
 * loading them, and more disk. With caps below the largest ones this limit is smaller in proportion.
 */
export const smallChunkBytes = 1.5 * MiB;
/** Small chunks of a partition that start a merge. */
export const mergeChunksMin = 8;
/**
 * A chunk is merged only into one of at least so many times its rows. Otherwise the newest merged chunk is written again
 * with every few seals until it is no longer small. Over a day of 288 seals of 300 rows, each row is merged 2.4 times in
 * place of 7.6; of 100 rows, 2.4 in place of 21 (`test/engine/maintenance/compaction-plan.test.ts` has such days).
 */
export const mergeGrowthMin = 4;
/** Small chunks of a partition from which on they are merged all the same, as each costs every query of the day. */
export const smallChunksMax = 16;
/**
 * The most chunks that are merged at once, and the most stored bytes of them together, which bound the memory of a merge. A
 * full chunk of usual logs has half of these bytes. With caps below the largest ones the limit is smaller in proportion.
 */
export const mergedChunksMax = 32;
export const mergedBytesMax = 16 * MiB;

/** Attribute keys that a partition's manifest lists for suggestions. */
export const manifestKeysMax = 2_000;

/** Attribute keys that one thread counts rows for: nobody reads a longer list. */
export const countedKeysMax = 10_000;

/** Values of all fields together that one thread counts rows for: about 40 MB. */
export const countedValuesMax = 200_000;

/** Default deadline of a query. */
export const defaultDeadlineMs = 30_000;
/** Default memory cap of a query on each thread. */
export const defaultQueryMemoryBytes = 1 * GiB;
/** Bytes of rows that one search returns: they pass through the heap of the calling thread several times. */
export const resultBytesMax = 64 * MiB;
/** Bytes of rows that one thread returns for one read in order of arrival, over all selections. */
export const arrivedBytesMax = 16 * MiB;
/** The part of these bytes that each selection gets at least. */
export const arrivedBytesMin = 256 * KiB;
/**
 * Groups of one aggregation: each is at least one text in the heap of every thread. Above this they are ids rather than
 * labels.
 */
export const groupsMax = 100_000;
/**
 * Groups of one aggregation of which only the first few are returned. They are ranked and dropped, and take a label and
 * some 50 bytes each.
 */
export const rankedGroupsMax = 1_000_000;
/** Bytes of the labels of such groups together. */
export const rankedLabelBytesMax = 256 * MiB;
/**
 * Points (group × bucket) with rows of one aggregation: 16 bytes and more each, on every thread and again where the
 * threads' results are merged.
 */
export const pointsMax = 1_000_000;
/**
 * Points whose vectors a thread keeps for its next query. Vectors of this size that become garbage with each query make
 * V8 collect after every few of them; longer ones are rare.
 */
export const keptPointsMax = 131_072;
/**
 * Points (group × bucket) of one chunk up to which counts are collected in a dense array: a few bytes each, for the
 * time that the chunk takes. Above it only points with rows are stored.
 */
export const densePointsMax = 262_144;
/** A scan thread that does not answer this long after a query's deadline is replaced. */
export const deadlineGraceMs = 5_000;
/**
 * Numbers that a query keeps for the quantiles of one value, 8 bytes each. It keeps them for points whose rows lie in
 * several chunks. Up to here quantiles are exact; above it a sketch of logarithmic bins gives them within 0.5 %.
 */
export const quantileValuesMax = 4 * MiB;
/**
 * Hashes of distinct texts that are kept for one point, some 24 bytes each on a thread. Up to here `distinct` is exact;
 * above it a HyperLogLog of 2^14 registers has a standard error of 0.81 %.
 */
export const distinctHashesMax = 65_536;
/**
 * Bytes of a small checked file. The longest are the manifest of a day with a million chunks and the list of a backup's
 * files; a longer one is damaged, and reading it could take all memory.
 */
export const checkedFileBytesMax = 256 * MiB;
/** A sample has an increase only where the sample before it is at most this much older: one hour, in nanoseconds. */
export const increaseAgeNsMax = 3_600_000_000_000;
/**
 * Starts of counters that are remembered in shared memory, at 16 bytes each: those of an hour of a cluster whose pods
 * come and go. Beyond it all are forgotten, and stored once more where they come again.
 */
export const knownStartsMax = 524_288;
/** The longest delay of a timer: Node.js ends longer ones at once. */
export const timerMsMax = 2 ** 31 - 1;
