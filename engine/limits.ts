/** Every cap of the engine, each with its reason. */

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

/** One message as stored: as long as the longest line that shippers send whole, so that a row still fits a result. */
export const messageBytesMax = 2 * MiB;
/** An attribute key is a name; longer ones are data gone astray and would weigh on every chunk header. */
export const attributeKeyBytesMax = 1 * KiB;
/** An attribute's value: room for a stack trace or a request body. */
export const attributeValueBytesMax = 256 * KiB;
/** Attributes of one row; real rows have 5 to 60. */
export const attributesPerRowMax = 1_000;
/** A level is a word. */
export const levelBytesMax = 256;

/** Labels of one series: Prometheus has some 20 at most, resources of OpenTelemetry 60. */
export const labelsPerSeriesMax = 128;
/** A metric's name. */
export const metricNameBytesMax = 1 * KiB;
/** A unit is a word. */
export const unitBytesMax = 256;
/** Name and labels of a series together: each query and each chunk holds them in memory. */
export const seriesBytesMax = 16 * KiB;
/** Series that were active today or yesterday, where nothing else is asked for: some 1 KiB each in the memory of all threads. */
export const defaultSeriesMax = 1_000_000;

/** Attribute columns of a chunk; keys beyond it, rarest first, share one column, so that 100,000 keys cost no 100,000 values. */
export const attributeColumnsMax = 512;
/** Rows of a chunk: enough that headers and tree pages weigh nothing, few enough that one scan task is short. */
export const chunkRowsMax = 131_072;
/** Bytes of messages in a chunk, for rows that are long: bounds what one scan task must hold. */
export const chunkMessageBytesMax = 64 * MiB;
/** Samples of a chunk of metrics: a few bytes each, so more than rows of logs. */
export const chunkSamplesMax = 1_048_576;
/** Samples of chunks that overlap in time, beyond which a query reads a day in slices: their columns take some 16 bytes each. */
export const sliceSamplesMax = 8 * 1_048_576;
/** Values that a chunk's column holds at least, where it has so many: enough to pack well, few enough that one metric is read alone. */
export const valueBlockSamples = 131_072;
/** Distinct values whose counts stand in a chunk's header. */
export const headerValuesMax = 256;
/** Bytes of such values for one column. */
export const headerValueBytesMax = 16 * KiB;

/** Rows in memory that a query takes on the calling thread: fewer than the way to another thread and back would cost. */
export const callerRowsMax = 4_096;
/** Chunks whose headers the calling thread looks at itself, some microseconds each once they are open. */
export const callerChunksMax = 256;
/** Decoded columns of such rows, and filters of such chunks: at least so much, */
export const callerCacheBytesMin = 64 * MiB;
/** or so much of the memory for decoded columns. Of what does not fit the scan threads read the filters. */
export const callerCacheShare = 1 / 16;
/** Beside these, templates of sealed chunks: as a share of that. */
export const callerTemplatesShare = 1 / 4;
/** Rows that are looked at one by one are searched in blocks of this many: other queries run between two of them. */
export const blockRows = 2_048;

/** Bytes of encoded rows in memory that start a seal, whatever their number. */
export const unsealedBytesMax = 64 * MiB;
/** Bytes of encoded rows in memory at which appends wait for the seal: memory stays flat under a flood. */
export const unsealedBytesStop = 256 * MiB;
/** A row is sealed at the latest after this time, so that the journal stays short. */
export const unsealedAgeMsMax = 5 * 60 * 1000;
/** In-memory chunks below this many rows are joined, sixteen at a time, so that a search does not visit hundreds. */
export const smallPartRows = 16_384;
export const smallPartsMax = 16;

/** A journal file; the tail of the journal is replayed at start, so this bounds start-up too. */
export const journalSegmentBytes = 64 * MiB;
/** Bytes of batches that wait for the disk; beyond it appends are refused as overload. */
export const journalQueueBytesMax = 256 * MiB;

/** An idempotency key is remembered at least this long. */
export const keyAgeMs = 60 * 60 * 1000;
/** Idempotency keys held in memory (about 100 bytes each); the oldest are forgotten first. */
export const keysMax = 1_000_000;

/** Rows stamped later than this ahead of the clock are refused: they would sit on top of every search for days. */
export const futureNsMax = 86_400_000_000_000n;
/** Rows are asked to be no further off the clock than this, a hundred years: what is stored has a time within a Date's range. */
export const clockMsMax = 100 * 365 * 86_400_000;

/** Environments that one thread keeps mapped. */
export const openPartitionsMax = 32;

/** Chunks whose headers one scan thread keeps open, some 20 KiB each. */
export const openChunksMax = 4_096;
/** Chunks in memory that one thread keeps open: about as many as there are before they are joined and sealed. */
export const openPartsMax = 32;
/** Decoded columns of all scan threads together, as a share of the machine's memory, where nothing else is asked for. */
export const columnCacheShare = 0.25;
/** What the column cache of one thread has at least where nothing is asked for, enough for any chunk; and at most, what 32-bit addresses reach. */
export const columnCacheBytesMin = 256 * MiB;
export const columnCacheBytesMax = 4 * GiB - 64 * KiB;

/** Chunks with fewer rows than this share of a full one's are merged once enough of them stand beside each other. */
export const mergeShare = 1 / 4;
export const mergeChunksMin = 8;

/** Attribute keys that a partition's manifest lists for suggestions. */
export const manifestKeysMax = 2_000;

/** Attribute keys whose rows one thread counts: nobody reads a longer list. */
export const countedKeysMax = 10_000;

export const defaultDeadlineMs = 30_000;
export const defaultQueryMemoryBytes = 1 * GiB;
/** Rows that one search returns: they pass through the heap of the thread that asked, several times over. */
export const resultBytesMax = 64 * MiB;
/** Rows that one thread reads in the order of arrival in one go, of all selections; and what each selection gets at least. */
export const arrivedBytesMax = 16 * MiB;
export const arrivedBytesLeast = 256 * KiB;
/** Groups of one aggregation: each is a text or more in the heap of every thread; more than this are ids, not labels. */
export const groupsMax = 100_000;
/** Groups of one aggregation of which only the first few are wanted: they are ranked and let go of, a label and some 50 bytes each. */
export const rankedGroupsMax = 1_000_000;
/** Labels of such groups together. */
export const rankedLabelBytesMax = 256 * MiB;
/** Groups times buckets that have rows: 16 bytes and more each, on every thread and again where the parts are joined. */
export const pointsMax = 1_000_000;
/** Cells that a chunk's counts are gathered in before only those that have rows are kept: a few bytes each, for a moment. */
export const denseCellsMax = 262_144;
/** A scan thread that does not answer this long after its deadline is replaced. */
export const deadlineGraceMs = 5_000;
/**
 * Numbers that a query keeps for the quantiles of one value, 8 bytes each, which it does of points whose rows lie in several
 * chunks: up to here quantiles are exact. Beyond it the
 * numbers between which a quantile lies are known within 0.5 %, of a sketch of logarithmic bins.
 */
export const quantileValuesMax = 4 * MiB;
/**
 * Hashes of different texts that are kept of one point, some 24 bytes each on a thread: up to here `distinct` is exact. Beyond it a
 * HyperLogLog of 2^14 registers has a standard error of 0.81 %.
 */
export const distinctHashesMax = 65_536;
