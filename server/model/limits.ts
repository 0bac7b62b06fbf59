/** Every cap of what is configured, each with its reason. */

/** Width of a bucket: a hundred years hold all there is. */
export const bucketSecondsMax = 3_155_760_000;
/** Largest time that a JavaScript Date can hold; requests name no later one. */
export const timeMsMax = 8_640_000_000_000_000;
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
