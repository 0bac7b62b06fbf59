/** Every limit of the routes of stored resources, each with its reason. */

import { MiB } from "../model/limits.ts";

/** Resources on one page of a list. */
export const pageDefault = 100;
export const pageMax = 1_000;
/** A page ends early once it has this many characters: a thousand of the largest resources would be gigabytes. */
export const pageCharactersMax = 8 * MiB;
/**
 * Resources of one kind. Lists, and what is done for each of them in turn, stay short; real installations have hundreds.
 */
export const resourcesMax = 50_000;
/** Ingestion rules: every row is compared with each of them. */
export const ingestionRulesMax = 1_000;
/** Routes, and inhibitions: every fire is compared with each of them. */
export const routesMax = 1_000;
/** Changes of one caller per second: each costs a sync of the disk that others wait for. */
export const changesPerSecondMax = 500;
/** Changes of one caller in a burst. */
export const changesBurstMax = 5_000;
/** Entries of changes that wait to be moved to the logs. Above it changes are refused: none goes without its entry. */
export const auditEntriesWaitingMax = 1_000;
/** Refused requests per second that the audit log lists one by one; the rest are counted. */
export const refusalsAuditedPerSecond = 20;
