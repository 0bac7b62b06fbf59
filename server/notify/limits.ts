/** Every cap of notifications, each with its reason. */

const MiB = 1024 * 1024;
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Waits between tries, as Standard Webhooks proposes; after the last try a notification is given up. */
export const retryDelaysMs = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour];
/** A wait is longer by up to this share, so that what failed together does not come back together. */
export const retryJitter = 0.2;
/** A receiver may ask for a longer pause, but not for ever. */
export const retryAfterMsMax = 12 * hour;
/** The longest wait between two tries, whatever time is stored: the clock may have been set. */
export const retryWaitMsMax = Math.max(retryAfterMsMax, ...retryDelaysMs.map((ms) => ms * (1 + retryJitter)));
/**
 * Notifications that wait for one destination; the oldest are given up. An alert may have 5,000 instances, each of which
 * begins and ends to fire.
 */
export const waitingMax = 10_000;
/** Bytes of them as they are stored: all of them are in memory, and read at a start. */
export const waitingBytesMax = 32 * MiB;
/** A notification that waits longer is given up: the tries end a little earlier. */
export const waitingAgeMsMax = 24 * hour;
/** After a start, what waits has at least so long to be told: the clock may be wrong, or the server was down for long. */
export const waitingMsMin = 1 * hour;
/** Notifications that wait for all destinations together, and their bytes: a start reads them within three seconds. */
export const allWaitingMax = 20_000;
export const allWaitingBytesMax = 64 * MiB;
/** A fire that ended, and that nobody could be told of for this long, is not told any more, and neither is its end. */
export const untoldMsMax = 5 * minute;
/** One try, from the look-up of the name to the end of the answer. */
export const tryMsMax = 15 * second;
/** A sender that does not answer by then is left alone. */
export const senderMsMax = 45 * second;
/** Of an answer; the rest is not read. */
export const answerBytesMax = 64 * 1024;
/** Messages to people wait so long for others of the same alert. */
export const groupWaitMs = 5 * second;
/** Between tries to store what became of a message: nothing else is sent to its destination until then. */
export const storeWaitMs = 5 * second;
/** Instances that one message to people lists. */
export const listedInstancesMax = 20;
/** Instances that one message to people stands for. */
export const groupedMax = 1_000;
/** Destinations that are sent to at once. */
export const sendingMax = 256;
/** Notifications that have ended and are kept to be looked at. */
export const endedKept = 2_000;
/** Problems are shown to people in lists. */
export const problemLengthMax = 300;
