/** Every limit of sign-in and sessions, each with its reason. */

import { KiB } from "../model/limits.ts";

/** A session that nobody used for so long is over: a browser that was left open for a night. */
export const sessionIdleMsMax = 12 * 60 * 60 * 1000;
/** A session is over after this time, however much it is used. */
export const sessionMsMax = 7 * 24 * 60 * 60 * 1000;
/** Sessions of one token or user: many browsers. One more ends the session that was used longest ago. */
export const sessionsOfHolderMax = 20;
/** Sessions of all: each is some 500 bytes in memory. One more ends the session that was used longest ago. */
export const sessionsMax = 10_000;
/** How often the last use of sessions is stored, and sessions that are over are removed. */
export const sessionsSweptMs = 60_000;
/** Characters of a token that somebody signs in with: as many as fit in the head of a request. */
export const signInTokenLengthMax = 16 * KiB;
/** Sign-ins of one token or user per second: each costs a sync of the disk that others wait for. */
export const signInsPerSecondMax = 5;
/** Sign-ins of one token or user in a burst. */
export const signInsBurstMax = 50;
/** Time that people have to sign in at the identity provider. */
export const loginMsMax = 10 * 60 * 1000;
/** Logins that were used and are not over yet, and so must not be used again. Above it the oldest is forgotten. */
export const usedLoginsMax = 10_000;
/** Codes that are exchanged at the identity provider at once. */
export const exchangesMax = 32;
/** Characters of the path that a browser returns to: it is kept in a cookie, which may have 4 KiB. */
export const returnPathLengthMax = 2_000;
