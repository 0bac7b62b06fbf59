/** Every limit of operations, each with its reason. */

/** A backup's reader that takes nothing for this long is given up: chunks that it reads can be neither merged nor removed. */
export const backupStallMsMax = 60_000;
