/** Merging of large answers, so that other work of the thread runs in between. */
import { setImmediate } from "node:timers/promises";
import { checkControl, type QueryControl } from "../plan/query-control.ts";

/** Entries of answers that are merged before other work of the thread gets a turn: a few milliseconds. */
export const mergedATurn = 16_384;

/** Lets other work of the thread run. Throws Failure "cancelled" or "deadline". */
export async function letOthersRun(control: QueryControl): Promise<void> {
  await setImmediate();
  checkControl(control);
}
