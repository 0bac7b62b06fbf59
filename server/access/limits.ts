/** Every limit of requests to the identity provider, each with its reason. */

import { KiB } from "../model/limits.ts";

/** Size of an answer of the identity provider: some ten keys, with certificates, take a tenth of it. */
export const issuerAnswerBytesMax = 256 * KiB;
/** Timeout of a request to the identity provider. */
export const issuerAnswerMsMax = 5_000;
/** Keys are fetched again at this age: for so long a key that the provider revoked is still accepted. */
export const issuerKeysFreshMs = 10 * 60 * 1000;
/** Keys are used up to this age while the provider does not answer, so that people can work through its outage. */
export const issuerKeysKeptMs = 24 * 60 * 60 * 1000;
/** Minimum time between two fetches of the keys, whatever keys tokens name. */
export const issuerPauseMs = 10_000;
/** Largest difference between the clocks of the identity provider and this machine that is tolerated. */
export const clockSkewSeconds = 30;
/** Requests of users that wait for the identity provider at once: each may hold a body. */
export const identifyingMax = 32;
