/** Every limit of stored resources, each with its reason. */

export const KiB = 1024;
export const MiB = 1024 * KiB;

/** Width of a bucket in seconds: a hundred years hold all data there is. */
export const bucketSecondsMax = 3_155_760_000;
/** Longest wait of an alert for late rows, in seconds: six hours, since some senders upload once an hour or rarer. */
export const evaluationDelaySecondsMax = 21_600;
/** Largest time that a JavaScript Date can hold, in Unix milliseconds; requests name no later one. */
export const timeMsMax = 8_640_000_000_000_000;
/** Characters of a name: names stand in lists and in messages to people. */
export const nameLengthMax = 200;
/** Characters of a description, a template of a body, or a query: the query language reads no longer ones. */
export const textLengthMax = 65_536;
/** Bytes of an id: ids are keys of the state, which hold about a thousand bytes. */
export const idBytesMax = 900;
/** Rules of an alert, actions of a rule, and elements of most lists: only a faulty program makes more. */
export const listedMax = 200;
/** Datapoints in the evaluation window of a rule: a day of minutes. */
export const datapointsMax = 1_440;
/** Widgets of a dashboard, those in groups too; each query is planned when the dashboard is saved. */
export const widgetsMax = 1_000;
export const dashboardQueriesMax = 2_000;
/** Columns of a dashboard's layout, version 2. */
export const layoutColumns = 24;
/** Seconds between messages about a fire that goes on: more often they would only be noise, more rarely than a week none. */
export const repeatSecondsMin = 60;
export const repeatSecondsMax = 604_800;
/** Longest time for which an alert may not be judged before its destinations are told: a week. */
export const unhealthyAfterSecondsMax = 604_800;
