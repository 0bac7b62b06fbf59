/** Every cap of the routes of stored resources, each with its reason. */

const KiB = 1024;
const MiB = 1024 * KiB;

/** Resources on one page of a list. */
export const pageDefault = 100;
export const pageMax = 1_000;
/** A page ends early behind this many: a thousand of the largest would be gigabytes. */
export const pageCharactersMax = 8 * MiB;
/** Changes of one caller a second, and at once: each costs a sync of the disk that others wait for. */
export const changesPerSecondMax = 500;
export const changesBurstMax = 5_000;
/** Refused requests a second that the audit log tells one by one; the rest are counted. */
export const refusalsAuditedPerSecond = 20;
