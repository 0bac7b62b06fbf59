/** Every cap of asking the identity provider, each with its reason. */

const KiB = 1024;

/** An answer of the identity provider: some ten keys, certificates too, take a tenth of it. */
export const issuerAnswerBytesMax = 256 * KiB;
/** How long an answer of the identity provider is waited for. */
export const issuerAnswerMsMax = 5_000;
/** Keys of the identity provider are asked for again when they are this old: so long a key lives that it took back. */
export const issuerKeysFreshMs = 10 * 60 * 1000;
/** And are used this long where it does not answer: people can work through its outage. */
export const issuerKeysKeptMs = 24 * 60 * 60 * 1000;
/** Least time between two questions to the identity provider, whatever keys tokens name. */
export const issuerPauseMs = 10_000;
/** Clocks of the identity provider and of this machine may differ this much. */
export const clockSkewSeconds = 30;
/** Users who wait for the identity provider at once: each may hold a body. */
export const identifyingMax = 32;
