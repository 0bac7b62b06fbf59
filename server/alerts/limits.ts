/** Every limit of alert evaluation, each with its reason. */

const minute = 60_000;
const hour = 60 * minute;

/** Instances of one alert. The window, which holds all of them, is one record, written whenever a bucket ends. */
export const instancesMax = 5_000;
/** An instance without data for this long is removed. */
export const instanceIdleMsMax = 24 * hour;
/** Alerts are evaluated at least this often, whatever their bucket size. */
export const evaluationEveryMsMax = minute;
/** Evaluations of one tick are spread over this long, so that they do not all scan at once. */
export const spreadMsMax = 15_000;
/** The wait for late data where nothing else is said: how long rows may take to arrive. */
export const defaultDelayMs = 30_000;
/**
 * A notification that comes later than this is marked as late. If a fire began and ended before an evaluation noticed
 * it, and the notification would come later than this, nobody is notified.
 */
export const lateMs = 5 * minute;
/** Buckets that ended longer ago are skipped: nobody wants to be notified of them. */
export const catchUpMsMax = 24 * hour;
/** Buckets of one query while evaluation catches up. Bounds points and memory. */
export const readBucketsMax = 1_440;
/** If the clock goes back by less, evaluation waits for it; by more, evaluation starts again at the new time. */
export const clockBackMsMax = 5 * minute;
/**
 * How long after they have been judged buckets are judged again by rows that come, where nothing else is said. Whoever
 * acts on a fire does so within the hour.
 */
export const defaultLateRowsMs = hour;
/**
 * How long after a downtime rows are awaited that senders repeat, where nothing else is said. The longest pause between
 * two tries of common senders is 5 minutes (Promtail), 30 s (OpenTelemetry Collector) or 5 s (Prometheus).
 */
export const defaultRetryWaitMs = 5 * minute;
/** Downtimes that follow each other let rows be awaited longer, up to so many times the wait: a server may crash on and on. */
export const retryWaitsMax = 12;
/** A bucket counts as complete after the wait where the server was down for this share of it at most. Chosen, not measured. */
export const downtimeShareMax = 1 / 20;
/**
 * Points of the buckets that await rows in one window, which is written with every bucket: about a megabyte. Older buckets
 * are not judged again.
 */
export const awaitingPointsMax = 100_000;
/** A fire that rows demand which came late, and that ended longer ago, is stored, and nobody is notified. */
export const correctedFireAgeMsMax = hour;
/** The evaluator stores this often that it is alive: what is left of the marks after a loss of power. */
export const aliveEveryMs = 15_000;
/** It marks this often in a file that it is alive, without a sync: what is left after a kill. */
export const aliveMarkEveryMs = 1_000;
/** A longer gap between two ticks of the evaluator is downtime. */
export const aliveGapMsMax = minute;
/** Downtimes that are stored. */
export const downtimesMax = 1_000;
/** Downtimes are kept as long as buckets that they overlap may still be judged. */
export const downtimeAgeMsMax = 48 * hour;
/** How long transitions are kept where nothing else is said. */
export const defaultHistoryAgeMs = 30 * 24 * hour;
/** An alert that is not judged for this long is unhealthy, and its destinations are told, where it sets no other time. */
export const defaultUnhealthyAfterMs = 10 * minute;
/** Transitions in one record of a history: some 20 kilobytes, written with each transition. */
export const historySegmentRows = 50;
/** Transitions of one alert that are kept: one a minute for a day and a half. */
export const historyRowsMax = 2_000;
/** Full records of the histories of all alerts: 200,000 transitions, at most some 80 megabytes of memory. */
export const historySegmentsMax = 4_000;
/** Histories are looked through this often for what is too old or too much. */
export const historySweepEveryMs = hour;
/** Transitions on one page of a history. */
export const historyPageDefault = 200;
export const historyPageMax = 1_000;
/** Resolved fires of one alert that are kept. */
export const resolvedFiresMax = 500;
/** Resolved fires that are stored of all alerts together: some hundred megabytes. */
export const resolvedFiresTotalMax = 200_000;
/** Resolved fires that each alert keeps, however many alerts there are. */
export const resolvedFiresMin = 5;
/** Points that are stored with a fire to explain it: an hour of minutes, in some hundred bytes to one kilobyte. */
export const fireOpeningPointsMax = 60;
/** Fires of all deleted alerts that are kept. */
export const deletedAlertsFiresMax = 10_000;
/** Requests for investigations that are kept: the newest. */
export const investigationRequestsMax = 10_000;
/** Evaluations of one alert that are kept in memory to be explained. */
export const evaluationsKept = 10;
/** Instances that each explained evaluation lists. */
export const evaluationInstancesMax = 20;
/** Scans of evaluations that run at once. Scan threads are few, and people's searches need them, too. */
export const scansInFlightMax = 16;
/** Points of scans over several buckets that are kept for the next evaluation, some 32 bytes each. */
export const knownPointsMax = 1_000_000;
/** Scans of one family are merged where there are at least this many. With fewer, single scans read less in all. */
export const familyMin = 8;
/** Query plans that are kept, some kilobytes each. Planning costs ten times as much as evaluating. */
export const plansKept = 20_000;
/** Queries that are planned in one turn of the event loop; requests are answered between turns. */
export const plansAtOnce = 16;
/** Query groups whose new states are computed and stored at once; requests are answered between such batches. */
export const advancesInFlightMax = 256;
/** A query that takes longer is aborted. Its buckets are read again at the next tick. */
export const evaluationTimeoutMs = 30_000;
/** Fires that have a sample of their own every ten seconds: each takes a series of the store, and bytes for ever. */
export const firingSamplesMax = 5_000;
/** Alerts on one page of the list of states. */
export const statesPageDefault = 100;
export const statesPageMax = 1_000;
/** Buckets that one preview judges: a week of ten seconds each. */
export const previewBucketsMax = 65_536;
/**
 * Work of one preview in points looked at, for every bucket, series and rule: at most some seconds of the thread that
 * serves all requests, in turns (measured with 10 to 5,000 series).
 */
export const previewPointsMax = 300_000_000;
/** Points that are looked at before other requests are served. Fewer at once would copy the window more often. */
export const previewTurnPointsMax = 4_000_000;
/** Fires, and transitions, that a preview lists: the newest. */
export const previewListedMax = 1_000;
/** Instances whose buckets a preview lists. */
export const previewInstancesMax = 20;
/** Verdicts that a preview lists, of all instances and rules: some megabytes. */
export const previewVerdictsMax = 65_536;
