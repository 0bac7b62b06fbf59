/** Every cap of alert evaluation, each with its reason. */

const minute = 60_000;
const hour = 60 * minute;

/** Instances of one alert: what it looks at is one record, written whenever a bucket ends. */
export const instancesMax = 5_000;
/** An instance without data for so long leaves. */
export const instanceIdleMsMax = 24 * hour;
/** Alerts are evaluated at least this often, whatever their buckets. */
export const evaluationEveryMsMax = minute;
/** Evaluations of one grid time are spread over this long, so that they do not all scan at once. */
export const spreadMsMax = 15_000;
/** How long rows may take to arrive where nothing else is said. */
export const defaultDelayMs = 30_000;
/** What is told later than this after its time says so; a fire that opened and closed unseen is not told at all. */
export const lateMs = 5 * minute;
/** Buckets that ended longer ago are not caught up: nobody wants to be told. */
export const catchUpMsMax = 24 * hour;
/** Buckets of one read while catching up: bounds points and memory. */
export const readBucketsMax = 1_440;
/** A clock that goes back by less is waited for; by more, evaluation starts at the new time. */
export const clockBackMsMax = 5 * minute;
/** The evaluator is known to be alive at least this often; a longer silence than `aliveGapMsMax` is downtime. */
export const aliveEveryMs = 15_000;
export const aliveGapMsMax = minute;
/** Downtimes are kept as long as buckets that they overlap may still be judged. */
export const downtimesMax = 1_000;
export const downtimeAgeMsMax = 48 * hour;
/** Transitions that the history of one alert holds. */
export const historyMax = 200;
/** Fires of one alert that are kept once they are resolved. */
export const resolvedFiresMax = 500;
/** Evaluations of one alert that are kept in memory to be explained, and instances that each lists. */
export const evaluationsKept = 10;
export const evaluationInstancesMax = 20;
/** Scans of evaluations that run at once: scan threads are few, and people search, too. */
export const scansInFlightMax = 16;
/** Scans that differ only in texts become one when there are so many: below that each alone reads less. */
export const familyMin = 8;
/** Plans of queries that are kept, some kilobytes each: planning costs ten times what evaluating does. */
export const plansKept = 20_000;
/** Plans that are made before requests are answered again. */
export const plansAtOnce = 16;
/** Queries whose new state is made and stored at once: between two such batches requests are answered. */
export const advancesInFlightMax = 256;
/** A query that takes longer is given up; the buckets are read again at the next time. */
export const evaluationTimeoutMs = 30_000;
