/** Every limit of notifications, each with its reason. */

const MiB = 1024 * 1024;
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Waits between tries, as Standard Webhooks proposes; after the last try a notification is given up. */
export const retryDelaysMs = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour];
/** A wait is longer by a random share of up to this, so that messages that failed together are not retried together. */
export const retryJitter = 0.2;
/** Longest pause before the next try that a receiver can ask for. */
export const retryAfterMsMax = 12 * hour;
/** Longest pause of all of a destination that its receiver can ask for. */
export const pauseMsMax = 1 * hour;
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
/**
 * After a start, a waiting notification has at least this long to be sent: the clock may be wrong, or the server may
 * have been down for long.
 */
export const waitingMsMin = 1 * hour;
/** Notifications that wait for all destinations together, and their bytes: a start reads them within three seconds. */
export const allWaitingMax = 20_000;
export const allWaitingBytesMax = 64 * MiB;
/** If nobody could be notified of a fire for this long and it has ended, neither its begin nor its end is sent. */
export const untoldMsMax = 5 * minute;
/** How often it is checked whether silences and inhibitions still keep notifications back. */
export const holdsLookEveryMs = 30 * second;
/** How long an inhibition keeps a notification back before that is stored anew: nobody knows when it ends. */
export const inhibitedTryMs = 1 * hour;
/** Time limit of one try, from the look-up of the host name to the end of the answer. */
export const tryMsMax = 15 * second;
/** A try counts as failed where its sender has not returned by then. */
export const senderMsMax = 45 * second;
/** Time that messages being sent get when the server stops, which takes ten seconds at most. */
export const closeMsMax = 2 * second;
/** Bytes that are read of a receiver's answer. */
export const answerBytesMax = 64 * 1024;
/** Time that a message to people waits for further notifications of the same alert. */
export const groupWaitMs = 5 * second;
/** Pause between tries to store the outcome of a message. Until it is stored, nothing else goes to its destination. */
export const storeWaitMs = 5 * second;
/** Instances that one message to people lists. */
export const listedInstancesMax = 20;
/** Instances that one message to people reports, including those that it only counts. */
export const groupedMax = 1_000;
/** Messages that are sent at once, to all destinations together. */
export const sendingMax = 256;
/** Notifications that have ended and are kept for people to read. */
export const endedKept = 2_000;
/** Begins of fires that go on and are kept besides, so that the end is told where the begin was, and nowhere else. */
export const begunKept = 10_000;
/** Characters of a problem, which people read in a list. */
export const problemLengthMax = 300;
