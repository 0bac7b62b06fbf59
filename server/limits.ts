/** Every cap of the edge, each with its reason. */

const KiB = 1024;
const MiB = 1024 * KiB;

/** Header block of a request: room for a bearer token of an identity provider. */
export const headerBytesMax = 16 * KiB;
/** JSON bodies other than telemetry: a dashboard of hundreds of widgets takes a tenth of it. */
export const jsonBodyBytesMax = 2 * MiB;
/** One body of telemetry on the wire. Agents send 1 to 10 MiB. */
export const ingestBodyBytesMax = 32 * MiB;
/** The same body unpacked: 4 to 8 times is usual, and one worker holds it whole. */
export const ingestUnpackedBytesMax = 128 * MiB;
/** Rows of one body: the smallest has three bytes, and takes some hundred in memory while it is decoded. */
export const ingestRowsMax = 1_000_000;
/** Distinct attribute keys of one body: each is a column of its batch for a moment, at about 2 KiB. */
export const ingestKeysMax = 131_072;
/** Frames of one zstd body: each costs a call, and an empty one has nine bytes. */
export const zstdFramesMax = 10_000;
/** Bytes of all request bodies that are being received or worked on: bounds memory under any number of clients. */
export const bodyBytesInFlightMax = 256 * MiB;
/** Requests being answered at once; beyond it the answer is 503 at once rather than after the deadline. */
export const requestsInFlightMax = 4_096;
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
/** Width of a bucket: a hundred years hold all there is. */
export const bucketSecondsMax = 3_155_760_000;

/** After an early refusal the rest of a body is thrown away up to here, so that simple clients get to read the answer. */
export const lingerBytesMax = 128 * MiB;
export const lingerMsMax = 5_000;
/** A client that has sent nothing for this long after an early refusal has stopped sending. */
export const lingerIdleMs = 200;

/** A request whose body has not arrived whole after this time is dropped, however steadily it trickles. */
export const bodyReceiveMsMax = 120_000;
/** An answer that has not been read whole after this time is given up, however steadily it trickles: it holds its rows. */
export const answerSendMsMax = 120_000;
/** A reader of a backup that takes nothing for this long is gone: what it reads can neither be merged nor removed meanwhile. */
export const backupStallMsMax = 60_000;
/** On SIGTERM, requests that are being answered get this long. */
export const drainMsMax = 20_000;
/** And searches this long: whoever stops a server does not wait for a scan. */
export const searchDrainMsMax = 1_000;

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
export const allowanceBurstSeconds = 10;
/** Senders whose rate is remembered, about 300 bytes each. */
export const allowancesMax = 20_000;

/** Largest time that a JavaScript Date can hold; requests name no later one. */
export const timeMsMax = 8_640_000_000_000_000;

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

/** Objects and arrays inside each other in a JSON body: no dashboard nests groups this deep, and a thousand levels end a stack. */
export const jsonDepthMax = 64;
/** Names stand in lists and in messages to people. */
export const nameLengthMax = 200;
/** Descriptions, templates of bodies, queries: the language reads no longer ones. */
export const textLengthMax = 65_536;
/** Ids are keys of the state, which take about a thousand bytes. */
export const idBytesMax = 900;
/** Rules of an alert, actions of a rule, members of most lists: more are made by a program gone wrong. */
export const listedMax = 200;
/** Datapoints that a rule looks back over: a day of minutes. */
export const datapointsMax = 1_440;
/** Widgets of a dashboard, those in groups too; each query is planned when the dashboard is saved. */
export const widgetsMax = 1_000;
export const dashboardQueriesMax = 2_000;
/** Columns of a dashboard's layout, version 2. */
export const layoutColumns = 24;
/** Resources on one page of a list. */
export const pageDefault = 100;
export const pageMax = 1_000;
/** A page ends early behind this many: a thousand of the largest would be gigabytes. */
export const pageCharactersMax = 8 * MiB;
/** Changes of one caller a second, and at once: each costs a sync of the disk that others wait for. */
export const changesPerSecondMax = 500;
export const changesBurstMax = 5_000;
/** Requests of one caller a second, and at once, but for those that send rows: more are made by a program gone wrong. */
export const requestsPerSecondMax = 5_000;
export const requestsBurstMax = 20_000;
/** Requests from one address that fail to say who asks; a right token from there is taken all the same. */
export const failuresPerSecondMax = 50;
export const failuresBurstMax = 1_000;
/** Callers and addresses whose rate is remembered, about 100 bytes each. */
export const pursesMax = 20_000;

/** An answer of the identity provider: some ten keys, certificates too, take a tenth of it. */
export const issuerAnswerBytesMax = 256 * KiB;
/** How long an answer of the identity provider is waited for. */
export const issuerAnswerMsMax = 5_000;
/** Keys of the identity provider are asked for again when they are this old: so long a key lives that it took back. */
export const issuerKeysFreshMs = 10 * 60 * 1000;
/** And are used this long where it does not answer: people can work through its outage. */
export const issuerKeysKeptMs = 24 * 60 * 60 * 1000;
/** Least time between two questions to the identity provider, whatever keys tokens name. */
export const issuerPauseMs = 10_000;
/** Clocks of the identity provider and of this machine may differ this much. */
export const clockSkewSeconds = 30;
/** Users who wait for the identity provider at once: each may hold a body. */
export const identifyingMax = 32;

/** Refused requests a second that the audit log tells one by one; the rest are counted. */
export const refusalsAuditedPerSecond = 20;

/**
 * Bytes that the rows of one body have from what it says once for many of them (a resource, the labels of a stream or a series): a
 * small body must not become an endless one.
 */
export const ingestRepeatedBytesMax = 1024 * MiB;
