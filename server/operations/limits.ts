/** Every cap of operations, each with its reason. */

/** A reader of a backup that takes nothing for this long is gone: what it reads can neither be merged nor removed meanwhile. */
export const backupStallMsMax = 60_000;
