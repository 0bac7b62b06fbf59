/** What reading the rows of a body stops at. */

/** All rows have been read. */
export const atEnd: i32 = 0;
/** A row that the caller has to read. */
export const atUnusualRow: i32 = 1;
/** A row that is staged, for the caller to admit or add. */
export const atStagedRow: i32 = 2;
/** As many rows as were asked for, or as are handed over at a time, have been read. */
export const atRowsMax: i32 = 3;
/** Among lines of actions and documents: an action that is not the known one. */
export const atAction: i32 = 4;
/** The known action, but no document after it. */
export const atLoneAction: i32 = 5;
