/** Every limit of the inventory, each with its reason. */

import { MiB } from "../../model/limits.ts";

/** Everything is sent again after this time: an hour of search always has every object. */
export const stateMs = 3_600_000;
/** Time that rows wait for others. */
export const gatherMs = 500;
/** Rows of one body, and characters of their objects. */
export const batchRowsMax = 1_000;
export const batchLengthMax = 2 * MiB;
/** Characters of objects that wait. Above it, rows are dropped and counted: the next full state has the objects. */
export const waitingLengthMax = 32 * MiB;
/** Characters of one object. A longer one is not sent: API servers themselves take 1.5 MiB. */
export const objectLengthMax = 1.5 * MiB;
/** Characters of one annotation: longer ones are whole objects that tools keep there. */
export const annotationLengthMax = 1_024;
/** Pauses before a body is sent again. */
export const retryMsMin = 500;
export const retryMsMax = 30_000;
/** Events of the last second, and those ahead of the clock, that are remembered over a restart. */
export const markedEventsMax = 10_000;
/** An Event whose time is further from the clock gets the time of its arrival. */
export const eventDriftMs = 24 * 3_600_000;
